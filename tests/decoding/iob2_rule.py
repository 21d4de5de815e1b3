"""IOB2 repair of one sentence in plain Python, to compare the package's with."""

from __future__ import annotations

from collections.abc import Sequence


def repaired(tags: Sequence[str]) -> list[str]:
    """An I- that continues no entity of its type is O, as are those behind it."""
    result: list[str] = []
    for tag in tags:
        continues = bool(result) and result[-1][2:] == tag[2:]
        result.append(tag if tag[:2] != "I-" or continues else "O")
    return result
