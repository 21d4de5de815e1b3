"""Truncates and joins token ids: [CLS] A [SEP] B [SEP], as a model takes them, all in the graph."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf
import tensorflow_text as text

from official_bert.errors import InputError
from official_bert.text.vocab import Vocab


def truncate_segments(
    segments: Sequence[tf.RaggedTensor], room: int | tf.Tensor
) -> list[tf.RaggedTensor]:
    """Drops tokens from the end of the longest segment until all of them fit.

    This is `_truncate_seq_pair` of google-research/bert, for any number of segments: where several
    are the longest, the last of them loses a token.

        truncate_segments([[[1, 2, 3, 4, 5]], [[6, 7, 8, 9, 9]]], room=7)
        # [[[1, 2, 3, 4]], [[6, 7, 8]]]

    Args:
      segments: each int32 [B, (tokens)].
      room: how many tokens may stay in a row, all segments together; int or int scalar.

    Returns:
      the segments, each [B, (tokens)].
    """
    lengths = tf.stack([tf.cast(s.row_lengths(), tf.int32) for s in segments], axis=1)  # [B, n]
    kept = _kept_lengths(lengths, room)
    return [_first(s, kept[:, i]) for i, s in enumerate(segments)]


def join_segments(
    segments: Sequence[tf.RaggedTensor],
    vocab: Vocab,
    max_seq_length: int,
    pad_to_max: bool = False,
) -> dict[str, tf.Tensor]:
    """Makes the encoder's inputs of one or more segments: [CLS] A [SEP] B [SEP].

        join_segments([[[7, 8]], [[9]]], vocab, 8, pad_to_max=True)
        # input_word_ids [[101, 7, 8, 102, 9, 102, 0, 0]]
        # input_mask     [[1, 1, 1, 1, 1, 1, 0, 0]]
        # input_type_ids [[0, 0, 0, 0, 1, 1, 0, 0]]

    Args:
      segments: each int32 [B, (tokens)], without special tokens; cut by `truncate_segments`.
      vocab: for the ids of [CLS], [SEP] and [PAD].
      max_seq_length: the most tokens in a row, special tokens counted.
      pad_to_max: whether S is max_seq_length; else it is the length of the longest row, and of
        special tokens alone where there are no rows.

    Returns:
      input_word_ids, input_mask and input_type_ids, each int32 [B, S]. The n-th segment and the
      [SEP] behind it have the type id n, from 0.

    Raises:
      InputError: max_seq_length leaves no room for a token.
    """
    specials = len(segments) + 1
    if max_seq_length <= specials:
        raise InputError(
            f"max_seq_length {max_seq_length} is too short for {len(segments)} segment(s): "
            f"[CLS] and [SEP] alone take {specials}"
        )
    segments = truncate_segments(segments, max_seq_length - specials)
    word_ids, type_ids = text.combine_segments(segments, vocab.cls_id, vocab.sep_id)
    shape = (
        [None, max_seq_length]
        if pad_to_max
        else tf.maximum(word_ids.bounding_shape(out_type=tf.int32), [0, specials])
    )
    dense = {
        "input_word_ids": word_ids.to_tensor(vocab.pad_id, shape=shape),
        "input_mask": tf.ones_like(word_ids).to_tensor(0, shape=shape),
        "input_type_ids": type_ids.to_tensor(0, shape=shape),
    }
    return {name: tf.cast(value, tf.int32) for name, value in dense.items()}


def _kept_lengths(lengths: tf.Tensor, room: int | tf.Tensor) -> tf.Tensor:
    """How much of each segment stays: int32 [B, n] for lengths int32 [B, n].

    Dropping from the longest again and again ends with every segment cut at one level, the highest
    at which all fit; the first ones may keep one token more. With the lengths sorted, and the k
    shortest left whole, the others can be cut at (room - sum of those k) / (n - k); the level is
    the largest of these over k.
    """
    room = tf.maximum(tf.cast(room, tf.int32), 0)
    count = lengths.shape[1]
    shortest = tf.cumsum(tf.sort(lengths, axis=1), axis=1, exclusive=True)  # [B, n]: k = 0 … n-1
    level = tf.reduce_max((room - shortest) // tf.range(count, 0, -1), axis=1, keepdims=True)
    kept = tf.minimum(lengths, level)  # [B, n]
    left = room - tf.reduce_sum(kept, axis=1, keepdims=True)  # [B, 1]
    cut = tf.cast(lengths > level, tf.int32)
    return kept + cut * tf.cast(tf.cumsum(cut, axis=1) <= left, tf.int32)


def _first(segment: tf.RaggedTensor, count: tf.Tensor) -> tf.RaggedTensor:
    """The first `count` int32 [B] tokens of each row."""
    starts = segment.row_starts()
    wanted = tf.ragged.range(starts, starts + tf.cast(count, starts.dtype))
    return wanted.with_values(tf.gather(segment.values, wanted.values))
