"""States at some positions of each row. B batch, S sequence, P positions, H hidden."""

from __future__ import annotations

import tensorflow as tf


def gather_positions(states: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """The states at some positions of each row; [B, S, H] and int [B, P] -> [B, P, H].

    states [[a, b, c], [d, e, f]] and positions [[2, 0], [1, 1]] give [[c, a], [e, e]].
    """
    shape = tf.shape(states)
    rows = tf.reshape(states, [-1, states.shape[-1]])  # [B * S, H]
    starts = tf.range(shape[0]) * shape[1]
    return tf.gather(rows, tf.cast(positions, tf.int32) + starts[:, None])
