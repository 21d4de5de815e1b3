"""Bounds on time and memory for what reads files that were made to do harm."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def limits(seconds: int = 20, extra_bytes: int = 1 << 30) -> Iterator[None]:
    """Fails what takes longer, and gives no more memory than there is in use and `extra_bytes`."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + extra_bytes, before[1]))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
