from __future__ import annotations

import random

import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.text import Vocab
from official_bert.text.segments import join_segments, truncate_segments
from tests.text.conftest import SPECIAL


@pytest.fixture(scope="module")
def vocab():
    return Vocab(["[PAD]", "x", *SPECIAL[1:]])  # [CLS] 3, [SEP] 4


def ragged(*rows):
    return tf.ragged.constant(rows, tf.int32, ragged_rank=1)


def lists(inputs):
    return {name: value.numpy().tolist() for name, value in inputs.items()}


def test_a_pair(vocab):
    inputs = join_segments([ragged([7, 8], [7]), ragged([9], [])], vocab, 9)
    assert lists(inputs) == {
        "input_word_ids": [[3, 7, 8, 4, 9, 4], [3, 7, 4, 4, 0, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]],
        "input_type_ids": [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]],
    }
    assert {value.dtype for value in inputs.values()} == {tf.int32}


def test_one_and_three_segments_at_fixed_length(vocab):
    one = join_segments([ragged([7, 8, 9])], vocab, 4, pad_to_max=True)
    assert lists(one)["input_word_ids"] == [[3, 7, 8, 4]]
    three = join_segments([ragged([7]), ragged([8]), ragged([9, 9])], vocab, 10, pad_to_max=True)
    assert lists(three) == {
        "input_word_ids": [[3, 7, 4, 8, 4, 9, 9, 4, 0, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]],
        "input_type_ids": [[0, 0, 0, 1, 1, 2, 2, 2, 0, 0]],
    }
    assert three["input_word_ids"].shape == [1, 10]


def test_an_empty_batch(vocab):
    none = tf.RaggedTensor.from_row_lengths(tf.constant([], tf.int32), tf.constant([], tf.int64))
    inputs = join_segments([none], vocab, 6, pad_to_max=True)
    assert inputs["input_word_ids"].shape == [0, 6]


def dropped_one_by_one(lengths, room):
    """`_truncate_seq_pair` of google-research/bert for any number of segments."""
    lengths = list(lengths)
    while sum(lengths) > room:
        longest = max(lengths)
        last = max(i for i, length in enumerate(lengths) if length == longest)
        lengths[last] -= 1
    return lengths


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_truncation_drops_from_the_longest_and_of_equals_from_the_last(count):
    choose = random.Random(count)
    cases = [[choose.choice([0, 1, 2, 5, 9, 40]) for _ in range(count)] for _ in range(200)]
    segments = [ragged(*([*range(case[i])] for case in cases)) for i in range(count)]
    for room in (0, 1, 2, 7, 12, 1000):
        kept = [segment.to_list() for segment in truncate_segments(segments, room)]
        for row, case in enumerate(cases):
            expected = dropped_one_by_one(case, room)
            assert [rows[row] for rows in kept] == [[*range(n)] for n in expected]


def test_ties_lose_from_b():
    a, b = truncate_segments([ragged([1, 2, 3, 4, 5]), ragged([6, 7, 8, 9, 9])], 7)
    assert (a.to_list(), b.to_list()) == ([[1, 2, 3, 4]], [[6, 7, 8]])


def test_joining_truncates(vocab):
    inputs = join_segments([ragged([7] * 9), ragged([8] * 2)], vocab, 8)
    assert lists(inputs)["input_word_ids"] == [[3, 7, 7, 7, 4, 8, 8, 4]]


def test_no_room_is_an_input_error(vocab):
    with pytest.raises(InputError, match="max_seq_length 3 is too short for 2 segment"):
        join_segments([ragged([7]), ragged([8])], vocab, 3)


def test_in_a_graph_with_the_batch_size_unknown(vocab):
    spec = tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1)

    @tf.function(input_signature=[spec, spec])
    def joined(a, b):
        return join_segments([a, b], vocab, 6, pad_to_max=True)

    concrete = joined.get_concrete_function()
    assert concrete.structured_outputs["input_word_ids"].shape.as_list() == [None, 6]
    rows = joined(ragged([7, 7, 7]), ragged([8, 8]))["input_word_ids"]
    assert rows.numpy().tolist() == [[3, 7, 7, 4, 8, 4]]
