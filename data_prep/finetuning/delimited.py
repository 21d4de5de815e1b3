"""Rows of text files with columns, with the number of the line that each came from."""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Iterator

from official_bert.errors import InputError

Row = tuple[int, list[str]]


def read_tsv(path: pathlib.Path) -> Iterator[Row]:
    """Rows between TABs; quotes are plain characters. A BOM, CRLF and blank last lines are fine.

    Yields:
        line number from 1, columns.

    Raises:
        InputError: not readable, not UTF-8, or a blank line between others.
    """
    blank = 0
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            blank = blank or number
            continue
        if blank:
            raise InputError(f"{path}, line {blank}: a blank line between rows; remove it")
        yield number, line.split("\t")


def read_csv(path: pathlib.Path) -> Iterator[Row]:
    """Rows between commas; quoted as spreadsheets write them, also over several lines.

    Yields:
        number of the line where the row ends, columns.

    Raises:
        InputError: not readable, not UTF-8, or a quote that is never closed.
    """
    reader = csv.reader((f"{line}\n" for line in read_lines(path)), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from error


def read_lines(path: pathlib.Path) -> Iterator[str]:
    """Lines of a UTF-8 file without their ends, which are "\\n" or "\\r\\n" and nothing else."""
    number = 0
    try:
        with open(path, encoding="utf-8-sig", newline="\n") as file:
            for line in file:
                number += 1
                yield line.removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, after line {number}: not UTF-8: {error.reason}") from error
