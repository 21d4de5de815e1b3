"""JSON objects from files that others wrote."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from official_bert.errors import InputError


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: no such file, or it holds something else.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not a JSON file: {error}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(fields).__name__}")
    return fields
