"""The words of running text, as tagged corpora write them, from its word pieces; in the graph.

    "(Smith's U.S.-based firm, @acme)"  ->  ( Smith 's U.S.-based firm , @acme )

T pieces of all texts, N words of all texts, B texts.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from official_bert.text.normalization import CJK_RANGES, is_punctuation
from official_bert.text.offsets import row_ids, substrings
from official_bert.text.vocab import Vocab

_CONTINUES, _PUNCTUATION, _CJK, _JOINS_NEXT, _APOSTROPHE, _CLITIC = (1 << n for n in range(6))
# RE2: the characters of `is_punctuation`, and those of CJK_RANGES.
_SIGN_PATTERN = r"[!-/:-@\[-`{-~\pP]"
_CJK_PATTERN = f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in CJK_RANGES)}]"
# What English puts behind an apostrophe at the end of a word.
_CLITICS = frozenset(("s", "m", "d", "re", "ve", "ll"))


class Words(NamedTuple):
    """The words of texts, text by text.

    Attributes:
        pieces: int32 [N, (pieces)].
        starts, ends: int64 [N], bytes [start, end) of the text.
        row_splits: int64 [B + 1], where the words of each text begin and end.
    """

    pieces: tf.RaggedTensor
    starts: tf.Tensor
    ends: tf.Tensor
    row_splits: tf.Tensor

    @property
    def rows(self) -> tf.Tensor:
        """int64 [N], the text of each word."""
        return row_ids(self.row_splits)


class WrittenWords:
    """Joins word pieces to words.

    White space separates words. Punctuation at their edges is a word of its own: each sign, or
    several equal ones; within, it is part of the word, as @ and # are at the start.
    's, 'm, 'd, 're, 've and 'll at the end are words, as is each Chinese character.

    Args:
        vocab: of the pieces.
    """

    def __init__(self, vocab: Vocab):
        self._kinds = tf.constant([_kind(token) for token in vocab.tokens], tf.int32)
        self._unk_id = vocab.unk_id

    def split(
        self,
        texts: tf.Tensor,
        ids: tf.RaggedTensor,
        starts: tf.RaggedTensor,
        ends: tf.RaggedTensor,
    ) -> Words:
        """The words of texts.

        Args:
            texts: string [B].
            ids, starts, ends: from `BertTokenizer.tokenize_with_offsets`, int32 [B, (pieces)].
        """
        begins = self._begins(texts, ids.values, starts, ends)
        numbers = tf.cumsum(tf.cast(begins, tf.int64)) - 1
        first = tf.where(begins)[:, 0]
        count = tf.size(first, tf.int64)
        pieces = tf.RaggedTensor.from_value_rowids(ids.values, numbers, count, validate=False)
        last = tf.concat([first[1:], [tf.size(ids.values, tf.int64)]], axis=0)[:count] - 1
        # Each text begins a word: how many words begin before its first piece.
        before = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int64))], axis=0)
        return Words(
            pieces=pieces,
            starts=tf.cast(tf.gather(starts.values, first), tf.int64),
            ends=tf.cast(tf.gather(ends.values, last), tf.int64),
            row_splits=tf.gather(before, tf.cast(ids.row_splits, tf.int64)),
        )

    def _begins(
        self,
        texts: tf.Tensor,
        ids: tf.Tensor,
        starts: tf.RaggedTensor,
        ends: tf.RaggedTensor,
    ) -> tf.Tensor:
        """Whether a word begins with a piece, bool [T]."""
        row_of = row_ids(tf.cast(starts.row_splits, tf.int64))
        is_unknown = ids == self._unk_id
        kinds = tf.gather(self._kinds, ids)
        kinds = tf.tensor_scatter_nd_update(
            kinds,
            tf.where(is_unknown),
            _kinds_of_unknown(
                substrings(
                    texts,
                    tf.boolean_mask(row_of, is_unknown),
                    tf.cast(tf.boolean_mask(starts.values, is_unknown), tf.int64),
                    tf.cast(tf.boolean_mask(ends.values, is_unknown), tf.int64),
                )
            ),
        )
        first = tf.concat([[True], row_of[1:] != row_of[:-1]], axis=0)[: tf.size(row_of)]
        gap = first | (starts.values > _before(ends.values, 0))
        plain = tf.cast(~_is(kinds, _PUNCTUATION), tf.int64)
        # A chunk is the text between white space: its pieces that are not punctuation are counted.
        counted = tf.cumsum(plain, exclusive=True)
        chunk = tf.cumsum(tf.cast(gap, tf.int64)) - 1
        before = counted - tf.gather(tf.boolean_mask(counted, gap), chunk)
        behind = tf.gather(tf.math.segment_sum(plain, chunk), chunk) - before  # With the piece.

        is_last_clitic = _is(kinds, _CLITIC) & (behind == 1)
        was_leading = _is(_before(kinds, 0), _PUNCTUATION) & (before == 0)
        joined = _is(_before(kinds, 0), _JOINS_NEXT)
        joined |= _is(_before(kinds, 0), _APOSTROPHE) & is_last_clitic
        joined |= _is(kinds, _PUNCTUATION) & (_before(ids, -1) == ids) & ~is_unknown
        clitic_follows = _next(is_last_clitic, False) & ~_next(gap, True)
        begins = (
            _is(kinds, _CJK)
            | _is(_before(kinds, 0), _CJK)
            | (_is(kinds, _PUNCTUATION) & (behind == 0) & ~joined)
            | (was_leading & ~joined)
            | (_is(kinds, _APOSTROPHE) & clitic_follows & (before > 0))
        )
        return gap | (begins & ~_is(kinds, _CONTINUES))


def _kind(token: str) -> int:
    if token.startswith("##"):
        return _CONTINUES
    kind = _CLITIC if token in _CLITICS else 0
    if len(token) == 1:
        kind |= _PUNCTUATION if is_punctuation(token) else 0
        kind |= _CJK if any(first <= ord(token) <= last for first, last in CJK_RANGES) else 0
        kind |= _JOINS_NEXT if token in "@#" else 0
        kind |= _APOSTROPHE if token in "'\u2019" else 0
    return kind


def _kinds_of_unknown(strings: tf.Tensor) -> tf.Tensor:
    """`_kind` of pieces outside the vocabulary, string [T]: signs and Chinese characters."""
    is_sign = tf.strings.regex_full_match(strings, _SIGN_PATTERN)
    is_cjk = tf.strings.regex_full_match(strings, _CJK_PATTERN)
    return tf.where(is_sign, _PUNCTUATION, tf.where(is_cjk, _CJK, 0))


def _is(kinds: tf.Tensor, bit: int) -> tf.Tensor:
    return tf.bitwise.bitwise_and(kinds, bit) != 0


def _before(values: tf.Tensor, filler: int) -> tf.Tensor:
    """The value in front of each, of the same length."""
    return tf.concat([tf.fill([1], tf.cast(filler, values.dtype)), values], axis=0)[:-1]


def _next(values: tf.Tensor, filler: int | bool) -> tf.Tensor:
    """The value behind each."""
    return tf.concat([values, tf.fill([1], tf.cast(filler, values.dtype))], axis=0)[1:]
