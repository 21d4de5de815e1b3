"""Where a run went back because its loss had risen, and which batches it leaves out since then."""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import statistics
from collections.abc import Iterable
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.errors import InputError, shown
from official_bert.json_file import dumps, read_json
from official_bert.model_folder import RECOVERIES_NAME
from official_bert.path import to_path

# Reports that say what the loss was before.
_REPORTS = 10
_LEAST_REPORTS = 3


@dataclasses.dataclass(frozen=True)
class Recovery:
    """The run went back to `step`; `batches` batches from there on are never trained on."""

    step: int
    batches: int


class Recoveries:
    """All of a run. They stand in a file, so that the batch of a step is known after any restart.

    Args:
        model_dir: the model folder.
        most: how many there may be.
        factor: the loss has risen where the mean of a report is so many times the median of the
            reports before; 0: nobody looks.
        losses: of the reports before the start of this process.

    Raises:
        InputError: the file holds something else.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        *,
        most: int,
        factor: float,
        losses: Iterable[float] = (),
    ):
        self._path = to_path(model_dir) / RECOVERIES_NAME
        self._most, self._factor = most, factor
        self._all = _read(self._path) if self._path.exists() else []
        self.use_losses(losses)

    @property
    def enabled(self) -> bool:
        return self._factor > 0

    @property
    def used_up(self) -> bool:
        return len(self._all) >= self._most

    def offset(self, step: int, *, since: int = 0) -> int:
        """Batches that are left out before that of `step`, counted from step `since` on."""
        return sum(each.batches for each in self._all if since <= each.step <= step)

    def next_step(self, step: int, stop: int) -> int:
        """The first step behind `step` at which batches are left out; `stop` if none is before."""
        return min((each.step for each in self._all if step < each.step < stop), default=stop)

    def use_losses(self, losses: Iterable[float]) -> None:
        """Forgets the reports so far for those of these losses."""
        self._losses = collections.deque(losses, maxlen=_REPORTS)

    def has_risen(self, loss: float) -> bool:
        """Whether the mean loss of a report is far above those before; keeps it where it is not."""
        enough = len(self._losses) >= _LEAST_REPORTS
        risen = enough and loss > self._factor * statistics.median(self._losses)
        if not risen:
            self._losses.append(loss)
        return risen

    def add(self, recovery: Recovery, *, writes: bool) -> None:
        """Notes one, in the file too where this process is the one that writes."""
        self._all.append(recovery)
        if writes:
            with atomic_file(self._path) as file:
                values = {"recoveries": [dataclasses.asdict(each) for each in self._all]}
                file.write(dumps(values, indent=2) + "\n")


def _read(path: pathlib.Path) -> list[Recovery]:
    values: Any = read_json(path).get("recoveries")
    try:
        found = [Recovery(**each) for each in values]
        if not all(isinstance(n, int) and n >= 0 for r in found for n in (r.step, r.batches)):
            raise TypeError
    except TypeError as error:
        raise InputError(
            f"{path} is {shown(values)}: it must be a list of objects with step and batches; put "
            "back what training wrote"
        ) from error
    return found
