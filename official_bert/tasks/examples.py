"""The raw rows of a split, which data_prep keeps beside the records."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from official_bert.data.manifest import examples_name
from official_bert.errors import InputError
from official_bert.path import local_copy

Examples = Callable[[], Iterator[dict[str, Any]]]


def examples_of(folder: pathlib.Path, split: str) -> Examples:
    """A function that reads `<split>.examples.jsonl` of prepared data, row by row.

    The function raises InputError where the file is missing or not JSON.
    """
    path = folder / examples_name(split)

    def read() -> Iterator[dict[str, Any]]:
        number = 0
        try:
            with open(local_copy(path), encoding="utf-8") as file:
                for line in file:
                    number += 1
                    example = json.loads(line)
                    if not isinstance(example, dict):
                        raise InputError(f"{path}, line {number}: this is no JSON object")
                    yield example
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from error

    return read
