import numpy as np
import pytest
import tensorflow as tf

from official_bert.text import Vocab
from official_bert.text.word_windows import clause_end_ids, word_windows

STOP = 9


def _windows(words, row_splits, room):
    """Rows, starts and ends as lists, for words given as lists of pieces."""
    pieces = tf.ragged.constant(words, tf.int32, ragged_rank=1, row_splits_dtype=tf.int64)
    result = word_windows(pieces, tf.constant(row_splits, tf.int64), room, [STOP])
    return [values.numpy().tolist() for values in result]


def test_windows_are_as_long_as_fits():
    words = [[7], [8, 8], [7], [5]]
    assert _windows(words, [0, 3, 4], room=3) == [[0, 0, 1], [0, 2, 3], [2, 3, 4]]
    assert _windows(words, [0, 4], room=5) == [[0], [0], [4]]
    assert _windows(words, [0, 4], room=2) == [[0, 0, 0], [0, 1, 2], [1, 2, 4]]


def test_a_window_ends_behind_a_clause_if_that_leaves_it_half_full():
    assert _windows([[7], [7], [STOP], [7], [7], [7]], [0, 6], room=4) == [[0, 0], [0, 3], [3, 6]]
    assert _windows([[STOP], [7], [7], [7], [7], [7]], [0, 6], room=4) == [[0, 0], [0, 4], [4, 6]]
    # What fits is never cut.
    assert _windows([[7], [STOP], [7]], [0, 3], room=4) == [[0], [0], [3]]
    # A word of several pieces is no full stop, whatever it begins with.
    assert _windows([[7], [STOP, 7], [7], [7]], [0, 4], room=4) == [[0, 0], [0, 3], [3, 4]]


def test_texts_without_words_are_one_window_each():
    assert _windows([], [0, 0], room=3) == [[0], [0], [0]]
    assert _windows([[7]] * 4, [0, 0, 4, 4], room=3) == [
        [0, 1, 1, 2],
        [0, 0, 3, 4],
        [0, 3, 4, 4],
    ]
    assert _windows([], [0], room=3) == [[], [], []]


@pytest.mark.parametrize("seed", range(20))
def test_random_texts_are_cut_as_a_loop_cuts_them(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 40, size=5)
    room = int(random.integers(3, 12))
    words = [
        [STOP] if random.random() < 0.2 else [7] * int(random.integers(1, room + 1))
        for _ in range(counts.sum())
    ]
    splits = np.cumsum([0, *counts])
    expected = []
    for row in range(5):
        place, limit = int(splits[row]), int(splits[row + 1])
        while True:
            end = place
            while end < limit and sum(map(len, words[place : end + 1])) <= room:
                end += 1
            if end < limit:
                for earlier in range(end, place, -1):
                    size = sum(map(len, words[place:earlier]))
                    if words[earlier - 1] == [STOP] and 2 * size >= room:
                        end = earlier
                        break
            expected.append((row, place, end))
            place = end
            if place >= limit:
                break
    assert list(zip(*_windows(words, splits, room), strict=True)) == expected


def test_clause_ends_are_those_that_the_vocabulary_has():
    vocab = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", ".", "。", ","])
    assert clause_end_ids(vocab) == [6, 8, 7]
