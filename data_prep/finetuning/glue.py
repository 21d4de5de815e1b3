"""GLUE and XNLI: the official files -> examples (Devlin et al. 2019, section 4.1).

Columns are found by the names in the first line where the file has one, so that an extra column
does no harm. Quotes are plain characters.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import NDArray

from data_prep.finetuning.datasets import Example
from data_prep.finetuning.delimited import read_tsv
from data_prep.finetuning.sentences_to_records import SentenceRecords
from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError

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
        metrics: the metric that decides first.
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
_XNLI_TRAIN = Layout(("premise", "hypo"), "label", _NLI, {})
_SAME_LABEL = {"contradictory": "contradiction"}
_SCORES = (0.0, 5.0)
# A file of theirs that says which training pairs are the development set.
_MRPC_DEV_IDS = ("dev_ids.tsv", "dev_ids")


class GlueDataSet:
    """One GLUE task, or XNLI in one language (`--language`)."""

    record_kind = "sentence_prediction"

    def __init__(self, settings: Settings):
        self._task = settings.task
        self._layout = LAYOUTS[settings.task]
        self._language = settings.flags["language"]
        self._skip_bad_rows = settings.flags["skip_bad_rows"]
        self._paths = dict(settings.files) or self._find(settings.data_dir)
        self._dev_pairs = self._find_dev_pairs(settings.data_dir)
        self.splits = list(self._paths)
        self.sources = list(dict.fromkeys(self._paths.values()))
        self.labels = list(self._layout.labels)
        columns = ("text_a", "text_b")[: len(self._layout.texts)]
        self.options: dict[str, Any] = {
            "problem": "classification" if self.labels else "regression",
            "text_inputs": ["text"] if len(columns) == 1 else list(columns),
        }
        self._records = SentenceRecords(settings, columns, len(self.labels))
        self._skipped: list[str] = []

    def examples(self, split: str) -> Iterator[Example]:
        """{"id", "text_a", "text_b" for pairs, "label" and "label_id" outside test sets}."""
        path = self._paths[split]
        is_test = split.startswith("test")
        layout = self._layout
        if self._task == "xnli" and split == "train":
            layout = _XNLI_TRAIN
        texts = layout.test_texts if is_test and layout.test_texts else layout.texts
        label = "" if is_test and self._task != "xnli" else layout.label
        rows = read_tsv(path)
        names = self._header(path, rows) if isinstance(texts[0], str) else None
        text_columns = [self._column(path, names, column) for column in texts]
        label_column = self._column(path, names, label) if label != "" else None
        language = self._column(path, names, layout.language) if layout.language else None
        id_column = names.index("index") if names and "index" in names else None
        ids = [self._column(path, names, f"#{n} ID") for n in (1, 2)] if self._dev_pairs else []
        number = 0
        for line, row in rows:
            place = f"{path}, line {line}"
            try:
                self._check_columns(place, row, names, [*text_columns, label_column])
                if language is not None and row[language] != self._language:
                    continue
                if ids and split in ("train", "dev"):
                    pair = (row[ids[0]], row[ids[1]])
                    if (pair in self._dev_pairs) != (split == "dev"):
                        continue
                example: dict[str, Any] = {
                    "id": row[id_column] if id_column is not None else number
                }
                for name, column in zip(("text_a", "text_b"), text_columns, strict=False):
                    example[name] = row[column]
                if label_column is not None:
                    example |= self._label(place, row[label_column])
            except InputError as error:
                if not self._skip_bad_rows:
                    raise
                self._skipped.append(str(error))
                continue
            yield example
            number += 1

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[dict[str, NDArray]]:
        """See `SentenceRecords.make`."""
        return self._records.make(examples)

    def statistics(self) -> dict[str, Any]:
        """How many texts were cut, and which rows were left out with `--skip_bad_rows`."""
        return {"truncated": self._records.truncated, "skipped_rows": self._skipped}

    def _find(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        if data_dir is None:
            raise InputError("give --data_dir, or --train_file, --dev_file and --test_file")
        names = dict(self._layout.files)
        if self._task == "xnli":
            names = {"train": (f"multinli.train.{self._language}.tsv",), **names}
        found = {
            split: data_dir / name
            for split, candidates in names.items()
            for name in candidates
            if (data_dir / name).is_file()
        }
        if self._task == "mrpc" and "dev" not in found and "train" in found:
            # One file holds both; a second one says which of its pairs are which.
            found = {"train": found["train"], "dev": found["train"], **found}
        if not found:
            wanted = ", ".join(name for candidates in names.values() for name in candidates)
            raise InputError(f"{data_dir} has no file of {self._task}: looked for {wanted}")
        return found

    def _find_dev_pairs(self, data_dir: pathlib.Path | None) -> set[tuple[str, str]]:
        paths = self._paths
        if self._task != "mrpc" or data_dir is None or paths.get("dev") != paths.get("train"):
            return set()
        path = next((data_dir / n for n in _MRPC_DEV_IDS if (data_dir / n).is_file()), None)
        if path is None:
            raise InputError(f"{data_dir} has neither dev.tsv nor {' or '.join(_MRPC_DEV_IDS)}")
        return {(row[0], row[1]) for _, row in read_tsv(path)}

    def _header(self, path: pathlib.Path, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
        first = next(rows, None)
        if first is None:
            raise InputError(f"{path} is empty")
        # The published MRPC files begin with the letters of a byte order mark that went wrong.
        return [name.removeprefix("BOM") if name == "BOMQuality" else name for name in first[1]]

    def _column(self, path: pathlib.Path, names: list[str] | None, column: str | int) -> int:
        if isinstance(column, int):
            return column
        if names is None or column not in names:
            raise InputError(
                f"{path}, line 1: no column {column!r} among {', '.join(names or ())}: the first "
                "line must name the columns"
            )
        return names.index(column)

    def _check_columns(
        self, place: str, row: list[str], names: list[str] | None, wanted: list[int | None]
    ) -> None:
        least = 1 + max(column for column in wanted if column is not None)
        if names is None and len(row) != least:
            raise InputError(
                f"{place}: {len(row)} columns, expected {least}, and no line with names"
            )
        if names is not None and len(row) < least:
            raise InputError(f"{place}: {len(row)} columns, the first line names {len(names)}")

    def _label(self, place: str, text: str) -> dict[str, Any]:
        labels = self._layout.labels
        if labels:
            text = _SAME_LABEL.get(text, text)
            if text not in labels:
                raise InputError(f"{place}: label {text!r} is not one of {', '.join(labels)}")
            return {"label": text, "label_id": labels.index(text)}
        low, high = _SCORES
        try:
            score = float(text)
        except ValueError as error:
            raise InputError(f"{place}: score {text!r} is not a number") from error
        if not low <= score <= high:
            raise InputError(f"{place}: score {text} is not from {low:g} to {high:g}")
        return {"label": score, "label_id": score}
