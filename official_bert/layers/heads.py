"""The masked-LM head, which predicts masked tokens in pretraining.

B batch, P predictions, H hidden, E embedding width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.dense import Dense, build_child
from official_bert.layers.normalization import LayerNorm


class MaskedLMHead(tf_keras.layers.Layer):
    """Dense, activation, layer norm, product with the word embeddings, bias (section 3.1, task 1).

    Args:
        vocab_size: V.
        embedding_size: width of the word embeddings, E, which is also that of the dense layer.
        activation: a name known to `layers.activations`.
        initializer_range: standard deviation of the kernel's initial values.
        layer_norm_eps: added to the variance in the layer norm.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        activation: str = "gelu",
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "embedding_size": embedding_size,
            "activation": activation,
            "initializer_range": initializer_range,
            "layer_norm_eps": layer_norm_eps,
        }
        self.transform = Dense(
            embedding_size, activation, initializer_range, name="transform", dtype=self.dtype_policy
        )
        self.layer_norm = LayerNorm(layer_norm_eps, name="layer_norm", dtype=self.dtype_policy)

    def build(self, input_shape: Any) -> None:
        build_child(self.transform, input_shape)
        build_child(self.layer_norm, [None, self._settings["embedding_size"]])
        self.output_bias = self.add_weight(
            name="output_bias",
            shape=[self._settings["vocab_size"]],
            initializer="zeros",
            experimental_autocast=False,
        )
        super().build(input_shape)

    def call(self, states: tf.Tensor, word_embeddings: tf.Tensor) -> tf.Tensor:
        """[B, P, H] and the tied word embeddings [V, E] -> float32 logits [B, P, V]."""
        table = tf.cast(word_embeddings, self.compute_dtype)
        transformed = self.layer_norm(self.transform(states))  # [B, P, E]
        rows = tf.reshape(transformed, [-1, transformed.shape[-1]])  # [B * P, E]
        logits = tf.cast(tf.matmul(rows, table, transpose_b=True), tf.float32) + self.output_bias
        return tf.reshape(logits, [-1, tf.shape(states)[1], logits.shape[-1]])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
