"""Words to the pieces of a vocabulary: greedy longest match, all of a word or none of it."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import tensorflow_text as text

from official_bert.errors import InputError
from official_bert.text import normalization
from official_bert.text.offsets import count_chars
from official_bert.text.vocab import Vocab

MAX_CHARS_PER_WORD = 200  # google-research/bert, WordpieceTokenizer
_MAX_BYTES_PER_CHAR = 4
_MAX_BYTES_PER_PIECE = 256  # what the op can hold
_SUFFIX = "##"

# ids (int32), starts and ends (int64, in bytes) of pieces, each [B, (tokens)].
Pieces = tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]


class WordPieces(tf.Module):
    """Splits normalized text into words and words into pieces.

    tensorflow_text's FastWordpieceTokenizer does it in time linear in the text (Song et al. 2021,
    arXiv 2012.15524). It counts the length of a word in bytes; the rule counts characters, which
    is corrected here.
    """

    def __init__(self, vocab: Vocab, *, split_cjk: bool) -> None:
        """Builds the op's model.

        Args:
          vocab: the vocabulary.
          split_cjk: whether each CJK character is a word of its own; if not, the normalized text
            has `normalization.cjk_stand_in` for them.

        Raises:
          InputError: a token is longer than the op can hold.
        """
        super().__init__(name="word_pieces")
        tokens = _tokens_for_the_op(vocab, split_cjk=split_cjk)
        self._unk_id = vocab.unk_id
        self._is_suffix = tf.constant([token.startswith(_SUFFIX) for token in tokens])
        self._block = (_suffixes_of_a_long_word(vocab) + 1) // 2
        self._op = text.FastWordpieceTokenizer(
            vocab=tokens,
            unknown_token=tokens[vocab.unk_id],
            max_bytes_per_word=MAX_CHARS_PER_WORD * _MAX_BYTES_PER_CHAR,
            token_out_type=tf.int32,
        )

    def lookup(self, normalized: tf.Tensor) -> Pieces:
        """The pieces of strings [B]."""
        pieces = self._op.tokenize_with_offsets(normalized)
        # A word of more than 200 characters has so many consecutive suffixes that some aligned
        # block of half their number is all suffixes. Few batches have one.
        ids, block = pieces[0].values, self._block
        is_suffix = tf.gather(self._is_suffix, ids[: tf.size(ids) // block * block])
        has_long_run = tf.reduce_any(tf.reduce_all(tf.reshape(is_suffix, [-1, block]), axis=1))
        return tf.cond(
            has_long_run, lambda: self._without_long_words(normalized, pieces), lambda: pieces
        )

    def _without_long_words(self, normalized: tf.Tensor, pieces: Pieces) -> Pieces:
        """Makes one [UNK] of each word that has more than 200 characters."""
        ids, starts, ends = pieces
        first = tf.where(~tf.gather(self._is_suffix, ids.values))[:, 0]  # [W], of each word
        last = tf.concat([first[1:], [tf.size(ids.values, tf.int64)]], axis=0) - 1  # [W]
        word_start = tf.gather(starts.values, first)
        word_end = tf.gather(ends.values, last)

        def counted() -> Pieces:
            rows = tf.gather(ids.value_rowids(), first)
            too_long = count_chars(normalized, rows, word_start, word_end) > MAX_CHARS_PER_WORD
            in_too_long = tf.repeat(too_long, last - first + 1)  # [T]
            new_ids = tf.where(in_too_long, self._unk_id, ids.values)
            # Of such a word, the first piece stays: as [UNK], and as long as the word.
            new_ends = tf.where(in_too_long, tf.repeat(word_end, last - first + 1), ends.values)
            stays = ~(in_too_long & tf.gather(self._is_suffix, ids.values))
            before = tf.concat([[0], tf.cumsum(tf.cast(stays, tf.int64))], axis=0)
            splits = tf.gather(before, ids.row_splits)

            def kept(values: tf.Tensor) -> tf.RaggedTensor:
                values = tf.boolean_mask(values, stays)
                return tf.RaggedTensor.from_row_splits(values, splits, validate=False)

            return kept(new_ids), kept(starts.values), kept(new_ends)

        # No word has more characters than bytes, and counting bytes is cheap.
        has_many_bytes = tf.reduce_any(word_end - word_start > MAX_CHARS_PER_WORD)
        return tf.cond(has_many_bytes, counted, lambda: pieces)


def _tokens_for_the_op(vocab: Vocab, *, split_cjk: bool) -> list[str]:
    """The vocabulary as the op can take it: as many entries, none twice, none that misleads it.

    The op looks for pieces before it looks for spaces, so a token with a space in it would match
    across words; control characters it uses itself. No word of the rule has either in it.
    """
    tokens = []
    for id_, token in enumerate(vocab.tokens):
        body = token.removeprefix(_SUFFIX)
        if (
            not token
            or vocab.id_of(token) != id_
            or len(body) > MAX_CHARS_PER_WORD
            or not _may_be_in_a_word(body)
            or (not split_cjk and any(normalization.is_cjk_stand_in(c) for c in body))
        ):
            # The op does not use a token with punctuation among other characters.
            tokens.append(f"[\x01{id_}]")
            continue
        if not split_cjk:
            token = "".join(normalization.cjk_stand_in(c) for c in token)
        if len(body.encode()) > _MAX_BYTES_PER_PIECE:
            raise InputError(
                f"vocabulary, line {id_ + 1}: {token[:20]!r}… has {len(body.encode())} bytes, "
                f"more than the {_MAX_BYTES_PER_PIECE} that a piece may have"
            )
        tokens.append(token)
    # The op fails where it may use none of the tokens; this one it may, and text never has it.
    return [*tokens, "\x01"]


def _may_be_in_a_word(body: str) -> bool:
    if body.isprintable() and " " not in body:  # a quick check that most tokens pass
        return True
    return not any(normalization.is_whitespace(c) or normalization.is_dropped(c) for c in body)


def _suffixes_of_a_long_word(vocab: Vocab) -> int:
    """The fewest consecutive "##" pieces that a word of more than 200 characters can have."""
    lengths = np.array([len(t) for t in vocab.tokens if not t.startswith(_SUFFIX)])
    suffix_lengths = [len(t) - len(_SUFFIX) for t in vocab.tokens if t.startswith(_SUFFIX)]
    first = min(int(lengths.max()), MAX_CHARS_PER_WORD)
    others = max([1, *suffix_lengths])
    return math.ceil((MAX_CHARS_PER_WORD + 1 - first) / others)
