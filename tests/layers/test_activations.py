import math

import numpy as np
import pytest
import tensorflow as tf

from official_bert.layers.activations import activation, gelu, gelu_tanh
from official_bert.layers.normalization import layer_norm

POINTS = np.linspace(-12.0, 12.0, 2401, dtype=np.float32)


def value_and_gradient(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y.numpy(), tape.gradient(y, x).numpy()


def test_gelu_is_x_times_the_normal_distribution():
    x = POINTS.astype(np.float64)
    cdf = np.array([0.5 * math.erfc(-p / math.sqrt(2)) for p in x])
    density = np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)
    value, gradient = value_and_gradient(gelu, POINTS)
    np.testing.assert_allclose(value, x * cdf, atol=1e-6)
    np.testing.assert_allclose(gradient, cdf + x * density, atol=1e-6)


def test_gelu_tanh_is_the_formula_of_google_research():
    x = POINTS.astype(np.float64)
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    value, gradient = value_and_gradient(gelu_tanh, POINTS)
    np.testing.assert_allclose(value, 0.5 * x * (1 + np.tanh(u)), atol=1e-6)
    expected = 0.5 * (1 + np.tanh(u)) + 0.5 * x * (1 - np.tanh(u) ** 2) * slope
    np.testing.assert_allclose(gradient, expected, atol=2e-6)


@pytest.mark.parametrize("function", [gelu, gelu_tanh])
def test_extremes_are_finite(function):
    value, gradient = value_and_gradient(function, np.float32([-1e4, -100.0, 100.0, 1e4]))
    np.testing.assert_array_equal(value, [0.0, 0.0, 100.0, 1e4])
    np.testing.assert_array_equal(gradient, [0.0, 0.0, 1.0, 1.0])


def test_by_name():
    for training in (True, False):
        for name, exact in (("gelu", True), ("gelu_tanh", False)):
            expected = tf.nn.gelu(POINTS, approximate=not exact)
            np.testing.assert_allclose(activation(name, training)(POINTS), expected, atol=2e-6)
    np.testing.assert_array_equal(activation("relu")(tf.constant([-1.0, 2.0])), [0.0, 2.0])
    np.testing.assert_allclose(activation("tanh")(tf.constant([1.0])), [math.tanh(1.0)], atol=1e-6)
    with pytest.raises(ValueError, match="activation must be one of gelu, .*, got 'swish'"):
        activation("swish")


def test_layer_norm_closed_form_and_gradients():
    x = tf.random.stateless_normal([3, 4, 16], [1, 2], stddev=3.0, mean=5.0)
    gamma, beta = tf.linspace(0.5, 2.0, 16), tf.linspace(-1.0, 1.0, 16)

    def plain(x, gamma, beta):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) / tf.sqrt(variance + 1e-3) * gamma + beta

    results = []
    for function in (lambda *a: layer_norm(*a, 1e-3), plain):
        with tf.GradientTape() as tape:
            tape.watch([x, gamma, beta])
            y = function(x, gamma, beta)
            loss = tf.reduce_sum(y * tf.random.stateless_normal(y.shape, [3, 4]))
        results.append([y, *tape.gradient(loss, [x, gamma, beta])])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_layer_norm_of_a_constant_row_is_beta():
    """The variance is 0 and epsilon 1e-12: no division by zero, in value and gradient."""
    x = tf.fill([2, 8], 7.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer_norm(x, tf.ones([8]), tf.fill([8], 0.25), 1e-12)
        loss = tf.reduce_sum(y)
    np.testing.assert_array_equal(y, np.full([2, 8], 0.25))
    assert np.isfinite(tape.gradient(loss, x)).all()


def test_layer_norm_statistics_are_float32_in_bfloat16():
    """1,000 plus noise of 4: bfloat16 cannot hold the squares, nor the mean's last digits."""
    x = tf.cast(1000.0 + 4.0 * tf.round(tf.random.stateless_normal([4, 256], [1, 2])), tf.bfloat16)
    y = layer_norm(x, tf.ones([256]), tf.zeros([256]), 1e-12)
    assert y.dtype == tf.bfloat16
    wide = tf.cast(x, tf.float64).numpy()
    expected = (wide - wide.mean(-1, keepdims=True)) / wide.std(-1, keepdims=True)
    np.testing.assert_allclose(tf.cast(y, tf.float32), expected, atol=0.02)
