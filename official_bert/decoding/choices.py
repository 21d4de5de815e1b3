"""Scores of choices, of which some rows of a batch have fewer. B batch, C choices, S sequence."""

from __future__ import annotations

import tensorflow as tf


def choice_logits(logits: tf.Tensor, input_mask: tf.Tensor) -> tf.Tensor:
    """The logits, so low for choices that are only padding that no probability is left for them.

        choice_logits([[1.0, 9.0]], [[[1, 1, 1], [0, 0, 0]]])  # [[1.0, -1.7e38]]

    Args:
        logits: float32 [B, C].
        input_mask: int32 [B, C, S]; all 0 for a choice that is only padding.

    Returns:
        float32 [B, C].
    """
    exists = tf.reduce_any(input_mask != 0, axis=-1)  # [B, C]
    return tf.where(exists, logits, logits.dtype.min / 2)
