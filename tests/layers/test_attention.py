import numpy as np
import pytest
import tensorflow as tf

from official_bert.layers.attention import SelfAttention, attention_bias


def test_bias_of_padding():
    bias = attention_bias(tf.constant([[1, 1, 0], [1, 0, 0]]))
    assert bias.shape == [2, 1, 1, 3]
    np.testing.assert_array_equal(bias[:, 0, 0], np.float32([[0.0, 0.0, -1e9], [0.0, -1e9, -1e9]]))


def test_bias_of_packs_and_of_causal_attention():
    bias = attention_bias(
        tf.constant([[1, 1, 1, 0]]), pack_ids=tf.constant([[1, 1, 2, 0]]), causal=False
    )
    seen = (bias[0, 0].numpy() == 0).astype(int).tolist()
    assert seen == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    bias = attention_bias(tf.constant([[1, 1, 1]]), causal=True)
    assert (bias[0, 0].numpy() == 0).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_closed_form():
    """One head, identity kernels: softmax(x xᵀ / √D) x, by hand in NumPy."""
    layer = SelfAttention(1, dropout=0.0)
    layer.build([None, None, 2])
    for dense in (layer.query, layer.key, layer.value, layer.projection):
        dense.kernel.assign(tf.eye(2))
    x = np.float32([[[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]])
    scores = np.exp(x[0] @ x[0].T / np.sqrt(2.0))
    scores[:, 2] = 0.0  # the third key is masked
    expected = scores / scores.sum(-1, keepdims=True) @ x[0]
    output = layer(x, attention_bias(tf.constant([[1, 1, 0]])))
    np.testing.assert_allclose(output[0], expected, atol=1e-6)


def test_a_wholly_masked_row_attends_to_all_alike():
    layer = SelfAttention(1, dropout=0.0)
    layer.build([None, None, 2])
    for dense in (layer.value, layer.projection):
        dense.kernel.assign(tf.eye(2))
    x = np.float32([[[1.0, 0.0], [0.0, 2.0]]])
    output = layer(x, attention_bias(tf.constant([[0, 0]])))
    np.testing.assert_allclose(output[0], [[0.5, 1.0], [0.5, 1.0]], atol=1e-6)


def test_large_scores_do_not_overflow_in_float16():
    layer = SelfAttention(1, dropout=0.0, dtype="mixed_float16")
    layer.build([None, None, 2])
    for dense in (layer.query, layer.key, layer.value, layer.projection):
        dense.kernel.assign(tf.eye(2))
    x = np.float32([[[100.0, 0.0], [0.0, 100.0]]])
    output = layer(x, attention_bias(tf.constant([[1, 1]])))
    np.testing.assert_allclose(output[0], x[0], atol=1e-2)


def test_a_width_that_the_heads_do_not_divide():
    with pytest.raises(ValueError, match="width 8 is not a multiple of 3 heads"):
        SelfAttention(3).build([None, None, 8])
