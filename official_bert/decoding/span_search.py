"""The best answers in windows, in TensorFlow ops: for evaluation, prediction and export alike.

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
        n_best_size: how many answers of a question are told apart.
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


class Spans(NamedTuple):
    """The best spans of each window, best first; [W, K] each.

    Attributes:
        starts, ends: int32, first and last token in the window; -1 where there are fewer than K.
        start_logits, end_logits: float32; -inf where there are fewer than K.
    """

    starts: tf.Tensor
    ends: tf.Tensor
    start_logits: tf.Tensor
    end_logits: tf.Tensor


def best_spans(
    logits: Mapping[str, tf.Tensor],
    in_context: tf.Tensor,
    is_max_context: tf.Tensor,
    rule: SpanRule,
) -> Spans:
    """The spans with the highest sum of start and end logit, all looked at.

    A span lies in the context, starts where the token has most context in this window (so that no
    span is found in two windows) and has at most `max_answer_length` tokens.

    Args:
        logits: `start_logits` and `end_logits`, float32 [W, S].
        in_context: bool [W, S], tokens of the context.
        is_max_context: bool [W, S], see `text.windows.Windows`.
        rule: which spans may be an answer.
    """
    start = tf.where(in_context & is_max_context, logits["start_logits"], _NEVER)  # [W, S]
    end = tf.where(in_context, logits["end_logits"], _NEVER)  # [W, S]
    length, width = rule.max_answer_length, tf.shape(start)[1]
    behind = tf.pad(end, [[0, 0], [0, length - 1]], constant_values=_NEVER)
    ends = tf.stack([behind[:, i : i + width] for i in range(length)], axis=2)  # [W, S, L]
    sums = start[:, :, tf.newaxis] + ends
    flat = tf.reshape(sums, [tf.shape(start)[0], width * length])
    # So that there are K of them in the shortest windows too.
    flat = tf.pad(flat, [[0, 0], [0, rule.candidates]], constant_values=_NEVER)
    best = tf.math.top_k(flat, rule.candidates)  # [W, K]
    is_span = best.values > _NEVER
    first = tf.where(is_span, best.indices // length, 0)
    last = tf.where(is_span, first + best.indices % length, 0)
    return Spans(
        starts=tf.where(is_span, first, -1),
        ends=tf.where(is_span, last, -1),
        start_logits=tf.where(is_span, tf.gather(start, first, batch_dims=1), _NEVER),
        end_logits=tf.where(is_span, tf.gather(end, last, batch_dims=1), _NEVER),
    )
