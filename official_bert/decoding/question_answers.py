"""The best answers of all windows of a question, as run_squad.py's write_predictions ranks them.

W windows of a question, K candidates of a window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from official_bert.decoding.span_search import SpanRule

# What `QuestionAnsweringTask.collect` gives of one window: numbers, and arrays [K].
Window = Mapping[str, NDArray]


class Candidate(NamedTuple):
    """A possible answer; its text is "" for no answer."""

    text: str
    start_logit: float
    end_logit: float

    @property
    def score(self) -> float:
        return self.start_logit + self.end_logit


class Ranking(NamedTuple):
    """The answers to a question.

    Attributes:
        best: the best one with a text; None where the context has no token.
        candidates: the n best, no text twice; in SQuAD 2.0 no answer is one of them.
        null_odds: how much better no answer is than the best one; it is no probability.
    """

    best: Candidate | None
    candidates: list[Candidate]
    null_odds: float

    def prediction(self, rule: SpanRule, null_threshold: float) -> str:
        """The answer; "" for none."""
        if self.best is None:
            return ""
        if rule.version_2_with_negative and self.null_odds > null_threshold:
            return ""
        return self.best.text

    def probabilities(self) -> list[float]:
        """Of `candidates`: the softmax of their scores."""
        most = max(candidate.score for candidate in self.candidates)
        powers = [math.exp(candidate.score - most) for candidate in self.candidates]
        return [power / sum(powers) for power in powers]


def rank_answers(context: str, windows: Sequence[Window], rule: SpanRule) -> Ranking:
    """Ranks what the windows of a question found.

    Args:
        context: the text.
        windows: in order; `span_starts` and `span_limits` int [K] are bytes of the context,
            `start_logits` and `end_logits` float [K] (-inf: no span); `null_start_logit` and
            `null_end_logit` float.
        rule: see `SpanRule`.
    """
    content = context.encode()
    null = min(
        (
            Candidate("", float(window["null_start_logit"]), float(window["null_end_logit"]))
            for window in windows
        ),
        key=lambda candidate: candidate.score,
    )
    found = _distinct(content, windows, rule.candidates)
    best = found[0] if found else None
    if not rule.version_2_with_negative:
        candidates = found[: rule.n_best_size]
    else:
        # No answer takes a place among the n best, or comes in addition.
        ahead = sum(candidate.score >= null.score for candidate in found[: rule.n_best_size])
        candidates = [*found[:ahead], null, *found[ahead : rule.n_best_size - 1]]
    return Ranking(
        best=best,
        candidates=candidates or [Candidate("", 0.0, 0.0)],
        null_odds=null.score - (best.score if best else 0.0),
    )


def _distinct(content: bytes, windows: Sequence[Window], count: int) -> list[Candidate]:
    """The `count` best spans of all windows without those whose text a better one has."""
    start_logits = np.concatenate([window["start_logits"] for window in windows])
    end_logits = np.concatenate([window["end_logits"] for window in windows])
    starts = np.concatenate([window["span_starts"] for window in windows])
    limits = np.concatenate([window["span_limits"] for window in windows])
    order = np.argsort(-(start_logits + end_logits), kind="stable")[:count]
    candidates: dict[str, Candidate] = {}
    for index in order:
        if not np.isfinite(start_logits[index]):
            break
        text = content[starts[index] : limits[index]].decode("utf-8", errors="replace")
        if text not in candidates:
            candidates[text] = Candidate(text, float(start_logits[index]), float(end_logits[index]))
    return list(candidates.values())
