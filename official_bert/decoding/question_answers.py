"""The answers to the questions of a data set, from what was collected of their windows.

W windows of all questions, K candidates of a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from official_bert.decoding.span_ranking import RankedAnswers, rank_answers
from official_bert.decoding.span_search import SpanRule, WindowAnswers

# What is collected of one window: the fields of `WindowAnswers`, [K] or scalars.
Window = Mapping[str, NDArray[Any]]
Example = Mapping[str, Any]

# About as many windows are ranked at a time: a few megabytes.
WINDOWS_AT_ONCE = 1024


class Candidate(NamedTuple):
    """A possible answer; its text is "" for no answer."""

    text: str
    start_logit: float
    end_logit: float
    probability: float


class Ranking(NamedTuple):
    """The answers to a question.

    Attributes:
        best: the best one with a text; None where the context has no token.
        candidates: the n best, no text twice; in SQuAD 2.0 no answer is one of them.
        null_odds: how much better no answer is than the best one; it is not a probability.
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


def rank_examples(
    examples: Iterable[tuple[Example, Sequence[Window]]], rule: SpanRule
) -> Iterator[tuple[Example, Ranking]]:
    """Ranks what was found in the windows of each example of a data set.

    Args:
        examples: each with its `context`, a str, and its windows in order, at least one.
        rule: see `SpanRule`.

    Yields:
        each example with its answers.
    """
    batch: list[tuple[Example, Sequence[Window]]] = []
    windows = 0
    for example in examples:
        batch.append(example)
        windows += len(example[1])
        if windows >= WINDOWS_AT_ONCE:
            yield from _ranked(batch, rule)
            batch, windows = [], 0
    if batch:
        yield from _ranked(batch, rule)


def _ranked(
    batch: Sequence[tuple[Example, Sequence[Window]]], rule: SpanRule
) -> Iterator[tuple[Example, Ranking]]:
    windows = [window for _, of_example in batch for window in of_example]
    found = WindowAnswers(
        *(np.stack([window[name] for window in windows]) for name in WindowAnswers._fields)
    )
    with tf.device("CPU"):  # Most of the ops are on strings, which accelerators do not have.
        ranked = rank_answers(
            tf.constant([example["context"] for example, _ in batch], tf.string),
            np.repeat(np.arange(len(batch)), [len(of_example) for _, of_example in batch]),
            found,
            rule,
        )
    arrays = RankedAnswers(*(tensor.numpy() for tensor in ranked))
    for number, (example, _) in enumerate(batch):
        yield example, _ranking(RankedAnswers(*(array[number] for array in arrays)), rule)


def _ranking(answers: RankedAnswers, rule: SpanRule) -> Ranking:
    """The answers to one question, from its row of each field."""
    texts = [text.decode("utf-8", errors="replace") for text in answers.texts]
    columns = (answers.start_logits, answers.end_logits, answers.probabilities)
    found = [
        Candidate(text, *values)
        for text, *values in zip(texts, *(column.tolist() for column in columns), strict=True)
    ]
    count = int(np.count_nonzero(answers.is_listed))
    candidates = found[:count]
    null = Candidate(
        "",
        float(answers.null_start_logits),
        float(answers.null_end_logits),
        float(answers.null_probabilities),
    )
    has_answer = bool(np.isfinite(answers.start_logits[0]))
    if rule.version_2_with_negative:
        null_score = null.start_logit + null.end_logit
        better = sum(each.start_logit + each.end_logit >= null_score for each in candidates)
        candidates.insert(better, null)
    elif not has_answer:
        candidates = [Candidate("", 0.0, 0.0, 1.0)]
    return Ranking(
        best=found[0] if has_answer else None,
        candidates=candidates,
        null_odds=float(answers.null_odds),
    )
