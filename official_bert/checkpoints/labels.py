"""labels.txt: the names of the classes, one a line, in id order."""

from __future__ import annotations

import pathlib

from official_bert.atomic import atomic_file

_NAME = "labels.txt"


def read_labels(folder: pathlib.Path) -> tuple[str, ...]:
    """The labels of a folder; empty where it has none."""
    path = folder / _NAME
    return tuple(path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()


def write_labels(folder: pathlib.Path, labels: tuple[str, ...]) -> None:
    """Writes labels.txt into a folder."""
    with atomic_file(folder / _NAME) as file:
        file.writelines(f"{label}\n" for label in labels)
