"""A matrix product with a bias over the last axis, as one two-dimensional product."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.activations import activation as activation_by_name


def initializer(stddev: float, truncated: bool = True) -> tf_keras.initializers.Initializer:
    """Normal with mean 0, cut at two deviations (google-research/bert) or not; a new one for each
    variable, because two variables that share a Keras initializer would start equal."""
    if truncated:
        return tf_keras.initializers.TruncatedNormal(stddev=stddev)
    return tf_keras.initializers.RandomNormal(stddev=stddev)


def build_child(layer: tf_keras.layers.Layer, input_shape: Any) -> None:
    """Creates the variables of `layer` under its own name, without calling it."""
    if not layer.built:
        with tf.name_scope(layer.name):
            layer.build(input_shape)


class Dense(tf_keras.layers.Layer):
    """activation(x @ kernel + bias); [..., I] -> [..., units].

    Flattens the leading axes: one [tokens, I] x [I, units] product is what a BLAS does best, and
    `tf_keras.layers.Dense` goes through tensordot for the same.

    Args:
        units: width of the output.
        activation: a name known to `layers.activations`, or None.
        initializer_range: standard deviation of the kernel's initial values.
        truncated: whether the initial values are cut at two deviations.
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        initializer_range: float = 0.02,
        truncated: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._units = units
        self._activation = activation
        if activation is not None:
            activation_by_name(activation)  # fails here, not at the first call
        self._initializer_range = initializer_range
        self._truncated = truncated

    def build(self, input_shape: Any) -> None:
        width = input_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=[width, self._units],
            initializer=initializer(self._initializer_range, self._truncated),
        )
        self.bias = self.add_weight(name="bias", shape=[self._units], initializer="zeros")
        super().build(input_shape)

    def call(self, inputs: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        rows = tf.reshape(inputs, [-1, inputs.shape[-1]])  # [tokens, I]
        rows = tf.nn.bias_add(tf.matmul(rows, self.kernel), self.bias)
        if self._activation is not None:
            # Before the reshape: oneDNN fuses an activation into the product right before it.
            rows = activation_by_name(self._activation, training)(rows)
        return with_leading_shape(rows, inputs)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self._units,
            "activation": self._activation,
            "initializer_range": self._initializer_range,
            "truncated": self._truncated,
        }


def with_leading_shape(rows: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """[tokens, O] -> [..., O] with the leading axes of `like`."""
    if like.shape.rank == 2:
        return rows
    leading = like.shape[:-1].as_list()
    if leading.count(None) <= 1:
        sizes = [-1 if size is None else size for size in leading]
        return tf.reshape(rows, [*sizes, *rows.shape[1:].as_list()])
    return tf.reshape(rows, tf.concat([tf.shape(like)[:-1], rows.shape[1:]], axis=0))
