"""The one exception that means "the user can mend this"."""

from __future__ import annotations

import reprlib
from typing import Any


class InputError(ValueError):
    """A mistake in what the user gave: a file, a flag, a config field, a record.

    The message is one line that names the file, line or record, the field, the value and what to
    do. Commands print it without a traceback and exit with status 2 (see `official_bert.cli`).
    Line breaks and other control characters in it, which names in files can have, are escaped.
    """

    def __init__(self, message: object = ""):
        super().__init__("".join(map(_printable, str(message))))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def shown(value: Any) -> str:
    """A value for a message: its repr, short and in one line, however large or deep it is."""
    try:
        return _REPR.repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits.
        return f"<{type(value).__name__}>"


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_REPR.maxlong = 40
_REPR.maxlevel = 3
