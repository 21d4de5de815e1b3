"""Activations by name; GELU with a gradient written out in few passes over memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import tensorflow as tf

from official_bert.config import ACTIVATIONS

_Function = Callable[[tf.Tensor], tf.Tensor]

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_CUBIC = 0.044715


@tf.custom_gradient
def gelu(x: tf.Tensor) -> tf.Tensor:
    """x Φ(x), Φ the distribution function of the standard normal (Hendrycks and Gimpel 2016).

    The derivative is Φ(x) + x φ(x).
    """
    cdf = 0.5 * (1.0 + tf.math.erf(x * _SQRT_HALF))

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        return upstream * (cdf + x * (_INV_SQRT_2PI * tf.exp(-0.5 * tf.square(x))))

    return x * cdf, gradient


@tf.custom_gradient
def gelu_tanh(x: tf.Tensor) -> tf.Tensor:
    """0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), as google-research/bert computes GELU.

    Computed as x σ(2u), u the argument of tanh: the same function in fewer passes. The derivative
    is s + x s (1 - s) 2 u', s = σ(2u).
    """
    a, b = 2.0 * _SQRT_2_OVER_PI, 2.0 * _SQRT_2_OVER_PI * _CUBIC
    squared = tf.square(x)
    s = tf.sigmoid(x * (a + b * squared))

    def gradient(upstream: tf.Tensor) -> tf.Tensor:
        # SigmoidGrad(s, x) is x s (1 - s) in one pass.
        return upstream * (s + tf.raw_ops.SigmoidGrad(y=s, dy=x) * (a + 3.0 * b * squared))

    return x * s, gradient


def _fused_gelu(x: tf.Tensor) -> tf.Tensor:
    """`gelu` without its custom gradient; nothing fuses `tf.nn.gelu`, which computes erfc."""
    return (0.5 * x) * (1.0 + tf.math.erf(x * _SQRT_HALF))


# What is computed in training, and otherwise: sequences of operations that oneDNN fuses into the
# matrix product before them, and that LiteRT has one kernel for.
_BY_NAME: dict[str, tuple[_Function, _Function]] = {
    "gelu": (gelu, _fused_gelu),
    "gelu_tanh": (gelu_tanh, functools.partial(tf.nn.gelu, approximate=True)),
    "relu": (tf.nn.relu, tf.nn.relu),
    "tanh": (tf.tanh, tf.tanh),
}
assert set(_BY_NAME) == set(ACTIVATIONS)


def activation(name: str, training: bool | None = False) -> _Function:
    """The activation called `name` in a `BertConfig`.

    Raises:
        ValueError: no such activation.
    """
    if name not in _BY_NAME:
        raise ValueError(f"activation must be one of {', '.join(_BY_NAME)}, got {name!r}")
    return _BY_NAME[name][0 if training else 1]
