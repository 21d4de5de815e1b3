"""What becomes of a row that is not as it should be: an error, or a line in manifest.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from official_bert.errors import InputError

# Of each kind; what goes beyond is counted. A manifest is read at every start of training.
MOST_LISTED = 1000

_Raw = TypeVar("_Raw")
_Row = TypeVar("_Row")


class BadRows:
    """Stops at the first bad row, or leaves bad rows out and lists them (`--skip_bad_rows`).

        bad_rows = BadRows(skip=True)
        list(bad_rows.keep_good(["1", "x", "3"], parse))  # [1, 3], if parse("x") raises InputError
        bad_rows.statistics()  # {"skipped_rows": ["train.csv, line 2: 'x' is not a number"]}

    Args:
        skip: whether bad rows are left out.

    Attributes:
        skip: the same.
    """

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self._listed: dict[str, list[str]] = {"skipped_rows": [], "mended_rows": []}
        self._counts = dict.fromkeys(self._listed, 0)

    def add(self, error: InputError) -> None:
        """A row was found to be bad.

        Raises:
            InputError: `error`, where bad rows are not left out.
        """
        if not self.skip:
            raise error
        self._list("skipped_rows", str(error))

    def add_mended(self, message: str) -> None:
        """A row was taken with a change: `message` says which row and what was changed."""
        self._list("mended_rows", message)

    def keep_good(
        self, rows: Iterable[_Raw], read: Callable[[_Raw], _Row | None]
    ) -> Iterator[_Row]:
        """`read(row)` of each row; a row for which it raises InputError is a bad one.

        A row for which it gives None is left out without a word: it belongs to another split, for
        example.
        """
        for row in rows:
            try:
                result = read(row)
            except InputError as error:
                self.add(error)
                continue
            if result is not None:
                yield result

    def statistics(self) -> dict[str, list[str] | int]:
        """What was left out or mended, for manifest.json; {} where nothing was."""
        found: dict[str, list[str] | int] = {}
        for name, messages in self._listed.items():
            if messages:
                found[name] = list(messages)
            if self._counts[name] > len(messages):
                found[f"{name}_not_listed"] = self._counts[name] - len(messages)
        return found

    def _list(self, name: str, message: str) -> None:
        self._counts[name] += 1
        if len(self._listed[name]) < MOST_LISTED:
            self._listed[name].append(message)
