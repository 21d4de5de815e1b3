"""Layer normalization (Ba et al. 2016) in float32, with a gradient written out."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.dense import with_leading_shape


def layer_norm(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: float) -> tf.Tensor:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis.

    The statistics are float32 whatever the type of `x`: bfloat16 keeps 8 bits, too few for a
    variance. Automatic differentiation of the formula walks the tensor about twice as often as the
    gradient written out here.

    Args:
        x: [..., H], any float type.
        gamma: float32 [H].
        beta: float32 [H].
        epsilon: added to the variance.

    Returns:
        [..., H] of the type of `x`.
    """

    @tf.custom_gradient
    def normalize(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
        wide = tf.cast(x, tf.float32)
        centered = wide - tf.reduce_mean(wide, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
        inverse = tf.math.rsqrt(variance + epsilon)  # [tokens, 1]
        normal = centered * inverse

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            upstream = tf.cast(upstream, tf.float32)
            product = upstream * normal
            d_gamma = tf.reduce_sum(product, axis=0)
            d_beta = tf.reduce_sum(upstream, axis=0)
            # The means over H of upstream * gamma and of its product with `normal`, as products
            # with a vector: no further tensor of the size of `x` is made for them.
            weights = (gamma / tf.cast(tf.size(gamma), tf.float32))[:, None]  # [H, 1]
            shift, along = tf.matmul(upstream, weights), tf.matmul(product, weights)
            d_x = inverse * (upstream * gamma - shift - normal * along)
            return tf.cast(d_x, x.dtype), d_gamma, d_beta

        return tf.cast(normal * gamma + beta, x.dtype), gradient

    rows = tf.reshape(x, [-1, x.shape[-1]])  # [tokens, H]
    return with_leading_shape(normalize(rows, gamma, beta), x)


class LayerNorm(tf_keras.layers.Layer):
    """Layer normalization over the last axis; [..., H] -> [..., H].

    Args:
        epsilon: added to the variance; 1e-12 in google-research/bert.
    """

    def __init__(self, epsilon: float = 1e-12, **kwargs: Any):
        super().__init__(**kwargs)
        self._epsilon = epsilon

    def build(self, input_shape: Any) -> None:
        shape = [input_shape[-1]]
        # No autocast: both stay float32 under mixed precision.
        self.gamma = self.add_weight(
            name="gamma", shape=shape, initializer="ones", experimental_autocast=False
        )
        self.beta = self.add_weight(
            name="beta", shape=shape, initializer="zeros", experimental_autocast=False
        )
        super().build(input_shape)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return layer_norm(inputs, self.gamma, self.beta, self._epsilon)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self._epsilon}
