"""The best answer spans of each window, in TensorFlow ops: for evaluation and serving alike.

W windows, S sequence, K candidates of a window.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from official_bert.errors import InputError

_NEVER = float("-inf")


@dataclasses.dataclass(frozen=True)
class SpanRule:
    """Which spans may be an answer (Devlin et al. 2019, section 4.2; run_squad.py's defaults).

    Attributes:
        max_answer_length: most tokens of an answer.
        n_best_size: the most answers that are listed for a question.
        version_2_with_negative: whether a question may have no answer.
    """

    max_answer_length: int = 30
    n_best_size: int = 20
    version_2_with_negative: bool = False

    def __post_init__(self) -> None:
        """Raises InputError naming the field, its value and what it may be."""
        for name in ("max_answer_length", "n_best_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least 1")

    @property
    def candidates(self) -> int:
        """K: twice `n_best_size`, because spans of the same text count once."""
        return 2 * self.n_best_size


class TokenSpans(NamedTuple):
    """The best spans of each window, best first; [W, K] each.

    Attributes:
        starts, ends: int32, tokens [start, end) of the window; -1 where there are fewer than K.
        start_logits, end_logits: float32; -inf where there are fewer than K.
    """

    starts: tf.Tensor
    ends: tf.Tensor
    start_logits: tf.Tensor
    end_logits: tf.Tensor


class ContextTokens(NamedTuple):
    """Where the tokens of windows are in their contexts; [W, S] each.

    Attributes:
        starts, ends: int32, bytes [start, end) of the context; -1 outside of the context.
        is_max_context: bool, see `text.windows.Windows`.
    """

    starts: tf.Tensor
    ends: tf.Tensor
    is_max_context: tf.Tensor


class WindowAnswers(NamedTuple):
    """The candidate answers of each window, best first, and its scores of no answer.

    Attributes:
        starts, ends: int32 [W, K], bytes [start, end) of the context; anything where there are
            fewer.
        start_logits, end_logits: float32 [W, K]; -inf where there are fewer.
        null_start_logits, null_end_logits: float32 [W], those of [CLS].
    """

    starts: tf.Tensor
    ends: tf.Tensor
    start_logits: tf.Tensor
    end_logits: tf.Tensor
    null_start_logits: tf.Tensor
    null_end_logits: tf.Tensor

    @classmethod
    def signature(cls, rule: SpanRule) -> WindowAnswers:
        """The `tf.TensorSpec` of each field, for any number of windows."""
        by_candidate = [None, rule.candidates]
        return cls(
            starts=tf.TensorSpec(by_candidate, tf.int32),
            ends=tf.TensorSpec(by_candidate, tf.int32),
            start_logits=tf.TensorSpec(by_candidate, tf.float32),
            end_logits=tf.TensorSpec(by_candidate, tf.float32),
            null_start_logits=tf.TensorSpec([None], tf.float32),
            null_end_logits=tf.TensorSpec([None], tf.float32),
        )


def window_answers(
    logits: Mapping[str, tf.Tensor], tokens: ContextTokens, rule: SpanRule
) -> WindowAnswers:
    """The candidate answers of windows as bytes of their contexts.

    Args:
        logits: `start_logits` and `end_logits`, float32 [W, S].
        tokens: where the tokens are.
        rule: which spans may be an answer.
    """
    spans = best_spans(logits, tokens.starts >= 0, tokens.is_max_context, rule)
    first, last = tf.maximum(spans.starts, 0), tf.maximum(spans.ends - 1, 0)
    return WindowAnswers(
        starts=tf.gather(tokens.starts, first, batch_dims=1),
        ends=tf.gather(tokens.ends, last, batch_dims=1),
        start_logits=spans.start_logits,
        end_logits=spans.end_logits,
        null_start_logits=logits["start_logits"][:, 0],
        null_end_logits=logits["end_logits"][:, 0],
    )


def best_spans(
    logits: Mapping[str, tf.Tensor],
    in_context: tf.Tensor,
    is_max_context: tf.Tensor,
    rule: SpanRule,
) -> TokenSpans:
    """The spans with the highest sum of start and end logit, found by looking at all of them.

    A span lies in the context, starts where the token has most context in this window (so that no
    span is found in two windows) and has at most `max_answer_length` tokens.

    Args:
        logits: `start_logits` of first tokens and `end_logits` of last tokens, float32 [W, S].
        in_context: bool [W, S], tokens of the context.
        is_max_context: bool [W, S], see `text.windows.Windows`.
        rule: which spans may be an answer.
    """
    start = tf.where(in_context & is_max_context, logits["start_logits"], _NEVER)  # [W, S]
    end = tf.where(in_context, logits["end_logits"], _NEVER)  # [W, S]
    length, width = rule.max_answer_length, tf.shape(start)[1]
    padded = tf.pad(end, [[0, 0], [0, length - 1]], constant_values=_NEVER)
    last = tf.stack([padded[:, i : i + width] for i in range(length)], axis=2)  # [W, S, L]
    sums = start[:, :, tf.newaxis] + last
    flat = tf.reshape(sums, [tf.shape(start)[0], width * length])
    # So that there are K of them in the shortest windows too.
    flat = tf.pad(flat, [[0, 0], [0, rule.candidates]], constant_values=_NEVER)
    best = tf.math.top_k(flat, rule.candidates)  # [W, K]
    is_span = best.values > _NEVER
    first_tokens = tf.where(is_span, best.indices // length, 0)
    last_tokens = tf.where(is_span, first_tokens + best.indices % length, 0)
    return TokenSpans(
        starts=tf.where(is_span, first_tokens, -1),
        ends=tf.where(is_span, last_tokens + 1, -1),
        start_logits=tf.where(is_span, tf.gather(start, first_tokens, batch_dims=1), _NEVER),
        end_logits=tf.where(is_span, tf.gather(end, last_tokens, batch_dims=1), _NEVER),
    )
