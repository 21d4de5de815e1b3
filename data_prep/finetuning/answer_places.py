"""Where an answer stands: checked against the context, then in tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# How far from where a file says the answer is looked for.
_NEAR = 50


class Place(NamedTuple):
    """Characters [start, limit) of the context; `moved` if the file says another start."""

    start: int
    limit: int
    moved: bool


class TokenSpan(NamedTuple):
    """Tokens first … last; `exact` if their text is the answer's, not that of longer words."""

    first: int
    last: int
    exact: bool


def find_answer(context: str, text: str, answer_start: int) -> Place | None:
    """The place of an answer: where the file says, or nearest to it within 50 characters.

        find_answer("in Paris, France", "France", 12)  # Place(10, 16, moved=True)

    Args:
        context: the text.
        text: the answer; white space around it does not count.
        answer_start: where it should begin, in characters.

    Returns:
        None if it is not there.
    """
    stripped = text.strip()
    start = answer_start + len(text) - len(text.lstrip())
    if start >= 0 and context.startswith(stripped, start):
        return Place(start, start + len(stripped), moved=False)
    first = max(0, start - _NEAR)
    # Places may overlap each other, so the pattern must not use up what it finds.
    pattern = re.compile(f"(?={re.escape(stripped)})")
    limit = max(first, start + _NEAR + len(stripped))
    places = [match.start() for match in pattern.finditer(context, first, limit)]
    if not places:
        return None
    nearest = min(places, key=lambda place: abs(place - start))
    return Place(nearest, nearest + len(stripped), moved=True)


def to_tokens(
    context: str, place: Place, starts: NDArray[np.int64], limits: NDArray[np.int64]
) -> TokenSpan | None:
    """The tokens that have a part of the answer.

    Args:
        context: the text.
        place: of the answer.
        starts, limits: int64 [T], of the context's tokens, in bytes.

    Returns:
        None where no token does: the answer is of characters that the tokenizer drops.
    """
    start = len(context[: place.start].encode())
    limit = start + len(context[place.start : place.limit].encode())
    first = int(np.searchsorted(limits, start, side="right"))
    last = int(np.searchsorted(starts, limit, side="left")) - 1
    if first > last:
        return None
    return TokenSpan(first, last, exact=starts[first] == start and limits[last] == limit)
