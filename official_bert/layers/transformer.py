"""One post-layer-norm transformer layer (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.attention import SelfAttention
from official_bert.layers.dense import Dense, build_child
from official_bert.layers.dropout import Dropout
from official_bert.layers.normalization import LayerNorm
from official_bert.layers.positions import gather_positions


class TransformerLayer(tf_keras.layers.Layer):
    """Self-attention, then a feed-forward network, each with dropout, residual and layer norm.

        x = layer_norm(x + dropout(attention(x)))
        x = layer_norm(x + dropout(output(activation(intermediate(x)))))

    Args:
        num_heads: attention heads, N.
        intermediate_size: width of the feed-forward network.
        activation: its activation, a name known to `layers.activations`.
        dropout: rate of the dropout before each residual.
        attention_dropout: rate of the dropout of the attention probabilities.
        initializer_range: standard deviation of the kernels' initial values.
        layer_norm_eps: added to the variance in the layer norms.
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_size: int,
        activation: str = "gelu",
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._settings: dict[str, Any] = {
            "num_heads": num_heads,
            "intermediate_size": intermediate_size,
            "activation": activation,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "initializer_range": initializer_range,
            "layer_norm_eps": layer_norm_eps,
        }
        self.attention = SelfAttention(
            num_heads,
            attention_dropout,
            initializer_range,
            name="attention",
            dtype=self.dtype_policy,
        )
        self.attention_layer_norm = LayerNorm(
            layer_norm_eps, name="attention_layer_norm", dtype=self.dtype_policy
        )
        self.intermediate = Dense(
            intermediate_size,
            activation,
            initializer_range,
            name="intermediate",
            dtype=self.dtype_policy,
        )
        self.attention_dropout = Dropout(dropout, name="attention_dropout", dtype=self.dtype_policy)
        self.output_dropout = Dropout(dropout, name="output_dropout", dtype=self.dtype_policy)

    def build(self, input_shape: Any) -> None:
        width = input_shape[-1]
        self.output_dense = Dense(
            width,
            initializer_range=self._settings["initializer_range"],
            name="output",
            dtype=self.dtype_policy,
        )
        self.output_layer_norm = LayerNorm(
            self._settings["layer_norm_eps"], name="output_layer_norm", dtype=self.dtype_policy
        )
        build_child(self.attention, input_shape)
        build_child(self.attention_layer_norm, input_shape)
        build_child(self.intermediate, input_shape)
        build_child(self.output_dense, [None, self._settings["intermediate_size"]])
        build_child(self.output_layer_norm, input_shape)
        super().build(input_shape)

    def call(
        self,
        inputs: tf.Tensor,
        bias: tf.Tensor,
        positions: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        """[B, S, H] and the attention bias [B, 1, 1 or S, S] -> [B, S, H].

        With `positions`, int [B, P], the states of those alone are computed: [B, P, H].
        """
        attended = self.attention(inputs, bias, positions, training=training)
        attended = self.attention_dropout(attended, training=training)
        if positions is not None:
            inputs = gather_positions(inputs, positions)
        attended = self.attention_layer_norm(inputs + attended)
        outputs = self.output_dense(self.intermediate(attended, training=training))
        outputs = self.output_dropout(outputs, training=training)
        return self.output_layer_norm(attended + outputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
