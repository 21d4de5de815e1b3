"""A command in a process group of its own, which hears the signals that this process gets."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):  # noqa: N818 (a request, not an error)
    """A signal came, was passed on, and the command has ended.

    Attributes:
        status: to exit with: the command's own, or that of the signal where it ended well.
    """

    def __init__(self, number: int, status: int):
        super().__init__(signal.Signals(number).name)
        self.status = status or 128 + number


def run_child(command: Sequence[str]) -> int:
    """Runs a command to its end; returns its status, 128 + number where a signal ended it.

    Ctrl-C at a terminal reaches every process of the group in front. The command is in another
    group, so that it gets each signal once, from here, and can save what it has.

    Raises:
        Stopped: this process got SIGINT, SIGTERM or SIGHUP.
    """
    received: list[int] = []
    waiting: list[int] = []  # Those that came before the command was there.
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: Any) -> None:
        received.append(number)
        waiting.append(number)
        if process is not None:
            send()

    def send() -> None:
        assert process is not None
        while waiting:
            number = waiting.pop()
            if process.poll() is None:
                os.killpg(process.pid, number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        send()
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    status = 128 - status if status < 0 else status
    if received:
        raise Stopped(received[0], status)
    return status
