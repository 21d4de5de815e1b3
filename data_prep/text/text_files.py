"""Documents -> numbered text files of bounded size."""

from __future__ import annotations

import pathlib
from typing import IO


class TextFiles:
    """Writes documents to NAME-00000.txt, NAME-00001.txt, …

    Args:
        folder: where the files go.
        name: what their names begin with.
        max_bytes: a document goes into a new file when the one before has this size.

    Attributes:
        count: number of files.
    """

    def __init__(self, folder: pathlib.Path, name: str, max_bytes: int) -> None:
        self.count = 0
        self._folder = folder
        self._name = name
        self._max_bytes = max_bytes
        self._file: IO[bytes] | None = None

    def __enter__(self) -> TextFiles:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """Writes a document."""
        if self._file is not None and self._file.tell() >= self._max_bytes:
            self._file.close()
            self._file = None
        if self._file is None:
            path = self._folder / f"{self._name}-{self.count:05d}.txt"
            self._file = open(path, "wb")  # noqa: SIM115
            self.count += 1
        self._file.write(text.encode("utf-8"))
