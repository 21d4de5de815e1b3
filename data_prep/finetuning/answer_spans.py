"""The span of an answer: in characters of the context, checked, then in tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# How far from the start that a file gives the answer is searched for.
_NEAR = 50


class AnswerSpan(NamedTuple):
    """Characters [start, end) of the context; `moved` if the file gives another start."""

    start: int
    end: int
    moved: bool


class TokenSpan(NamedTuple):
    """Tokens [start, end); `exact` if their text is the answer's, not that of longer words."""

    start: int
    end: int
    exact: bool


def find_answer(context: str, text: str, answer_start: int) -> AnswerSpan | None:
    """The span of an answer: at the start that the file gives, or nearest to it within 50.

        find_answer("in Paris, France", "France", 12)  # AnswerSpan(10, 16, moved=True)

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
        return AnswerSpan(start, start + len(stripped), moved=False)
    search_start = max(0, start - _NEAR)
    search_end = max(search_start, start + _NEAR + len(stripped))
    # Matches may overlap each other, so the pattern must not consume what it finds.
    pattern = re.compile(f"(?={re.escape(stripped)})")
    starts = [match.start() for match in pattern.finditer(context, search_start, search_end)]
    if not starts:
        return None
    nearest = min(starts, key=lambda found: abs(found - start))
    return AnswerSpan(nearest, nearest + len(stripped), moved=True)


def to_tokens(
    context: str, span: AnswerSpan, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> TokenSpan | None:
    """The tokens that have a part of the answer.

    Args:
        context: the text.
        span: of the answer.
        starts, ends: int64 [T], of the context's tokens: bytes [start, end).

    Returns:
        None where no token does: the answer is of characters that the tokenizer drops.
    """
    start = len(context[: span.start].encode())
    end = start + len(context[span.start : span.end].encode())
    token_start = int(np.searchsorted(ends, start, side="right"))
    token_end = int(np.searchsorted(starts, end, side="left"))
    if token_start >= token_end:
        return None
    exact = starts[token_start] == start and ends[token_end - 1] == end
    return TokenSpan(token_start, token_end, exact=bool(exact))
