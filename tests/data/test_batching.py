"""Batches of like length: each record once an epoch, resumable at any batch."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data import batching


def _record(number: int, length: int) -> bytes:
    example = tf.train.Example()
    example.features.feature["example_id"].int64_list.value.append(number)
    example.features.feature["input_mask"].int64_list.value.extend([1] * length)
    return example.SerializeToString()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """1,000 records of 1 to 40 tokens."""
    path = str(tmp_path_factory.mktemp("records") / "train.tfrecord")
    lengths = np.random.default_rng(0).integers(1, 41, 1000)
    with tf.io.TFRecordWriter(path) as writer:
        for number, length in enumerate(lengths):
            writer.write(_record(number, length))
    return path


def _parsed(batch):
    examples = [tf.train.Example.FromString(item) for item in batch.numpy()]
    numbers = [e.features.feature["example_id"].int64_list.value[0] for e in examples]
    lengths = [len(e.features.feature["input_mask"].int64_list.value) for e in examples]
    return numbers, lengths


def _batches(path, count, *, start_batch=0, seed=3, batch_size=7):
    dataset = batching.bucketed_training_batches(
        [path],
        num_records=1000,
        batch_size=batch_size,
        seed=seed,
        shuffle_buffer=1000,
        start_batch=start_batch,
    )
    return [_parsed(batch) for batch in dataset.take(count)]


def test_each_record_comes_once_an_epoch(path):
    numbers = [number for batch, _ in _batches(path, 286) for number in batch]
    # 143 batches of 7 are an epoch and one record of the next.
    assert set(numbers[:1001]) == set(range(1000))
    counts = collections.Counter(numbers)
    assert sorted(counts.values()) == [2] * 998 + [3] * 2


def test_little_padding_and_changing_order(path):
    batches = _batches(path, 142)
    lengths = [of_batch for _, of_batch in batches]
    padded = sum(max(of_batch) * len(of_batch) for of_batch in lengths)
    assert sum(map(sum, lengths)) / padded > 0.97
    longest = [max(of_batch) for of_batch in lengths]
    assert longest != sorted(longest)
    assert batches[:143] != _batches(path, 285)[143:]
    assert batches != _batches(path, 142, seed=4)


@pytest.mark.parametrize("start", [1, 64, 65, 142, 143, 300])
def test_a_run_goes_on_where_it_was(path, start):
    assert _batches(path, 5, start_batch=start) == _batches(path, start + 5)[start:]


def test_batches_that_divide_the_epoch(path):
    first = _batches(path, 200, batch_size=10)
    for epoch in (first[:100], first[100:]):
        assert sorted(number for batch, _ in epoch for number in batch) == list(range(1000))


def test_evaluation_has_every_record_once(path):
    dataset = batching.bucketed_evaluation_batches([path], batch_size=9)
    batches = [_parsed(batch) for batch in dataset]
    numbers = [number for batch, _ in batches for number in batch]
    assert sorted(numbers) == list(range(1000))
    assert all(len(batch) <= 9 for batch, _ in batches)
    padded = sum(max(lengths) * len(lengths) for _, lengths in batches)
    assert sum(sum(lengths) for _, lengths in batches) / padded > 0.97


def test_length_is_that_of_the_real_tokens():
    padded = tf.train.Example()
    padded.features.feature["input_mask"].int64_list.value.extend([1, 1, 0, 0])
    records = tf.constant([padded.SerializeToString(), _record(1, 3)])
    np.testing.assert_array_equal(batching.record_lengths(records), [2, 3])
