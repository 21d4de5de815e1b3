"""What data preparation reads: corpora, dumps, tables, CoNLL, questions, choices."""

from __future__ import annotations

import bz2
import csv
import json
import pathlib
from collections.abc import Callable
from typing import Any

from tests.data_prep.finetuning.squad_json import question, write_squad
from tests.finetuning_data import TOKENS, opinions, write_json_lines
from tests.fuzz.kind import Kind, command

_TEXT = "The film was good.\nA book is not awful.\n\nThe book is fine.\nIt was a bad film.\n" * 5
_PAGE = (
    "<page><title>{title}</title><ns>0</ns><id>1</id><revision><id>1</id>"
    "<timestamp>2017-10-29T00:56:32Z</timestamp><text>{text}</text></revision></page>\n"
)
_DUMP = (
    "<mediawiki><siteinfo><sitename>W</sitename><namespaces></namespaces></siteinfo>\n"
    + _PAGE.format(title="A", text="The [[film]] was {{nowrap|good}} and the book is fine. " * 4)
    + _PAGE.format(title="B", text="== Life ==\n{| class=x\n|a\n|}\nThe book is not a film.")
    + "</mediawiki>\n"
)
_CONLL = "The O\nbook B-MISC\nis O\nfine B-PER\n. I-PER\n\nA O\nfilm B-MISC\n\n" * 3


def _corpus(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / "text.txt").write_text(_TEXT)


def _pretraining(folder: pathlib.Path) -> None:
    _corpus(folder)
    _vocab(folder)


def _vocab(folder: pathlib.Path) -> None:
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}\n')


def _read_pretraining(folder: pathlib.Path) -> None:
    command(
        "data_prep.create_pretraining_data",
        f"--input_file={folder}/text.txt",
        f"--vocab_file={folder}/vocab.txt",
        f"--output_dir={folder}/data",
        "--max_seq_length=16",
        "--max_predictions_per_seq=2",
        "--dupe_factor=1",
    )


def _read_corpus(folder: pathlib.Path) -> None:
    command(
        "data_prep.build_vocab",
        f"--input_file={folder}/text.txt",
        f"--output_file={folder}/vocab.txt",
        "--vocab_size=60",
        "--num_unused=2",
    )


def _dump(name: str, content: bytes) -> Kind:
    def make(folder: pathlib.Path) -> None:
        folder.mkdir()
        (folder / name).write_bytes(content)

    def read(folder: pathlib.Path) -> None:
        command(
            "data_prep.extract_wikipedia",
            f"--input_file={folder / name}",
            f"--output_dir={folder}/texts",
        )

    return Kind(make, read)


def _fine_tuning(name: str, task: str, write: Callable[[pathlib.Path], Any], *flags: str) -> Kind:
    def make(folder: pathlib.Path) -> None:
        folder.mkdir()
        write(folder / name)

    def read(folder: pathlib.Path) -> None:
        _prepare(folder, task, f"--train_file={folder / name}", *flags)

    return Kind(make, read, share=3)


def _prepare(folder: pathlib.Path, task: str, *flags: str) -> None:
    _vocab(folder)
    command(
        "data_prep.create_finetuning_data",
        f"--task={task}",
        f"--vocab_file={folder}/vocab.txt",
        f"--output_dir={folder}/data",
        "--max_seq_length=24",
        *flags,
    )


def _table(delimiter: str) -> Callable[[pathlib.Path], None]:
    def write(path: pathlib.Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["text", "label"], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(opinions(8))

    return write


def _squad(path: pathlib.Path) -> None:
    context = "The film was good. A book is fine."
    write_squad(
        path,
        (
            context,
            [question("1", "the film was ?", ("good", 13)), question("2", "?", ("fine", 29))],
        ),
    )


def _swag(path: pathlib.Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        names = ["video-id", "startphrase", "sent1", "sent2", "gold-source"]
        writer.writerow(["", *names, "ending0", "ending1", "label"])
        for number in range(4):
            row = ["v", "the film it", "the film", "it", "gold", "is good", "was a book"]
            writer.writerow([number, *row, number % 2])


def _choices(path: pathlib.Path) -> None:
    row = {"prompt": "the film", "choices": ["is good", "is bad"], "answer": 1}
    path.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")


def _trivia(folder: pathlib.Path) -> None:
    """In the folders of triviaqa-rc.tar.gz."""
    question = {
        "QuestionId": "tc_1",
        "Question": "the film was ?",
        "Answer": {"Aliases": ["good"], "NormalizedAliases": ["good"], "Value": "good"},
        "EntityPages": [{"Filename": "film.txt", "Title": "Film"}],
        "SearchResults": [],
    }
    for name in ("qa", "evidence/wikipedia"):
        (folder / name).mkdir(parents=True)
    content = {"Data": [question], "Domain": "Wikipedia", "VerifiedEval": False}
    for split in ("train", "dev"):
        (folder / "qa" / f"wikipedia-{split}.json").write_text(json.dumps(content))
    (folder / "evidence" / "wikipedia" / "film.txt").write_text("The film was good.")


def _read_trivia(folder: pathlib.Path) -> None:
    _prepare(folder, "triviaqa", f"--data_dir={folder}", *_WINDOWS)


_WINDOWS = ("--doc_stride=8", "--max_query_length=6")
_COLUMNS = "--text_columns=text"

KINDS = {
    "text corpus": Kind(_corpus, _read_corpus),
    "pretraining input": Kind(_pretraining, _read_pretraining, share=3),
    "Wikipedia XML": _dump("dump.xml", _DUMP.encode()),
    "Wikipedia XML.bz2": _dump("dump.xml.bz2", bz2.compress(_DUMP.encode())),
    "CSV": _fine_tuning("train.csv", "csv", _table(","), _COLUMNS),
    "TSV": _fine_tuning("train.tsv", "csv", _table("\t"), _COLUMNS),
    "JSON lines": _fine_tuning(
        "train.jsonl", "csv", lambda path: write_json_lines(path, opinions(8)), _COLUMNS
    ),
    "CoNLL": _fine_tuning("train.conll", "conll", lambda path: path.write_text(_CONLL)),
    "SQuAD JSON": _fine_tuning("train.json", "squad_v1", _squad, *_WINDOWS),
    "TriviaQA": Kind(_trivia, _read_trivia, share=3),
    "SWAG": _fine_tuning("train.csv", "swag", _swag),
    "choices": _fine_tuning("train.jsonl", "choices", _choices),
}
