"""The best spans of all windows of a text, none with a text that a better one has; in the graph.

B texts, W windows of all of them, K candidates of a window, n kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from official_bert.text.offsets import count_chars

_NEVER = float("-inf")


class ContextTokens(NamedTuple):
    """Texts string [B] and where their tokens stand: int32 [B, (tokens)], in bytes."""

    texts: tf.Tensor
    starts: tf.RaggedTensor
    limits: tf.RaggedTensor


class RankedSpans(NamedTuple):
    """The best spans of each text, best first, [B, n] each.

    Attributes:
        scores: float32; -inf where there are fewer.
        begins, limits: int64, in bytes; 0 there.
        texts: string; "" there.
    """

    scores: tf.Tensor
    begins: tf.Tensor
    limits: tf.Tensor
    texts: tf.Tensor


def rank_spans(
    contexts: ContextTokens,
    rows: tf.Tensor,
    spans: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    count: int,
) -> RankedSpans:
    """Ranks the spans of each text and takes the best.

    Args:
        contexts: the texts.
        rows: int64 [W], the text of each window, ascending.
        spans: first and last token of the text, int64 [W, K], and scores float32 [W, K], -inf where
            there is no span.
        count: n, at most K.
    """
    starts, ends, scores = spans
    candidates = scores.shape[1]
    places = _best_of_rows(scores, rows, tf.size(contexts.texts, tf.int64))  # [B, K]

    def taken(values: tf.Tensor, filler: Any) -> tf.Tensor:
        # One more, so that there is something to take where there is no window.
        flat = tf.pad(tf.reshape(values, [-1]), [[0, 1]], constant_values=filler)
        return tf.where(places < 0, filler, tf.gather(flat, tf.maximum(places, 0)))  # [B, K]

    best = taken(scores, _NEVER)
    is_span = best > _NEVER

    def in_bytes(offsets: tf.RaggedTensor, tokens: tf.Tensor) -> tf.Tensor:
        chosen = tf.where(is_span, taken(tokens, tf.constant(0, tf.int64)), 0)
        return tf.where(is_span, _offsets_of(offsets, chosen), 0)

    begins, limits = in_bytes(contexts.starts, starts), in_bytes(contexts.limits, ends)
    # One call a column: with [B, K] places the op would copy each text K times.
    texts = tf.stack(
        [
            tf.strings.substr(contexts.texts, begins[:, i], limits[:, i] - begins[:, i])
            for i in range(candidates)
        ],
        axis=1,
    )
    codes = tf.strings.to_hash_bucket_fast(texts, tf.int64.max)
    same = codes[:, :, tf.newaxis] == codes[:, tf.newaxis]  # [B, K, K]
    is_repeated = tf.reduce_any(same & np.tri(candidates, k=-1, dtype=bool), axis=2)
    kept, places = tf.math.top_k(tf.where(is_repeated, _NEVER, best), count)  # [B, n]
    is_kept = kept > _NEVER

    def chosen(values: tf.Tensor, filler: Any) -> tf.Tensor:
        return tf.where(is_kept, tf.gather(values, places, batch_dims=1), filler)

    return RankedSpans(kept, chosen(begins, 0), chosen(limits, 0), chosen(texts, ""))


def _best_of_rows(scores: tf.Tensor, rows: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Where in the flat scores [W * K] the K best of each row are, best first; int64 [B, K].

    -1 where a row has fewer. Nothing is padded to the row with most windows: beside a long text
    may be many short ones.
    """
    candidates = scores.shape[1]
    flat = tf.reshape(scores, [-1])
    by_score = tf.argsort(flat, direction="DESCENDING", stable=True)
    row_of = tf.gather(tf.repeat(rows, candidates), by_score)
    by_row = tf.argsort(row_of, stable=True)
    in_rows = tf.RaggedTensor.from_value_rowids(
        tf.cast(tf.gather(by_score, by_row), tf.int64),
        tf.gather(row_of, by_row),
        size,
        validate=False,
    )
    return in_rows[:, :candidates].to_tensor(-1, shape=[None, candidates])


def char_places(
    texts: tf.Tensor, begins: tf.Tensor, limits: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Bytes [begin, limit) of texts [B] as characters: int64 [B, n] -> int32 [B, n] each."""
    shape = tf.shape(begins, tf.int64)
    rows = tf.repeat(tf.range(shape[0]), shape[1])
    begins, limits = tf.reshape(begins, [-1]), tf.reshape(limits, [-1])
    starts = count_chars(texts, rows, tf.zeros_like(begins), begins)
    ends = starts + count_chars(texts, rows, begins, limits)
    return tf.reshape(starts, shape), tf.reshape(ends, shape)


def _offsets_of(offsets: tf.RaggedTensor, tokens: tf.Tensor) -> tf.Tensor:
    """offsets[b, tokens[b, k]] as int64 [B, K]; anything where a text has no such token."""
    # One more, so that there is something to take where no text has a token.
    flat = tf.concat([offsets.values, [0]], axis=0)
    first = tf.cast(offsets.row_starts(), tf.int64)[:, tf.newaxis]
    places = tf.minimum(first + tokens, tf.size(flat, tf.int64) - 1)
    return tf.cast(tf.gather(flat, places), tf.int64)
