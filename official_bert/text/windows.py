"""Overlapping windows over a long context: [CLS] question [SEP] part of the context [SEP].

The rule is that of google-research/bert's run_squad.py. It is implemented once, in TensorFlow ops,
for data preparation, prediction and export. All work is linear in the number of window tokens.

B questions, W windows of all of them, S sequence.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from official_bert.errors import InputError
from official_bert.text.vocab import Vocab

_SPECIALS = 3  # [CLS], [SEP], [SEP]


@dataclasses.dataclass(frozen=True)
class WindowRule:
    """How a context is cut.

    Attributes:
        max_seq_length: most tokens of a window, question and special tokens counted.
        doc_stride: from the start of a window to that of the next, in tokens.
        max_query_length: the question is cut behind so many tokens.
    """

    max_seq_length: int = 384
    doc_stride: int = 128
    max_query_length: int = 64

    def __post_init__(self) -> None:
        """Raises InputError naming the field, its value and what it may be."""
        for name in ("doc_stride", "max_query_length"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least 1")
        least = self.max_query_length + _SPECIALS + 1
        if self.max_seq_length < least:
            raise InputError(
                f"max_seq_length {self.max_seq_length} leaves no room for the context behind a "
                f"question of max_query_length {self.max_query_length}: it must be at least {least}"
            )


class Windows(NamedTuple):
    """Windows of all questions, question behind question; at least one a question.

    Attributes:
        inputs: `input_word_ids`, `input_mask`, `input_type_ids`, int32 [W, S] each.
        rows: int64 [W], the question of each window.
        lengths: int64 [W], tokens of each window with the special ones.
        context_tokens: int64 [W, S], the token of the context at each position; -1 outside of it.
        is_max_context: bool [W, S], whether no other window shows that token more context.
    """

    inputs: dict[str, tf.Tensor]
    rows: tf.Tensor
    lengths: tf.Tensor
    context_tokens: tf.Tensor
    is_max_context: tf.Tensor

    def of_context(self, values: tf.RaggedTensor) -> tf.Tensor:
        """The values of the context's tokens, at their positions in the windows.

        Args:
            values: int32 [B, (tokens)].

        Returns:
            int32 [W, S]; -1 outside of the context.
        """
        in_context = self.context_tokens >= 0
        taken = _take(values, self.rows, in_context, self.context_tokens)
        return tf.where(in_context, taken, -1)


def cut_windows(
    questions: tf.RaggedTensor,
    contexts: tf.RaggedTensor,
    vocab: Vocab,
    rule: WindowRule,
    *,
    pad_to: int | None = None,
) -> Windows:
    """Cuts each context into windows and puts its question before each.

    With room for 4 tokens of the context and doc_stride 2, contexts [[10, 11, 12, 13, 14, 15, 16]]
    become 10-13, 12-15 and 14-16. Token 13 has most context in the second one.

    Args:
        questions: int32 [B, (tokens)].
        contexts: int32 [B, (tokens)].
        vocab: for the ids of [CLS], [SEP] and [PAD].
        rule: how to cut.
        pad_to: S; None: the length of the longest window.
    """
    question_lengths = tf.minimum(questions.row_lengths(), rule.max_query_length)  # [B]
    sizes = contexts.row_lengths()  # [B]
    rooms = rule.max_seq_length - _SPECIALS - question_lengths
    strides = tf.minimum(rooms, rule.doc_stride)
    counts = 1 + tf.maximum((sizes - rooms + strides - 1) // strides, 0)  # [B]

    rows = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)  # [W]
    numbers = tf.range(tf.size(rows, tf.int64)) - tf.gather(tf.cumsum(counts, exclusive=True), rows)
    stride, room, size = (tf.gather(of_row, rows) for of_row in (strides, rooms, sizes))
    starts = numbers * stride
    parts = tf.minimum(room, size - starts)  # [W], tokens of the context
    before = tf.gather(question_lengths, rows) + 2  # [W], tokens before the context
    lengths = before + parts + 1

    # Of no window at all, reduce_max is the least number there is.
    longest = tf.maximum(tf.reduce_max(lengths), _SPECIALS)
    width = longest if pad_to is None else tf.constant(pad_to, tf.int64)
    column = tf.range(width)[tf.newaxis]  # [1, S]
    in_part = column - before[:, tf.newaxis]  # [W, S]
    in_context = (in_part >= 0) & (in_part < parts[:, tf.newaxis])
    tokens = tf.where(in_context, starts[:, tf.newaxis] + in_part, -1)
    in_question = (column >= 1) & (column < before[:, tf.newaxis] - 1)

    is_token = column < lengths[:, tf.newaxis]
    ids = tf.where(is_token, vocab.sep_id, vocab.pad_id)
    ids = tf.where(column == 0, vocab.cls_id, ids)
    ids = tf.where(in_question, _take(questions, rows, in_question, column - 1), ids)
    ids = tf.where(in_context, _take(contexts, rows, in_context, tokens), ids)
    return Windows(
        inputs={
            "input_word_ids": ids,
            "input_mask": tf.cast(is_token, tf.int32),
            "input_type_ids": tf.cast((in_part >= 0) & is_token, tf.int32),
        },
        rows=rows,
        lengths=lengths,
        context_tokens=tokens,
        is_max_context=in_context & _has_most_context(tokens, numbers, stride, room, size),
    )


def _take(
    tokens: tf.RaggedTensor, rows: tf.Tensor, wanted: tf.Tensor, columns: tf.Tensor
) -> tf.Tensor:
    """tokens[rows[w], columns[w, s]] where `wanted`, anything elsewhere; int32 [W, S]."""
    indices = tf.gather(tokens.row_starts(), rows)[:, tf.newaxis] + columns
    # One more, so that there is something to take where no row has a token.
    flat = tf.concat([tokens.values, [0]], axis=0)
    return tf.gather(flat, tf.where(wanted, indices, 0))


def _has_most_context(
    tokens: tf.Tensor, numbers: tf.Tensor, strides: tf.Tensor, rooms: tf.Tensor, sizes: tf.Tensor
) -> tf.Tensor:
    """Whether the window is the first of those that score best for its token; bool [W, S].

    The score of run_squad.py is the shorter of the contexts left and right of the token, plus a
    hundredth of the window's length. All windows of a row but the last have the same length, so
    among those the best one is one of the two whose middles are next to the token.

    Args:
        tokens: int64 [W, S], which token of the context; -1 outside.
        numbers: int64 [W], of the window in its row.
        strides, rooms, sizes: int64 [W], of the row: from window to window, tokens of a whole
            window, tokens of the context.
    """
    number, stride, room, size = (
        of_window[:, tf.newaxis] for of_window in (numbers, strides, rooms, sizes)
    )  # [W, 1]
    last = tf.maximum((size - room + stride - 1) // stride, 0)

    def score(candidate: tf.Tensor) -> tf.Tensor:
        """Float64 as in the original, so that ties are the same ones."""
        start = candidate * stride
        length = tf.minimum(room, size - start)
        left, right = tokens - start, start + length - 1 - tokens
        least = tf.minimum(left, right)
        value = tf.cast(least, tf.float64) + 0.01 * tf.cast(length, tf.float64)
        return tf.where(least >= 0, value, -1.0)

    before_last = tf.maximum(last - 1, 0)
    middle = tf.math.floordiv(2 * tokens - room + 1, 2 * stride)
    best = tf.clip_by_value(middle, 0, before_last)
    best_score = score(best)
    for candidate in (tf.clip_by_value(middle + 1, 0, before_last), last):
        is_better = score(candidate) > best_score
        best_score = tf.where(is_better, score(candidate), best_score)
        best = tf.where(is_better, candidate, best)
    return best == number
