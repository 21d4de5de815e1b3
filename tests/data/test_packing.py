"""Several records in a row."""

import numpy as np
import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.data.packing import pack_batch
from official_bert.models.classifier import BertClassifier


def _batch(*rows):
    width = max(map(len, rows))
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int32)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int32)
    return {
        "input_word_ids": tf.constant(ids),
        "input_mask": tf.constant(mask),
        "input_type_ids": tf.constant(mask * (ids % 2)),
        "label_ids": tf.range(10, 10 + len(rows))[:, tf.newaxis],
    }


def test_two_short_records_share_a_row():
    packed = pack_batch(_batch([2, 7, 3], [2, 8, 9, 9, 9, 3], [2, 3]))
    expected = {
        # The longest is put first.
        "input_word_ids": [[2, 8, 9, 9, 9, 3], [2, 7, 3, 2, 3, 0]],
        "input_mask": [[1] * 6, [1, 1, 1, 1, 1, 0]],
        "input_type_ids": [[0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0]],
        "position_ids": [[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 0]],
        "pack_ids": [[1] * 6, [1, 1, 1, 2, 2, 0]],
        "cls_positions": [[0, 0], [0, 3]],
        "record_weights": [[1.0, 0.0], [1.0, 1.0]],
        "label_ids": [[[11], [0]], [[10], [12]]],
    }
    assert set(packed) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(packed[name], values, err_msg=name)


def test_a_row_is_longer_than_the_longest_record_where_less_of_it_stays_empty():
    # Three rows of 6 have 18 positions, two of 8 only 16.
    packed = pack_batch(_batch([2] * 6, [2] * 5, [2] * 3, [2] * 2))
    np.testing.assert_array_equal(packed["pack_ids"], [[1] * 6 + [2] * 2, [1] * 5 + [2] * 3])


def test_a_row_is_never_longer_than_half_as_much_again_as_the_longest_record():
    packed = pack_batch(_batch(*[[2] * 10] * 6))
    assert packed["input_mask"].shape == [6, 10]


def test_features_of_tokens_go_with_them():
    batch = _batch([2, 7, 8, 3], [2, 3], [2, 3])
    batch["word_ids"] = tf.constant([[-1, 0, 1, -1], [5, 6, 0, 0], [8, 9, 0, 0]])
    packed = pack_batch(batch, ["word_ids"])
    np.testing.assert_array_equal(packed["word_ids"], [[-1, 0, 1, -1], [5, 6, 8, 9]])
    np.testing.assert_array_equal(packed["pack_ids"], [[1, 1, 1, 1], [1, 1, 2, 2]])


def test_a_classifier_sees_a_packed_record_as_it_sees_it_alone():
    config = BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        initializer_range=0.3,
    )
    tf.random.set_seed(1)
    model = BertClassifier(config, 3)
    random = np.random.default_rng(5)
    rows = [list(random.integers(5, 30, length)) for length in (4, 9, 3, 12, 7, 5)]
    batch = _batch(*rows)
    names = ("input_word_ids", "input_mask", "input_type_ids")
    alone = model({name: batch[name] for name in names}, training=False)
    packed = pack_batch(batch)
    assert packed["input_word_ids"].shape[0] < len(rows)
    inputs = (*names, "position_ids", "pack_ids", "cls_positions")
    logits = model({name: packed[name] for name in inputs}, training=False)  # [R, N, 3]
    is_there = packed["record_weights"] > 0
    order = tf.boolean_mask(packed["label_ids"][..., 0], is_there) - 10
    np.testing.assert_allclose(
        tf.boolean_mask(logits, is_there), tf.gather(alone, order), atol=1e-5
    )
