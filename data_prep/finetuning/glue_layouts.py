"""The files of GLUE and XNLI: which columns hold what. A task of GLUE's kind is one row here."""

from __future__ import annotations

import dataclasses

_NLI = ("contradiction", "entailment", "neutral")
_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a task's files have what.

    Attributes:
        texts: names of the text columns; a number for a column of a file without a first line of
            names.
        label: the same for the label; "" where there are none.
        labels: in id order; empty for numbers.
        files: split -> names that the file may have.
        test_texts: of the test file, where its columns differ.
        language: the column that says of which language the row is.
    """

    texts: tuple[str | int, ...]
    label: str | int
    labels: tuple[str, ...]
    files: dict[str, tuple[str, ...]]
    test_texts: tuple[str | int, ...] = ()
    language: str = ""


def _files(*splits: str) -> dict[str, tuple[str, ...]]:
    return {split: (f"{split}.tsv",) for split in splits}


_ALL = _files("train", "dev", "test")
_PAIR = ("sentence1", "sentence2")
_MATCHED = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")
LAYOUTS = {
    "cola": Layout((3,), 1, _BINARY, _ALL, test_texts=("sentence",)),
    "sst2": Layout(("sentence",), "label", _BINARY, _ALL),
    "mrpc": Layout(
        ("#1 String", "#2 String"),
        "Quality",
        _BINARY,
        {
            "train": ("train.tsv", "msr_paraphrase_train.txt", "train"),
            "dev": ("dev.tsv",),
            "test": ("test.tsv", "msr_paraphrase_test.txt", "test"),
        },
    ),
    "stsb": Layout(_PAIR, "score", (), _ALL),
    "qqp": Layout(("question1", "question2"), "is_duplicate", _BINARY, _ALL),
    "mnli": Layout(_PAIR, "gold_label", _NLI, _files(*_MATCHED)),
    "qnli": Layout(("question", "sentence"), "label", _ENTAILMENT, _ALL),
    "rte": Layout(_PAIR, "label", _ENTAILMENT, _ALL),
    "wnli": Layout(_PAIR, "label", _BINARY, _ALL),
    "ax": Layout(_PAIR, "", _NLI, {"test": ("diagnostic.tsv", "ax.tsv", "test.tsv")}),
    "xnli": Layout(
        _PAIR,
        "gold_label",
        _NLI,
        {"dev": ("xnli.dev.tsv",), "test": ("xnli.test.tsv",)},
        language="language",
    ),
}
# multinli.train.LANGUAGE.tsv, the machine-translated training rows of XNLI.
XNLI_TRAIN = Layout(("premise", "hypo"), "label", _NLI, {})
