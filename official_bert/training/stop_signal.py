"""SIGTERM and Ctrl-C as a request that all workers follow at the same step."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any

from absl import logging

from official_bert.training.workers import Workers

# About so long after a signal all workers know of it.
_SECONDS = 1.0
_MOST_CALLS = 1000


class Interrupted(Exception):  # noqa: N818 (a request, not an error)
    """The run was asked to stop (SIGTERM or SIGINT) and stands at a checkpoint.

    Attributes:
        signal_number: which signal it was; SIGTERM where another worker got one.
    """

    def __init__(self, signal_number: int, *, by_chief: bool):
        saved = "saved" if by_chief else "the chief has saved"
        super().__init__(f"stopped by {signal.Signals(signal_number).name}; {saved}")
        self.signal_number = signal_number


class StopSignal:
    """Whether the run was asked to stop.

    One process hears of its signal at once. Several ask each other about once a second, after a
    number of steps that follows from what all of them measured: no step waits for a host otherwise.

    Args:
        workers: who must agree.
    """

    def __init__(self, workers: Workers):
        self._workers = workers
        self._number: int | None = None
        self._agreed = False
        self._calls, self._next_calls = 0, 1
        self._asked_time = time.monotonic()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """SIGTERM and the first SIGINT are noted; a second SIGINT stops at once."""

        def note(number: int, frame: Any) -> None:
            logging.info("%s: stopping after this step", signal.Signals(number).name)
            self._number = number
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def is_set(self) -> bool:
        """Whether all stop here; called by all workers equally often, after the same steps."""
        if self._workers.count == 1:
            return self._number is not None
        self._calls += 1
        if not self._agreed and self._calls >= self._next_calls:
            self._ask()
        return self._agreed

    def interrupted(self) -> Interrupted:
        """What to raise when the run is saved."""
        number = signal.SIGTERM if self._number is None else self._number
        return Interrupted(number, by_chief=self._workers.is_chief)

    def _ask(self) -> None:
        seconds = time.monotonic() - self._asked_time
        stops, seconds = self._workers.sum([float(self._number is not None), seconds])
        self._agreed = stops > 0
        calls = self._calls * _SECONDS * self._workers.count / max(seconds, 1e-6)
        self._next_calls = max(1, min(_MOST_CALLS, int(calls)))
        self._calls, self._asked_time = 0, time.monotonic()
