"""Settings on the command line, as `--params_override` takes them."""

from __future__ import annotations

import re
from typing import Any

from official_bert.errors import InputError, shown
from official_bert.path import to_path
from official_bert.yaml_file import parse_plain, parse_yaml, read_yaml

_KEY = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_END = re.compile(r"\s*(,|$)")


def read_override(text: str) -> dict[str, Any]:
    """Fields and values of a `--params_override`, by section.

        read_override("train.batch_size=8,train.class_weights=[1.0, 2.0],model.pretrained='a,b'")
        # {"train": {"batch_size": 8, "class_weights": [1.0, 2.0]}, "model": {"pretrained": "a,b"}}

    A value in brackets or quotes is YAML; any other ends at the next comma and has no special
    characters. As in the Model Garden, the text may also be YAML itself, or name a YAML file.

    Raises:
        InputError: of another form, or a field stands twice.
    """
    try:
        if text.strip() and not _KEY.match(text):
            return _whole(text)
        return _fields(text)
    except InputError as error:
        raise InputError(f"cannot read the override {shown(text)}: {error}") from error


def _whole(text: str) -> dict[str, Any]:
    if to_path(text).is_file():
        return read_yaml(text)
    values = parse_yaml(text)
    if not isinstance(values, dict):
        raise InputError("write section.key=value")
    return values


def _fields(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    position = 0
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            raise InputError(
                f"write section.key=value at {shown(text[position:])}; a value with a comma stands "
                "in quotes"
            )
        value, position = _value(text, key.end())
        *sections, name = key[1].split(".")
        section = values
        for part in sections:
            section = section.setdefault(part, {})
            if not isinstance(section, dict):
                raise InputError(f"{part} has a value and keys: leave one of them out")
        if name in section:
            raise InputError(f"{key[1]} stands there twice")
        section[name] = value
    return values


def _value(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start`, and where the next key does."""
    first = text[start : start + 1]
    if first and first in "'\"[{":
        stop = _quoted_end(text, start) if first in "'\"" else _bracket_end(text, start)
        end = _END.match(text, stop)
        if end is None:
            raise InputError(f"write a comma before {shown(text[stop:])}")
        return parse_yaml(text[start:stop]), end.end()
    stop = text.find(",", start)
    stop = len(text) if stop < 0 else stop
    return parse_plain(text[start:stop].strip()), stop + 1


def _quoted_end(text: str, start: int) -> int:
    quoted = _QUOTED.match(text, start)
    if quoted is None:
        raise InputError(f"the quotes of {shown(text[start:])} are not closed")
    return quoted.end()


def _bracket_end(text: str, start: int) -> int:
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character in "'\"":
            position = _quoted_end(text, position)
            continue
        depth += (character in "[{") - (character in "]}")
        position += 1
        if depth == 0:
            return position
    raise InputError(f"the brackets of {shown(text[start:])} are not closed")
