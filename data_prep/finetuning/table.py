"""A table of one's own: CSV, TSV or JSON lines with texts and labels."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from data_prep.finetuning.base import Example
from data_prep.finetuning.delimited import read_csv, read_lines, read_tsv
from data_prep.finetuning.sentences import MULTI_LABEL, REGRESSION, SentenceDataSet
from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError

_SEVERAL = "|"
_ENDINGS = (".csv", ".tsv", ".jsonl")

# Line number, {column: value}.
Row = tuple[int, Mapping[str, Any]]


class TableDataSet(SentenceDataSet):
    """Rows with one or two texts, and a class, any number of classes, or a number.

    Flags: `text_columns`, `label_column`, `problem`. The classes are those of the training file, in
    the order of their names (numbers in the order of numbers).
    """

    def __init__(self, settings: Settings) -> None:
        flags = settings.flags
        self._columns, self._label_column = tuple(flags.text_columns), flags.label_column
        if len(self._columns) not in (1, 2):
            raise InputError("--text_columns: name the column with the text, or two: text_a,text_b")
        super().__init__(settings, problem=flags.problem, num_texts=len(self._columns))

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """train.csv and so on; .tsv and .jsonl too."""
        if data_dir is None:
            raise InputError(
                "give --train_file and --dev_file, or --data_dir with train.csv and so on"
            )
        found = {
            split: data_dir / f"{split}{ending}"
            for split in ("train", "dev", "test")
            for ending in reversed(_ENDINGS)
            if (data_dir / f"{split}{ending}").is_file()
        }
        if not found:
            raise InputError(f"{data_dir} has no train.csv, train.tsv or train.jsonl")
        return found

    def examples(self, split: str) -> Iterator[Example]:
        """{"id", "text_a", "text_b" for pairs, "label" and "label_id" where there is a label}."""
        path = self.files[split]

        def example(numbered: Row) -> Example:
            line, row = numbered
            location = f"{path}, line {line}"
            found: Example = {}
            for name, column in zip(("text_a", "text_b"), self._columns, strict=False):
                found[name] = _text(location, row, column)
            if self._label_column in row:
                label = self._label(location, row[self._label_column])
                found |= {"label": label, "label_id": self._label_id(location, label)}
            elif split != "test":
                raise InputError(_no_column(location, row, self._label_column, "--label_column"))
            return found

        for number, found in enumerate(self.bad_rows.keep_good(read_table(path), example)):
            yield {"id": number, **found}

    def find_labels(self) -> list[str]:
        """The classes of the training file, sorted."""
        for path in self.files.values():
            if path.suffix not in _ENDINGS:
                raise InputError(f"{path}: the name must end with {', '.join(_ENDINGS)}")
        if self.problem == REGRESSION:
            return []
        if "train" not in self.files:
            raise InputError("--train_file is needed: the labels are found in it")
        path = self.files["train"]
        found: set[str] = set()
        for line, row in read_table(path):
            location = f"{path}, line {line}"
            if self._label_column not in row:
                raise InputError(_no_column(location, row, self._label_column, "--label_column"))
            label = self._label(location, row[self._label_column])
            found.update(label if isinstance(label, list) else [label])
        if not found:
            raise InputError(f"{path} has no labels in the column {self._label_column}")
        if all(label.removeprefix("-").isdecimal() for label in found):
            return sorted(found, key=int)
        return sorted(found)

    def _label(self, location: str, value: Any) -> Any:
        """The label as text, list of texts, or number."""
        if self.problem == REGRESSION:
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number):
                raise InputError(f"{location}: {self._label_column} is {value!r}: not a number")
            return number
        if self.problem == MULTI_LABEL:
            several = value if isinstance(value, list) else str(value).split(_SEVERAL)
            return [text for text in map(_shown, several) if text]
        label = _shown(value)
        if not label:
            raise InputError(f"{location}: {self._label_column} is empty")
        return label

    def _label_id(self, location: str, label: Any) -> Any:
        if self.problem == REGRESSION:
            return label
        ids = []
        for name in label if isinstance(label, list) else [label]:
            if name not in self.labels:
                raise InputError(
                    f"{location}: label {name!r} is not one of the training file's: "
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


def _text(location: str, row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        raise InputError(_no_column(location, row, column, "--text_columns"))
    if not isinstance(row[column], str):
        raise InputError(f"{location}: {column} is {row[column]!r}: it must be a text")
    return row[column]


def _shown(value: Any) -> str:
    """A label as text: 1 and True of JSON lines are "1" and "True"."""
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def _no_column(location: str, row: Mapping[str, Any], column: str, flag: str) -> str:
    return f"{location}: no column {column!r} among {', '.join(row)}: name it with {flag}"
