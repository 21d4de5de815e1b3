"""Rows of text files with columns, with the number of the line that each begins on."""

from __future__ import annotations

import csv
import pathlib
import re
from collections.abc import Iterator

from data_prep.finetuning.bad_rows import BadRows
from official_bert.errors import InputError, shown
from official_bert.text_file import decode, read_byte_lines

# Line number from 1, columns.
Row = tuple[int, list[str]]

# The csv module's own limit, 131,072, is less than a long text has. It is one for all readers.
MAX_FIELD_CHARACTERS = 16 << 20
csv.field_size_limit(MAX_FIELD_CHARACTERS)

# What other programs put between columns, where the first line has no comma.
_OTHER_DELIMITERS = (";", "\t")
# A first line with which a table tells Excel what stands between its columns.
_SEPARATOR_LINE = re.compile('"?sep=(.)"?')


def read_tsv(path: pathlib.Path, bad_rows: BadRows | None = None) -> Iterator[Row]:
    """Rows between TABs; quotes are plain characters.

    A byte-order mark, line ends CRLF or CR, and blank last lines are fine.

    Args:
        path: UTF-8.
        bad_rows: what becomes of a row that is not UTF-8, or blank between others; None: an error.

    Raises:
        InputError: not readable, another encoding, too long a line, or a bad row.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    blank = 0
    for number, line in _text_lines(path, bad_rows):
        if not line:
            blank = blank or number
            continue
        if blank:
            bad_rows.add(InputError(f"{path}, line {blank}: a blank line between rows; remove it"))
            blank = 0
        yield number, line.split("\t")


def read_csv(path: pathlib.Path, bad_rows: BadRows | None = None) -> Iterator[Row]:
    """Rows as spreadsheets write them: columns between commas, quoted, also over several lines.

    A first line `sep=;` names what stands between the columns. Without one it is a semicolon, or a
    TAB, where the first line has these and no comma. Spaces behind it count for nothing where the
    first line has them.

    Args:
        path: UTF-8.
        bad_rows: what becomes of a row that is not UTF-8 or whose quotes do not match; None: an
            error.

    Raises:
        InputError: not readable, another encoding, or a bad row; a quote that is never closed is
            named with the line on which its row begins.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    lines = _text_lines(path, bad_rows)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    delimiter = None
    if separator := _SEPARATOR_LINE.fullmatch(first[1].strip()):
        delimiter = separator[1]
        first = next(((number, line) for number, line in lines if line.strip()), None)
        if first is None:
            return
    header = first[1]
    if delimiter is None:
        others = [other for other in _OTHER_DELIMITERS if other in header]
        delimiter = others[0] if others and "," not in header else ","
    number = start = first[0]

    def numbered() -> Iterator[str]:
        nonlocal number
        yield f"{header}\n"
        for number, line in lines:  # noqa: B007 - the number is for messages.
            yield f"{line}\n"

    reader = csv.reader(
        numbered(), strict=True, delimiter=delimiter, skipinitialspace=f"{delimiter} " in header
    )
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad_rows.add(InputError(f"{path}, line {start}: {_csv_fault(error, number)}"))
            row = []
        if row:
            yield start, row
        start = number + 1


def _csv_fault(error: csv.Error, last_line: int) -> str:
    text = str(error)
    if "field larger" in text or "unexpected end" in text:
        limit = f" or {MAX_FIELD_CHARACTERS:,} characters" if "field larger" in text else ""
        return (
            f'{text}: a quote (") in the row that begins here is not closed before line '
            f"{last_line}, the end{limit}: close it, or write two for one within a text"
        )
    return f'{text}: a text with quotes in it stands between quotes, and has "" for each of its own'


def _text_lines(path: pathlib.Path, bad_rows: BadRows) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_byte_lines(path), start=1):
        try:
            yield number, decode(line, f"{path}, line {number}")
        except InputError as error:
            bad_rows.add(error)


def column_names(path: pathlib.Path, names: list[str]) -> list[str]:
    """The names in the first line of a table, without spaces around them; "" for unnamed columns.

    Raises:
        InputError: two columns have one name.
    """
    stripped = [name.strip() for name in names]
    for name in stripped:
        if name and stripped.count(name) > 1:
            raise InputError(
                f"{path}, line 1: two columns have one name: {shown(name)}: rename one"
            )
    return stripped
