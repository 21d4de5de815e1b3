"""Hand-encoded records against TensorFlow's own reader and writer."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining.record_encoding import Column, encode_examples


def test_records_parse_to_what_was_given():
    rng = np.random.default_rng(0)
    lengths = np.array([0, 1, 5, 300, 20_000])
    # All widths of a varint, and their borders.
    values = rng.choice([0, 1, 127, 128, 16_383, 16_384, 2**21 - 1], lengths.sum())
    floats = rng.random(10).astype(np.float32)
    columns = [
        Column("input_ids", values, lengths),
        Column("masked_lm_weights", floats, np.array([3, 0, 4, 1, 2])),
        Column("input_mask", np.ones(5, bool), np.ones(5, np.int64)),
    ]
    parsed = tf.io.parse_example(
        encode_examples(columns),
        {
            "input_ids": tf.io.RaggedFeature(tf.int64),
            "masked_lm_weights": tf.io.RaggedFeature(tf.float32),
            "input_mask": tf.io.FixedLenFeature([1], tf.int64),
        },
    )
    np.testing.assert_array_equal(parsed["input_ids"].row_lengths(), lengths)
    np.testing.assert_array_equal(parsed["input_ids"].values, values)
    np.testing.assert_array_equal(parsed["masked_lm_weights"].row_lengths(), [3, 0, 4, 1, 2])
    np.testing.assert_array_equal(parsed["masked_lm_weights"].values, floats)
    np.testing.assert_array_equal(parsed["input_mask"], np.ones((5, 1)))


def test_bytes_are_those_of_protobuf():
    columns = [
        Column("a", np.array([5, 300, 70_000]), np.array([3])),
        Column("b", np.array([0.5, 1.0]), np.array([2])),
    ]
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([5, 300, 70_000])
    example.features.feature["b"].float_list.value.extend([0.5, 1.0])
    assert encode_examples(columns) == [example.SerializeToString(deterministic=True)]


@pytest.mark.parametrize("size", [1, 2, 43, 44, 45, 100, 5000])
def test_lengths_around_the_borders_of_their_own_varints(size):
    record = encode_examples([Column("x", np.full(size, 3), np.array([size]))])[0]
    example = tf.train.Example.FromString(record)
    assert list(example.features.feature["x"].int64_list.value) == [3] * size
