"""Texts that are longer than a model reads: windows of whole words, one behind the other.

Data preparation and served models cut by this one rule. N words, R texts, K windows.
"""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf

from official_bert.text.offsets import row_ids
from official_bert.text.vocab import Vocab

# A window had better end behind one of these than within a name.
_CLAUSE_ENDS = (".", "!", "?", ";", ":", ",", "。", "！", "？", "；", "，", "।", "؟")


def clause_end_ids(vocab: Vocab) -> list[int]:
    """Ids of the pieces behind which a window may well end: full stops, commas and the like."""
    return [vocab.id_of(token) for token in _CLAUSE_ENDS if token in vocab]


def word_windows(
    pieces: tf.RaggedTensor, row_splits: tf.Tensor, room: int, clause_ends: Iterable[int] = ()
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Cuts texts into windows of whole words, as few as hold them.

    A text that fits is one window, as is one without words. In others each window takes what
    there is room for; if the second half of it has the end of a clause, it ends at the last one.

        word_windows(ragged [[7], [8, 8], [9], [5]], row_splits=[0, 3, 4], room=3)
        # rows [0, 0, 1], starts [0, 2, 3], ends [2, 3, 4]

    Args:
        pieces: int [N, (pieces)], the pieces of each word; of none more than `room`.
        row_splits: int64 [R + 1], where the texts begin and end among the words.
        room: the most pieces of a window.
        clause_ends: ids of the pieces that end a clause.

    Returns:
        rows, starts and ends, int64 [K]: the text of each window and its words, text by text.
    """
    lengths = tf.cast(pieces.row_lengths(), tf.int64)  # [N]
    count = tf.size(lengths, tf.int64)
    before = tf.concat([[0], tf.cumsum(lengths)], axis=0)  # [N + 1], pieces before each word
    row_ends = tf.gather(row_splits[1:], row_ids(row_splits))  # [N]
    words = tf.range(count)
    farthest = tf.searchsorted(before, before[:-1] + room, side="right", out_type=tf.int64) - 1
    farthest = tf.minimum(tf.maximum(farthest, words + 1), row_ends)
    good = _last_clause_end(pieces, farthest, clause_ends)
    full_enough = tf.gather(before, good) - before[:-1] >= (room + 1) // 2
    following = tf.where((farthest < row_ends) & (good > words) & full_enough, good, farthest)
    following = tf.concat([following, [count]], axis=0)  # [N + 1]

    text_ends = row_splits[1:]  # [R]

    def step(
        number: tf.Tensor, starts: tf.Tensor, seen: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        seen = seen.write(number, starts)
        return number + 1, tf.minimum(tf.gather(following, starts), text_ends), seen

    # Every text, also one without words, has a first window.
    _, _, seen = tf.while_loop(
        lambda number, starts, _: (number == 0) | tf.reduce_any(starts < text_ends),
        step,
        (
            tf.constant(0),
            row_splits[:-1],
            tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=[None]),
        ),
    )
    by_text = tf.transpose(seen.stack())  # [R, most windows]
    first = tf.range(tf.shape(by_text)[1])[tf.newaxis] == 0
    exists = first | (by_text < text_ends[:, tf.newaxis])
    rows = tf.where(exists)[:, 0]
    starts = tf.boolean_mask(by_text, exists)
    return rows, starts, tf.minimum(tf.gather(following, starts), tf.gather(text_ends, rows))


def _last_clause_end(
    pieces: tf.RaggedTensor, farthest: tf.Tensor, clause_ends: Iterable[int]
) -> tf.Tensor:
    """The last end of a clause up to each of `farthest` int64 [N]; 0 where there is none."""
    ids = tf.constant(list(clause_ends), pieces.dtype)
    one_piece = pieces.row_lengths() == 1
    first = tf.gather(tf.concat([pieces.values, [0]], axis=0), pieces.row_starts())  # [N]
    is_end = one_piece & tf.reduce_any(first[:, tf.newaxis] == ids, axis=1)
    ends = tf.concat([[0], tf.where(is_end)[:, 0] + 1], axis=0)
    indices = tf.searchsorted(ends, farthest, side="right", out_type=tf.int64) - 1
    return tf.gather(ends, indices)
