"""Overlapping windows over a text of any length: each token from where it has most context."""

from __future__ import annotations

import numpy as np


def overlapping_windows(count: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Start and end of each window over `count` tokens, at least one.

    overlapping_windows(7, room=4, stride=2)  # [(0, 4), (2, 6), (4, 7)]

    Args:
        count: of the text.
        room: tokens of a window.
        stride: from the start of a window to that of the next, at most `room`.
    """
    starts = range(0, max(count - room, 0) + stride, stride) if count > room else [0]
    return [(start, min(start + room, count)) for start in starts]


def best_windows(count: int, windows: list[tuple[int, int]]) -> np.ndarray:
    """Which window each token is taken from: int64 [count].

    It is the first of those in which the shorter of the contexts on its left and on its right is
    longest: best_windows(7, [(0, 4), (2, 6), (4, 7)])  # [0, 0, 0, 1, 1, 2, 2]
    """
    best = np.zeros(count, np.int64)
    context = np.full(count, -1)
    for number, (start, end) in enumerate(windows):
        positions = np.arange(end - start)
        shorter = np.minimum(positions, positions[::-1])
        better = shorter > context[start:end]
        best[start:end][better] = number
        context[start:end][better] = shorter[better]
    return best
