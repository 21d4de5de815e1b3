"""Tokens that are matched in the text before anything else and stay whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import tensorflow as tf
import tensorflow_text as text

from official_bert.text.vocab import Vocab
from official_bert.text.wordpiece import Pieces


class KeptTokens(tf.Module):
    """Finds kept tokens in strings and leaves what is between them to another function.

    Where several tokens match at a position, the longest is taken. The text between two of them is
    a text of its own, as in Hugging Face's tokenizers.
    """

    def __init__(self, vocab: Vocab, added_tokens: Sequence[str]) -> None:
        """Keeps the five special tokens, the [unusedN] of `vocab` and `added_tokens`."""
        super().__init__(name="kept_tokens")
        ids = {*vocab.special_ids, *vocab.unused_ids, *map(vocab.id_of, added_tokens)}
        self._ids = tf.constant(sorted(ids), tf.int32)  # [K]
        tokens = [vocab.tokens[id_] for id_ in sorted(ids)]
        self._tokens = tf.constant(tokens)  # [K]
        longest_first = sorted(tokens, key=len, reverse=True)
        self._pattern = f"({'|'.join(map(re.escape, longest_first))})"

    def pieces(self, strings: tf.Tensor, between: Callable[[tf.Tensor], Pieces]) -> Pieces:
        """The pieces of strings [B].

        Args:
          strings: string [B].
          between: gives the pieces of strings [P], the parts of `strings` without kept tokens.
        """
        # The op takes U+0000 for the end of a string; another control will do as well: both go.
        strings = tf.strings.regex_replace(strings, r"\x00", "\x01")
        parts, *offsets = text.regex_split_with_offsets(strings, self._pattern, self._pattern)
        part, part_start, part_end = (ragged.values for ragged in (parts, *offsets))  # [P]
        is_kept = tf.strings.regex_full_match(part, self._pattern)
        ids, starts, ends = between(tf.where(is_kept, "", part))
        shift = tf.gather(part_start, ids.value_rowids())
        distinct, number = tf.unique(tf.boolean_mask(part, is_kept))
        found = tf.gather(tf.argmax(distinct[:, tf.newaxis] == self._tokens, axis=1), number)

        def joined(between_kept: tf.RaggedTensor, kept: tf.Tensor) -> tf.RaggedTensor:
            """One row a part, then one a string: a part is a kept token or has pieces."""
            rows = tf.RaggedTensor.from_row_lengths(kept, tf.cast(is_kept, tf.int64))
            by_part = tf.concat([between_kept, rows], axis=1)
            return parts.with_values(by_part).merge_dims(1, 2)

        return (
            joined(ids, tf.gather(self._ids, found)),
            joined(starts.with_values(starts.values + shift), tf.boolean_mask(part_start, is_kept)),
            joined(ends.with_values(ends.values + shift), tf.boolean_mask(part_end, is_kept)),
        )
