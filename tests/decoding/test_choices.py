"""Scores of choices by hand."""

import math

import numpy as np
import pytest
import tensorflow as tf

from official_bert.decoding.choices import choice_logits


def test_choices_that_are_not_there_get_no_probability():
    mask = tf.constant([[[1, 1], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 1]]])
    logits = choice_logits(tf.constant([[1.0, 2.0, 9.0], [1.0, 2.0, 9.0]]), mask)
    probabilities = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(probabilities[0], [1 / (1 + math.e), math.e / (1 + math.e), 0.0])
    assert probabilities[1, 2] > 0.99
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2], logits)
    assert float(losses[0]) == pytest.approx(math.log(1 + math.exp(-1)))
