import numpy as np
import tensorflow as tf

from official_bert.layers.positions import gather_positions


def test_gather_positions():
    states = tf.constant([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    gathered = gather_positions(states, tf.constant([[2, 0], [1, 1]]))
    np.testing.assert_array_equal(gathered, [[[3.0], [1.0]], [[5.0], [5.0]]])
    gathered = gather_positions(states, tf.constant([[2], [0]], tf.int64))
    np.testing.assert_array_equal(gathered, [[[3.0]], [[4.0]]])


def test_gradient_goes_to_the_gathered_positions_only():
    states = tf.zeros([2, 3, 1])
    with tf.GradientTape() as tape:
        tape.watch(states)
        loss = tf.reduce_sum(gather_positions(states, tf.constant([[2, 2], [0, 1]])))
    gradient = tf.convert_to_tensor(tape.gradient(loss, states))
    np.testing.assert_array_equal(gradient[..., 0], [[0.0, 0.0, 2.0], [1.0, 1.0, 0.0]])
