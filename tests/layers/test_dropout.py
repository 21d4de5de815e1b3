import numpy as np
import tensorflow as tf

from official_bert.layers.dropout import Dropout, dropout_seed


def _apply(rate, seed, inputs=None):
    inputs = tf.ones([400, 500]) if inputs is None else inputs
    layer = Dropout(rate)
    with dropout_seed(tf.constant(seed)):
        return layer(inputs, training=True).numpy(), layer(inputs, training=True).numpy()


def test_keeps_the_expected_share_and_the_mean():
    output, _ = _apply(0.1, [1, 2])
    # The share is a multiple of 2^-16: 6554 / 65536 for 0.1.
    assert set(np.unique(output)) == {np.float32(0.0), np.float32(65536 / (65536 - 6554))}
    # 200,000 draws: the standard error of the share is 0.0007.
    assert abs((output == 0).mean() - 0.1) < 0.004
    assert abs(output.mean() - 1.0) < 0.004


def test_same_seed_same_masks_other_seed_or_call_others():
    first, second = _apply(0.5, [1, 2])
    again, _ = _apply(0.5, [1, 2])
    other, _ = _apply(0.5, [1, 3])
    np.testing.assert_array_equal(first, again)
    # Independent masks at rate 0.5 agree on half of the elements.
    assert abs((first == second).mean() - 0.5) < 0.01
    assert abs((first == other).mean() - 0.5) < 0.01


def test_does_nothing_outside_training_and_at_rate_zero():
    inputs = tf.constant([[1.0, 2.0]])
    np.testing.assert_array_equal(Dropout(0.5)(inputs).numpy(), [[1.0, 2.0]])
    np.testing.assert_array_equal(Dropout(0.0)(inputs, training=True).numpy(), [[1.0, 2.0]])


def test_masks_are_the_same_in_bfloat16():
    single, _ = _apply(0.3, [5, 6])
    half, _ = _apply(0.3, [5, 6], tf.ones([400, 500], tf.bfloat16))
    np.testing.assert_array_equal(single == 0, half == 0)
