"""A table of one's own: CSV, TSV or JSON lines with texts and labels."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from data_prep.finetuning.datasets import Example
from data_prep.finetuning.delimited import read_csv, read_lines, read_tsv
from data_prep.finetuning.sentences_to_records import SentenceRecords
from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError

CLASSIFICATION, MULTI_LABEL, REGRESSION = "classification", "multi_label", "regression"
_SEVERAL = "|"
_ENDINGS = (".csv", ".tsv", ".jsonl")

# Line number, {column: value}.
Row = tuple[int, Mapping[str, Any]]


class TableDataSet:
    """Rows with one or two texts, and a class, any number of classes, or a number.

    Flags: `text_columns`, `label_column`, `problem`. The classes are those of the training file, in
    the order of their names (numbers in the order of numbers).
    """

    record_kind = "sentence_prediction"

    def __init__(self, settings: Settings):
        flags = settings.flags
        self._columns, self._label_column = tuple(flags["text_columns"]), flags["label_column"]
        self._problem = flags["problem"]
        if len(self._columns) not in (1, 2):
            raise InputError("--text_columns: name the column with the text, or two: text_a,text_b")
        self._paths = dict(settings.files) or _find(settings.data_dir)
        for path in self._paths.values():
            if path.suffix not in _ENDINGS:
                raise InputError(f"{path}: the name must end with {', '.join(_ENDINGS)}")
        self.splits = list(self._paths)
        self.sources = list(self._paths.values())
        self.labels = self._find_labels() if self._problem != REGRESSION else []
        names = ("text_a", "text_b")[: len(self._columns)]
        self.options: dict[str, Any] = {
            "problem": self._problem,
            "text_inputs": ["text"] if len(names) == 1 else list(names),
        }
        self._records = SentenceRecords(
            settings, names, len(self.labels), several=self._problem == MULTI_LABEL
        )

    def examples(self, split: str) -> Iterator[Example]:
        """{"id", "text_a", "text_b" for pairs, "label" and "label_id" where there is a label}."""
        path = self._paths[split]
        for number, (line, row) in enumerate(read_table(path)):
            place = f"{path}, line {line}"
            example: Example = {"id": number}
            for name, column in zip(("text_a", "text_b"), self._columns, strict=False):
                example[name] = _text(place, row, column)
            if self._label_column in row:
                label = self._label(place, row[self._label_column])
                example |= {"label": label, "label_id": self._label_id(place, label)}
            elif split != "test":
                raise InputError(_no_column(place, row, self._label_column, "--label_column"))
            yield example

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[dict[str, NDArray]]:
        """See `SentenceRecords.make`."""
        return self._records.make(examples)

    def statistics(self) -> dict[str, Any]:
        """How many texts were cut."""
        return {"truncated": self._records.truncated}

    def _find_labels(self) -> list[str]:
        if "train" not in self._paths:
            raise InputError("--train_file is needed: the labels are found in it")
        path = self._paths["train"]
        found: set[str] = set()
        for line, row in read_table(path):
            place = f"{path}, line {line}"
            if self._label_column not in row:
                raise InputError(_no_column(place, row, self._label_column, "--label_column"))
            label = self._label(place, row[self._label_column])
            found.update(label if isinstance(label, list) else [label])
        if not found:
            raise InputError(f"{path} has no labels in the column {self._label_column}")
        if all(label.removeprefix("-").isdecimal() for label in found):
            return sorted(found, key=int)
        return sorted(found)

    def _label(self, place: str, value: Any) -> Any:
        """The label as text, list of texts, or number."""
        if self._problem == REGRESSION:
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number):
                raise InputError(f"{place}: {self._label_column} is {value!r}: not a number")
            return number
        if self._problem == MULTI_LABEL:
            several = value if isinstance(value, list) else str(value).split(_SEVERAL)
            return [text for text in map(_shown, several) if text]
        label = _shown(value)
        if not label:
            raise InputError(f"{place}: {self._label_column} is empty")
        return label

    def _label_id(self, place: str, label: Any) -> Any:
        if self._problem == REGRESSION:
            return label
        ids = []
        for name in label if isinstance(label, list) else [label]:
            if name not in self.labels:
                raise InputError(
                    f"{place}: label {name!r} is not one of the training file's: "
                    f"{', '.join(self.labels)}"
                )
            ids.append(self.labels.index(name))
        return ids if isinstance(label, list) else ids[0]


def read_table(path: pathlib.Path) -> Iterator[Row]:
    """Rows by column name; .csv with quotes, .tsv without, .jsonl with an object a line.

    Raises:
        InputError: names file and line.
    """
    if path.suffix == ".jsonl":
        yield from _read_json_lines(path)
        return
    rows = read_csv(path) if path.suffix == ".csv" else read_tsv(path)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty")
    names = first[1]
    if len(set(names)) != len(names):
        raise InputError(f"{path}, line 1: two columns have one name: {', '.join(names)}")
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"{path}, line {line}: {len(row)} columns, the first line names {len(names)}"
            )
        yield line, dict(zip(names, row, strict=True))


def _read_json_lines(path: pathlib.Path) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: must be an object with named fields")
        yield number, row


def _text(place: str, row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        raise InputError(_no_column(place, row, column, "--text_columns"))
    if not isinstance(row[column], str):
        raise InputError(f"{place}: {column} is {row[column]!r}: it must be a text")
    return row[column]


def _shown(value: Any) -> str:
    """A label as text: 1 and True of JSON lines are "1" and "True"."""
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def _no_column(place: str, row: Mapping[str, Any], column: str, flag: str) -> str:
    return f"{place}: no column {column!r} among {', '.join(row)}: name it with {flag}"


def _find(data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
    if data_dir is None:
        raise InputError("give --train_file and --dev_file, or --data_dir with train.csv and so on")
    found = {
        split: data_dir / f"{split}{ending}"
        for split in ("train", "dev", "test")
        for ending in reversed(_ENDINGS)
        if (data_dir / f"{split}{ending}").is_file()
    }
    if not found:
        raise InputError(f"{data_dir} has no train.csv, train.tsv or train.jsonl")
    return found
