"""Bytes and characters of strings, in TensorFlow ops, in time linear in the text.

Every function works on the concatenated bytes of all strings of a batch: `tf.strings.substr` on the
string of each piece would copy a long line once for every piece of it.
"""

from __future__ import annotations

import tensorflow as tf


def byte_to_char_offsets(strings: tf.Tensor, offsets: tf.RaggedTensor) -> tf.RaggedTensor:
    """Turns offsets in bytes into offsets in characters (code points).

        byte_to_char_offsets(["né à"], [[0, 4, 6]])  # [[0, 3, 4]]

    Args:
      strings: string [B], UTF-8. An invalid byte counts as one character, unless it has the form of
        a continuation byte (0x80-0xBF), which counts as none.
      offsets: int [B, (tokens)], from 0 to the length of the string, as from
        `BertTokenizer.tokenize_with_offsets`.

    Returns:
      int32 [B, (tokens)].
    """
    rows = offsets.value_rowids()
    offsets = tf.cast(offsets, tf.int64)
    nothing = tf.zeros_like(offsets.values)
    return offsets.with_values(count_chars(strings, rows, nothing, offsets.values))


def count_chars(
    strings: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tf.Tensor:
    """How many characters strings[rows[i]][starts[i] : ends[i]] has.

    Args:
      strings: string [B], UTF-8.
      rows, starts, ends: int64 [T]; bytes [start, end).

    Returns:
      int32 [T].
    """
    code_units, row_starts = flat_bytes(strings)
    is_first = tf.cast(tf.bitwise.bitwise_and(code_units, 0xC0) != 0x80, tf.int32)
    before = tf.concat([[0], tf.cumsum(is_first)], axis=0)  # characters before each byte
    row_start = tf.gather(row_starts, rows)
    return tf.gather(before, row_start + ends) - tf.gather(before, row_start + starts)


def char_sizes(strings: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
    """How many bytes the character at strings[rows[i]][starts[i]] has.

    Args:
      strings: string [B], valid UTF-8.
      rows, starts: int64 [T]; the starts are bytes at which a character begins.

    Returns:
      int64 [T], each 1 to 4.
    """
    code_units, row_starts = flat_bytes(strings)
    first = tf.gather(code_units, tf.gather(row_starts, rows) + starts)
    return 1 + sum(tf.cast(first >= bound, tf.int64) for bound in (0xC0, 0xE0, 0xF0))


def row_ids(row_splits: tf.Tensor) -> tf.Tensor:
    """The row of each value of a ragged tensor: row_ids([0, 2, 2, 5])  # [0, 0, 2, 2, 2]

    `RaggedTensor.value_rowids` and `tf.repeat` compute the same with a mask of all rows times the
    longest of them, which exceeds any memory for one long row and many others.

    Args:
        row_splits: int64 [R + 1].

    Returns:
        int64 [row_splits[-1]].
    """
    values = tf.range(row_splits[-1])
    return tf.searchsorted(row_splits, values, side="right", out_type=tf.int64) - 1


def substrings(
    strings: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tf.Tensor:
    """strings[rows[i]][starts[i] : ends[i]], as many as there are; string [T].

    Args:
        strings: string [B].
        rows, starts, ends: int64 [T]; bytes [start, end).
    """
    code_units, row_starts = flat_bytes(strings)
    first = tf.gather(row_starts, rows)
    indices = tf.ragged.range(first + starts, first + ends)  # [T, (bytes)]
    byte_strings = tf.gather(
        tf.constant([bytes([value]) for value in range(256)]),
        tf.cast(tf.gather(code_units, indices.values), tf.int32),
    )
    return tf.strings.unsorted_segment_join(
        byte_strings, row_ids(indices.row_splits), tf.size(rows, tf.int64)
    )


def flat_bytes(strings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The concatenated bytes of strings [B], uint8, and where each string begins, int64 [B]."""
    code_units = tf.io.decode_raw(tf.strings.reduce_join(strings), tf.uint8)
    lengths = tf.cast(tf.strings.length(strings), tf.int64)
    return code_units, tf.cumsum(lengths, exclusive=True)
