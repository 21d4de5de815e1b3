"""A tiny config and inputs, shared by the tests of the models."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from official_bert.config import BertConfig

TINY = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=24,
    initializer_range=0.3,
)


def inputs(*lengths: int, width: int | None = None, seed: int = 0) -> dict[str, tf.Tensor]:
    """Random ids in rows of these lengths, padded to `width` (the longest by default)."""
    rng = np.random.default_rng(seed)
    width = width or max(lengths)
    mask = (np.arange(width) < np.array(lengths)[:, None]).astype(np.int32)
    return {
        "input_word_ids": tf.constant(rng.integers(1, 50, mask.shape) * mask, tf.int32),
        "input_mask": tf.constant(mask),
        "input_type_ids": tf.constant(rng.integers(0, 2, mask.shape) * mask, tf.int32),
    }
