"""A function of many rows, in blocks."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from official_bert.decoding.blocks import in_blocks


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, [0]), (1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3]), (7, [3, 3, 1])],
)
def test_blocks_of_three(count, sizes, in_graph):
    def function(rows):
        size = tf.shape(rows["a"])[0]
        return rows["a"] * 10, (rows["b"] + 0.5, tf.repeat(size, size))

    signature = (
        tf.TensorSpec([None], tf.int32),
        (tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None], tf.int32)),
    )

    def compute(a, b):
        return in_blocks(function, {"a": a, "b": b}, 3, signature)

    a = tf.range(count)
    b = tf.cast(tf.stack([a, -a], axis=1), tf.float32)
    times_ten, (plus_half, size_of_block) = (tf.function(compute) if in_graph else compute)(a, b)
    assert times_ten.numpy().tolist() == [10 * number for number in range(count)]
    assert plus_half.numpy().tolist() == [[n + 0.5, 0.5 - n] for n in range(count)]
    np.testing.assert_array_equal(size_of_block, np.repeat(sizes, sizes))


def test_results_of_one_tensor_have_its_shape():
    signature = tf.TensorSpec([None, 4], tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.int64)])
    def doubled(rows):
        result = in_blocks(lambda block: block + block, rows, 2, signature)
        assert result.shape.as_list() == [None, 4]
        return result

    rows = np.arange(20).reshape(5, 4)
    np.testing.assert_array_equal(doubled(rows), 2 * rows)
