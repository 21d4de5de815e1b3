"""Dropout whose random numbers are a function of a given seed, so that a run can be repeated."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import tf_keras


class _SeedStream:
    """Gives each dropout call within one step a seed of its own, in the order of the calls."""

    def __init__(self, seed: tf.Tensor):
        self._seed = seed
        self._calls = 0

    def next_seed(self) -> tf.Tensor:
        self._calls += 1
        return tf.random.experimental.stateless_fold_in(self._seed, self._calls)


_stream: contextvars.ContextVar[_SeedStream | None] = contextvars.ContextVar(
    "dropout_seed_stream", default=None
)


@contextlib.contextmanager
def dropout_seed(seed: tf.Tensor) -> Iterator[None]:
    """Within the block, every `Dropout` draws from the stream that `seed` starts.

    A training step that passes (run seed, step) gets the same masks whenever that step is run, in
    this process or in one that resumes from a checkpoint.

    Args:
        seed: int32 or int64 [2].
    """
    token = _stream.set(_SeedStream(seed))
    try:
        yield
    finally:
        _stream.reset(token)


def _next_seed() -> tf.Tensor:
    """The seed of the next mask: from the block, or else from TensorFlow's global generator."""
    stream = _stream.get()
    if stream is not None:
        return stream.next_seed()
    return tf.random.uniform([2], maxval=tf.int32.max, dtype=tf.int32)


class Dropout(tf_keras.layers.Layer):
    """Sets a share `rate` of the inputs to 0 and scales the others by 1 / (1 - rate).

    Only when called with `training=True`. Outside a `dropout_seed` block the masks come from
    TensorFlow's global generator, as those of `tf_keras.layers.Dropout`.
    """

    def __init__(self, rate: float, **kwargs: Any):
        super().__init__(**kwargs)
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"dropout rate must be in [0, 1), got {rate}")
        self._rate = rate

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        if not training or self._rate == 0.0:
            return inputs
        # Four 16-bit draws from each 64-bit word: a third of the time of one float for each input.
        # The share is the nearest multiple of 2^-16, and the scale is exact for that share.
        threshold = min(round(self._rate * 2**16), 2**16 - 1)
        size = tf.size(inputs)
        words = tf.random.stateless_uniform(
            [(size + 3) // 4], _next_seed(), minval=None, maxval=None, dtype=tf.uint64
        )
        draws = tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:size]
        kept = tf.reshape(draws, tf.shape(inputs)) >= tf.constant(threshold, tf.uint16)
        return inputs * (tf.cast(kept, inputs.dtype) * (2**16 / (2**16 - threshold)))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self._rate}
