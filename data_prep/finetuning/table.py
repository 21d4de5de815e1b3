"""A table of one's own: CSV, TSV or JSON lines with texts and labels."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.base import Example
from data_prep.finetuning.delimited import column_names, read_csv, read_tsv
from data_prep.finetuning.json_lines import read_json_lines
from data_prep.finetuning.sentences import MULTI_LABEL, REGRESSION, SentenceDataSet
from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError, shown

_SEVERAL = "|"
_ENDINGS = (".csv", ".tsv", ".jsonl")
# 1 and 1.0, but not 01, which is a name.
_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,14}))(?:\.0*)?")

# Line number, {column: value}.
Row = tuple[int, Mapping[str, Any]]


class TableDataSet(SentenceDataSet):
    """Rows with one or two texts, and a class, any number of classes, or a number.

    Flags: `text_columns`, `label_column`, `problem`. The classes are those of the training file, in
    the order of their names. Where all are numbers they are in the order of numbers, and 1 and 1.0
    are one class, "1".
    """

    def __init__(self, settings: Settings) -> None:
        flags = settings.flags
        self._columns, self._label_column = tuple(flags.text_columns), flags.label_column
        if len(self._columns) not in (1, 2):
            raise InputError("--text_columns: name the column with the text, or two: text_a,text_b")
        self._whole_numbers = False
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
                label = self._label(location, row[self._label_column], split)
                found |= {"label": label, "label_id": self._label_id(location, label, split)}
            elif split != "test":
                raise InputError(_no_column(location, row, self._label_column, "--label_column"))
            return found

        rows = read_table(path, self.bad_rows)
        for number, found in enumerate(self.bad_rows.keep_good(rows, example)):
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

        def labels_of(numbered: Row) -> list[str]:
            line, row = numbered
            location = f"{path}, line {line}"
            if self._label_column not in row:
                raise InputError(_no_column(location, row, self._label_column, "--label_column"))
            label = self._label(location, row[self._label_column], "train")
            return label if isinstance(label, list) else [label]

        # What is bad is listed when the examples are read.
        bad_rows = BadRows(skip=self.bad_rows.skip)
        rows = bad_rows.keep_good(read_table(path, bad_rows), labels_of)
        found = {label for labels in rows for label in labels}
        if not found:
            raise InputError(f"{path} has no labels in the column {self._label_column}")
        self._whole_numbers = all(map(_WHOLE.fullmatch, found))
        return _sorted_labels(path, {self._canonical(label) for label in found})

    def _label(self, location: str, value: Any, split: str) -> Any:
        """The label as text, list of texts, or number."""
        where = f"{location}: {self._label_column}"
        if self.problem == REGRESSION:
            return _number(where, value)
        if self.problem == MULTI_LABEL:
            several = value if isinstance(value, list) else _shown(where, value).split(_SEVERAL)
            labels = [_shown(f"{where}[{n}]", item) for n, item in enumerate(several)]
            return [self._canonical(label) for label in labels if label]
        if isinstance(value, list):
            raise InputError(
                f"{where} is {shown(value)}: one label is expected; for any number of labels a row "
                f"give --problem={MULTI_LABEL}"
            )
        label = _shown(where, value)
        if not label:
            raise InputError(f"{where} is empty{_hint(split)}")
        return self._canonical(label)

    def _canonical(self, label: str) -> str:
        """1.0 -> 1, where all labels of the training file are whole numbers."""
        whole = _WHOLE.fullmatch(label) if self._whole_numbers else None
        return str(int(whole[1])) if whole else label

    def _label_id(self, location: str, label: Any, split: str) -> Any:
        if self.problem == REGRESSION:
            return label
        ids = []
        for name in label if isinstance(label, list) else [label]:
            if name not in self.labels:
                raise InputError(
                    f"{location}: label {shown(name)} is not one of the training file's: "
                    f"{_listed(self.labels)}{_hint(split)}"
                )
            ids.append(self.labels.index(name))
        return ids if isinstance(label, list) else ids[0]


def read_table(path: pathlib.Path, bad_rows: BadRows | None = None) -> Iterator[Row]:
    """Rows by column name; .csv with quotes, .tsv without, .jsonl with an object a line.

    Columns without a name are left out.

    Args:
        path: UTF-8.
        bad_rows: what becomes of a row that cannot be read, or has too few or too many columns;
            None: an error.

    Raises:
        InputError: names file and line.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    if path.suffix == ".jsonl":
        yield from read_json_lines(path, bad_rows)
        return
    rows = (read_csv if path.suffix == ".csv" else read_tsv)(path, bad_rows)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty")
    names = column_names(path, first[1])

    def by_name(numbered: tuple[int, list[str]]) -> Row:
        line, row = numbered
        if len(row) != len(names):
            raise InputError(
                f"{path}, line {line}: {len(row)} columns, the first line names {len(names)}"
            )
        return line, {name: value for name, value in zip(names, row, strict=True) if name}

    yield from bad_rows.keep_good(rows, by_name)


def _text(location: str, row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        raise InputError(_no_column(location, row, column, "--text_columns"))
    if not isinstance(row[column], str):
        raise InputError(f"{location}: {column} is {shown(row[column])}: it must be a text")
    text: str = row[column]
    return text


def _shown(where: str, value: Any) -> str:
    """A label as text: 1 and True of JSON lines are "1" and "True", null is ""."""
    if isinstance(value, list | dict):
        raise InputError(f"{where} is {shown(value)}: a text or a number is expected")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{where} is {value}: a text or a number is expected")
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    label = value.strip() if isinstance(value, str) else "" if value is None else str(value)
    if "\n" in label or "\r" in label:
        raise InputError(
            f"{where} is {shown(label)}: a label must not have a line break in it: labels are kept "
            "one a line; rename it"
        )
    return label


def _number(where: str, value: Any) -> float:
    try:
        # Python takes 1_000 and True for numbers.
        number = math.nan if isinstance(value, bool) or "_" in str(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where} is {shown(value)}: not a number")
    return number


def _sorted_labels(path: pathlib.Path, labels: set[str]) -> list[str]:
    """By number where all are numbers, else by name."""
    try:
        numbers = {label: float(label) for label in labels if "_" not in label}
    except ValueError:
        return sorted(labels)
    if len(numbers) < len(labels) or not all(map(math.isfinite, numbers.values())):
        return sorted(labels)
    ordered = sorted(labels, key=lambda label: (numbers[label], label))
    for label, following in zip(ordered, ordered[1:], strict=False):
        if numbers[label] == numbers[following]:
            raise InputError(
                f"{path}: labels {label!r} and {following!r} are one number: write them alike, or "
                "name the classes by words"
            )
    return ordered


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
    return ", ".join(labels[:20]) + more


def _hint(split: str) -> str:
    if split != "test":
        return ""
    return "; leave the column out of a test file whose labels nobody knows"


def _no_column(location: str, row: Mapping[str, Any], column: str, flag: str) -> str:
    return f"{location}: no column {column!r} among {', '.join(row)}: name it with {flag}"
