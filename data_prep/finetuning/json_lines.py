"""JSON that others wrote: rows of JSON lines, and whole files of SQuAD's and TriviaQA's layout."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from data_prep.finetuning.bad_rows import BadRows
from official_bert.errors import InputError
from official_bert.text_file import decode, read_byte_lines, read_text

# SQuAD 2.0 has 42 MB; read whole it takes some ten times its size in memory.
MAX_JSON_BYTES = 2 << 30
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json_lines(
    path: pathlib.Path, bad_rows: BadRows | None = None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a file with one a line, with the number of the line; blank lines are fine.

    Args:
        path: UTF-8.
        bad_rows: what becomes of a line that is no object; None: an error.

    Raises:
        InputError: not readable, another encoding, or a bad line.
    """
    bad_rows = bad_rows or BadRows(skip=False)

    def parse(numbered: tuple[int, bytes]) -> tuple[int, Mapping[str, Any]] | None:
        number, line = numbered
        location = f"{path}, line {number}"
        text = decode(line, location)
        if not text.strip():
            return None
        row = parse_json(text, location, is_line=True)
        if not isinstance(row, dict):
            raise InputError(f"{location}: must be an object with named fields")
        if _SURROGATE.search(text):
            # Pairs have become one character by now.
            check_text(json.dumps(row, ensure_ascii=False), location)
        return number, row

    return bad_rows.keep_good(enumerate(read_byte_lines(path), start=1), parse)


def read_json(path: pathlib.Path, layout: str) -> dict[str, Any]:
    """The JSON object in a file of at most `MAX_JSON_BYTES`.

    Args:
        path: UTF-8.
        layout: what the file should have, for the message.

    Raises:
        InputError: it cannot be read, is not JSON in UTF-8, or is not an object.
    """
    content = parse_json(read_text(path, limit=MAX_JSON_BYTES), str(path))
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, not an object: {layout}")
    return content


def parse_json(text: str, location: str, *, is_line: bool = False) -> Any:
    """The value that a JSON text stands for.

    Args:
        text: the JSON.
        location: where it is, for messages.
        is_line: whether `location` names the line already.

    Raises:
        InputError: it is not JSON; it is nested too deeply, has a whole number that is too long, or
            a key twice in one object.
    """
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        if not is_line:
            location = f"{location}, line {error.lineno}, column {error.colno}"
        raise InputError(f"{location}: not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{location}: lists and objects are nested too deeply") from None
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits.
        reason = str(error).partition(":")[0]
        raise InputError(f"{location}: not JSON that can be used: {reason}") from None
    return value


def check_text(text: str, location: str) -> str:
    """`text`, if it is one that UTF-8 can hold.

    Raises:
        InputError: it has half of a surrogate pair, which a JSON escape can make.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{location} has {ascii(text[error.start])} at character {error.start}, which is "
            "half of a character: mend the escape"
        ) from error
    return text


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return fields
