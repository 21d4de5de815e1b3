"""Multi-head self-attention (Vaswani et al. 2017, section 3.2) and its mask.

B batch, S sequence, P positions, H hidden, N heads, D = H / N head width.
"""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.dense import Dense, build_child
from official_bert.layers.dropout import Dropout
from official_bert.layers.positions import gather_positions

# exp(-1e9) is exactly 0 in float32, and a row in which every key is masked stays finite: all its
# scores round to -1e9 and it attends to everything alike.
_MASKED = -1e9


def attention_bias(
    input_mask: tf.Tensor, pack_ids: tf.Tensor | None = None, causal: bool = False
) -> tf.Tensor:
    """What is added to the scores so that a query attends only to the keys it may attend to.

    With input_mask [[1, 1, 0]] the bias is [[[[0, 0, -1e9]]]]: no query attends to the third key.

    Args:
        input_mask: int [B, S], 1 for a token and 0 for padding.
        pack_ids: int [B, S], the packed sequence of a token; a query attends to its own only.
        causal: whether a query attends to no key to its right.

    Returns:
        float32 [B, 1, 1, S], or [B, 1, S, S] with `pack_ids` or `causal`.
    """
    allowed = tf.not_equal(input_mask, 0)[:, None, None, :]  # [B, 1, 1, S]
    if pack_ids is not None:
        same = tf.equal(pack_ids[:, :, None], pack_ids[:, None, :])  # [B, S, S]
        allowed = tf.logical_and(allowed, same[:, None, :, :])
    if causal:
        positions = tf.range(tf.shape(input_mask)[1])
        allowed = tf.logical_and(allowed, positions[:, None] >= positions[None, :])
    return _MASKED * tf.cast(tf.logical_not(allowed), tf.float32)


class SelfAttention(tf_keras.layers.Layer):
    """softmax(Q Kᵀ / √D + bias) V for each head, then a projection; [B, S, H] -> [B, S, H].

    Args:
        num_heads: N.
        dropout: rate of the dropout of the attention probabilities.
        initializer_range: standard deviation of the kernels' initial values.
    """

    def __init__(
        self, num_heads: int, dropout: float = 0.1, initializer_range: float = 0.02, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self._num_heads = num_heads
        self._dropout_rate = dropout
        self._initializer_range = initializer_range

    def build(self, input_shape: Any) -> None:
        width = input_shape[-1]
        if width % self._num_heads:
            raise ValueError(f"width {width} is not a multiple of {self._num_heads} heads")

        # Three products: with the kernels joined into one, training is no faster, and the copy of
        # the kernels is a third of the time of answering a short text.
        self.query = Dense(
            width, initializer_range=self._initializer_range, name="query", dtype=self.dtype_policy
        )
        self.key = Dense(
            width, initializer_range=self._initializer_range, name="key", dtype=self.dtype_policy
        )
        self.value = Dense(
            width, initializer_range=self._initializer_range, name="value", dtype=self.dtype_policy
        )
        self.projection = Dense(
            width, initializer_range=self._initializer_range, name="output", dtype=self.dtype_policy
        )
        for layer in (self.query, self.key, self.value, self.projection):
            build_child(layer, input_shape)
        self.dropout = Dropout(self._dropout_rate, name="dropout", dtype=self.dtype_policy)
        super().build(input_shape)

    def call(
        self,
        inputs: tf.Tensor,
        bias: tf.Tensor,
        positions: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        """Attention of all positions to all of a row, or of some positions only.

        Args:
            inputs: [B, S, H].
            bias: from `attention_bias`.
            positions: int [B, P].

        Returns:
            [B, S, H], or [B, P, H] with `positions`.
        """
        queries = inputs
        if positions is not None:
            queries = gather_positions(inputs, positions)
            if bias.shape[2] != 1:
                bias = tf.gather(bias[:, 0], positions, batch_dims=1)[:, None]  # [B, 1, P, S]
        query = self._by_head(self.query(queries))
        key, value = self._by_head(self.key(inputs)), self._by_head(self.value(inputs))

        query = query * (1.0 / math.sqrt(query.shape[-1]))
        scores = tf.matmul(query, key, transpose_b=True)  # [B, N, S, S]
        probabilities = tf.nn.softmax(tf.cast(scores, tf.float32) + bias)
        probabilities = self.dropout(tf.cast(probabilities, value.dtype), training=training)
        context = tf.matmul(probabilities, value)  # [B, N, S, D]
        context = tf.reshape(tf.transpose(context, [0, 2, 1, 3]), tf.shape(queries))  # [B, S, H]
        context.set_shape(queries.shape)
        return self.projection(context)

    def _by_head(self, states: tf.Tensor) -> tf.Tensor:
        """[B, S, H] -> [B, N, S, D]."""
        width, length = states.shape[-1] // self._num_heads, tf.shape(states)[1]
        states = tf.reshape(states, [-1, length, self._num_heads, width])
        return tf.transpose(states, [0, 2, 1, 3])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self._num_heads,
            "dropout": self._dropout_rate,
            "initializer_range": self._initializer_range,
        }
