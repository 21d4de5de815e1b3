"""Masks made while reading: the same as static ones in kind, new each epoch, reproducible."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from official_bert.data import dynamic_masking
from official_bert.text import Vocab
from official_bert.text.masking import MaskingRule

VOCAB = Vocab(
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"{'##' * (i % 2)}w{i}" for i in range(200))]
)
PAD, CLS, SEP, MASK = 0, 2, 3, 4


def _row(length: int, first: int = 5) -> list[int]:
    return [CLS, *range(first, first + length - 2), SEP]


def _batch(rows: list[list[int]]) -> dict[str, tf.Tensor]:
    ids = tf.ragged.constant(rows, dtype=tf.int32).to_tensor()
    return {"input_word_ids": ids, "input_mask": tf.cast(ids != PAD, tf.int32)}


def _restored(batch: dict[str, tf.Tensor]) -> np.ndarray:
    ids = batch["input_word_ids"].numpy().copy()
    row, slot = np.nonzero(batch["masked_lm_weights"].numpy())
    positions = batch["masked_lm_positions"].numpy()[row, slot]
    ids[row, positions] = batch["masked_lm_ids"].numpy()[row, slot]
    return ids


def _numbers(*numbers: int) -> tf.Tensor:
    return tf.constant(numbers, tf.int64)


def test_masks_are_counted_and_restorable():
    batch = _batch([_row(40), _row(10)])
    mask = dynamic_masking.make_masker(MaskingRule(), VOCAB, seed=1, max_predictions=20)
    masked = mask(batch, _numbers(0, 1))
    assert masked["masked_lm_weights"].numpy().sum(axis=1).tolist() == [6, 2]
    np.testing.assert_array_equal(_restored(masked), batch["input_word_ids"])
    assert (masked["input_word_ids"].numpy() != batch["input_word_ids"].numpy()).any()
    assert masked["input_word_ids"].numpy()[1, 10:].tolist() == [PAD] * 30
    assert masked["input_mask"] is batch["input_mask"]


def test_a_function_of_seed_and_number_alone():
    rows = [_row(40), _row(30, 50), _row(20, 90)]
    mask = dynamic_masking.make_masker(MaskingRule(), VOCAB, seed=1, max_predictions=20)
    together = mask(_batch(rows), _numbers(7, 8, 9))
    alone = mask(_batch(rows[1:2]), _numbers(8))
    np.testing.assert_array_equal(together["input_word_ids"][1, :30], alone["input_word_ids"][0])
    other = dynamic_masking.make_masker(MaskingRule(), VOCAB, seed=2, max_predictions=20)
    for changed in (
        mask(_batch(rows), _numbers(10, 11, 12)),
        other(_batch(rows), _numbers(7, 8, 9)),
    ):
        same = together["masked_lm_positions"] == changed["masked_lm_positions"]
        assert not tf.reduce_all(same, axis=1).numpy().any()


def test_packed_instances_are_masked_one_by_one():
    lengths = [12, 20, 7]
    row = [token for i, n in enumerate(lengths) for token in _row(n, 5 + 40 * i)]
    batch = {
        **_batch([row, row]),
        "pack_ids": tf.constant([np.repeat([1, 2, 3], lengths)] * 2, tf.int32),
        "position_ids": tf.constant(
            [np.concatenate([np.arange(n) for n in lengths])] * 2, tf.int32
        ),
    }
    mask = dynamic_masking.make_masker(MaskingRule(), VOCAB, seed=1, max_predictions=9)
    masked = mask(batch, _numbers(3, 4))
    np.testing.assert_array_equal(_restored(masked), batch["input_word_ids"])
    borders = np.cumsum([0, *lengths])
    for positions, weights in zip(
        masked["masked_lm_positions"].numpy(), masked["masked_lm_weights"].numpy(), strict=True
    ):
        counts, _ = np.histogram(positions[weights > 0], borders)
        assert counts.tolist() == [2, 3, 1]  # round(0.15 * length) of each


def test_whole_words():
    # w0 ##w1 w2 ##w3 …: words of two pieces, ids 5 6, 7 8, …
    batch = _batch([_row(42)] * 50)
    rule = MaskingRule(whole_word=True)
    mask = dynamic_masking.make_masker(rule, VOCAB, seed=1, max_predictions=20)
    masked = mask(batch, tf.range(50, dtype=tf.int64))
    for row in masked["masked_lm_ids"].numpy():
        labels = set(row[row > 0].tolist())
        assert labels and {i for i in labels if i % 2} == {i - 1 for i in labels if not i % 2}


def test_in_a_dataset():
    mask = dynamic_masking.make_masker(MaskingRule(), VOCAB, seed=1, max_predictions=20)
    dataset = tf.data.Dataset.from_tensors(_batch([_row(40)] * 4)).repeat(3)
    dataset = dataset.enumerate().map(
        lambda step, batch: mask(batch, 4 * step + tf.range(4, dtype=tf.int64))
    )
    assert dataset.element_spec["masked_lm_positions"].shape == [4, 20]
    assert dataset.element_spec["input_word_ids"].shape == [4, 40]
    steps = [batch["input_word_ids"].numpy() for batch in dataset]
    assert (steps[0] != steps[1]).any()
    again = [batch["input_word_ids"].numpy() for batch in dataset]
    np.testing.assert_array_equal(steps, again)


def test_rule_from_options():
    options = {"whole_word": True, "max_predictions_per_seq": 7, "dupe_factor": 3}
    rule = dynamic_masking.rule_from_options(options)
    assert rule == MaskingRule(whole_word=True, max_predictions_per_seq=7)
