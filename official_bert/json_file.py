"""JSON objects from files that others wrote: bounded in size, depth and digits before use."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

from official_bert.errors import InputError, shown
from official_bert.regular_file import read_bytes

# Configs, indexes, manifests; a config with 100,000 label names has 6 MB.
LIMIT = 16 << 20
# Each object or list takes some hundred bytes, however short it is in the file.
_MAX_CONTAINERS = 1_000_000
_MAX_DEPTH = 64
# Of a whole number: Hugging Face writes int(1e30) for "no limit". More than 308 are no float.
_MAX_DIGITS = 100
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(
    path: str | os.PathLike[str], *, limit: int = LIMIT, nan: bool = False
) -> dict[str, Any]:
    """The JSON object in a file.

    Args:
        path: a regular file, UTF-8.
        limit: the most bytes it may have. A file takes at most some thirty times its size in
            memory.
        nan: whether NaN and the infinities are numbers, as Python writes them.

    Raises:
        InputError: no such file, no regular one, too large, no JSON, or not an object; a key
            stands twice; NaN or an infinity; nested too deeply; a lone surrogate in a string.
    """
    return parse_json(read_bytes(path, limit=limit), os.fspath(path), nan=nan)


def parse_json(content: bytes, name: str, *, nan: bool = False) -> dict[str, Any]:
    """The JSON object in some bytes.

    Args:
        content: UTF-8; the caller has bounded its size.
        name: how messages call it.
        nan: see `read_json`.

    Raises:
        InputError: as `read_json`.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        raise InputError(
            f"{name} starts with a byte-order mark: save it as UTF-8 without one, as JSON wants it"
        )
    if content.count(b"{") + content.count(b"[") > _MAX_CONTAINERS:
        raise InputError(f"{name} has more than {_MAX_CONTAINERS} objects and lists in it")
    try:
        text = content.decode("utf-8")
        fields = json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_constant=float if nan else _refuse_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
        if not isinstance(fields, dict):
            raise InputError(f"{name} must hold a JSON object, got {type(fields).__name__}")
        _check_depth(fields)
        if _SURROGATE.search(text):
            # Pairs have become one character by now; half a pair cannot be encoded.
            json.dumps(fields, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 at byte {error.start}: save it as UTF-8, as JSON wants it"
        ) from error
    except UnicodeEncodeError as error:
        raise InputError(f"{name} has half of a surrogate pair in a string") from error
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{name} is not a JSON file: {error}") from error
    except RecursionError as error:
        raise InputError(f"{name} is nested more than {_MAX_DEPTH} deep") from error
    return fields


def dumps(values: Mapping[str, Any], *, indent: int | None = None) -> str:
    """The text of a JSON object; what is no finite number is null, since JSON has no NaN."""
    return json.dumps(_finite_or_none(values), indent=indent, allow_nan=False)


def _finite_or_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite_or_none(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite_or_none(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key {shown(key)} stands twice in one object")
        fields[key] = value
    return fields


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {shown(digits)} is too large")
    return value


def _bounded(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is too large")
    return int(digits)


def _check_depth(fields: dict[str, Any]) -> None:
    """Level by level, not by recursion."""
    level: list[Any] = [fields]
    for _ in range(_MAX_DEPTH):
        level = [
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
            if isinstance(value, dict | list)
        ]
        if not level:
            return
    raise RecursionError
