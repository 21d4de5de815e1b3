"""Words to the pieces of a vocabulary: greedy longest match, all of a word or none of it."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_text as text

from official_bert.text import normalization
from official_bert.text.vocab import Vocab

MAX_CHARS_PER_WORD = 200
_MAX_BYTES_PER_CHAR = 4
_MAX_BYTES_PER_PIECE = 256  # what the op can hold


class WordPieces(tf.Module):
    """Splits normalized text into words and words into pieces.

    tensorflow_text's FastWordpieceTokenizer does it in time linear in the text (Song et al. 2021).
    """

    def __init__(self, vocab: Vocab, *, split_cjk: bool) -> None:
        """Builds the op's model.

        Args:
          vocab: the vocabulary.
          split_cjk: whether each CJK character is a word of its own.
        """
        super().__init__(name="word_pieces")
        del split_cjk
        self._unk_id = vocab.unk_id
        self._op = text.FastWordpieceTokenizer(
            vocab=_reachable(vocab),
            unknown_token=vocab.tokens[vocab.unk_id],
            max_bytes_per_word=MAX_CHARS_PER_WORD * _MAX_BYTES_PER_CHAR,
            token_out_type=tf.int32,
        )

    def lookup(
        self, normalized: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """The pieces of strings [B]: ids, starts and limits (bytes), each int32 [B, (tokens)]."""
        return self._op.tokenize_with_offsets(normalized)


def _reachable(vocab: Vocab) -> list[str]:
    """The tokens for the op, which wants them unique, and takes some that the rule cannot reach.

    The op looks for pieces before it looks for spaces, so a token with a space in it would match
    across words; it also uses control characters for itself.
    """
    tokens = []
    for id_, token in enumerate(vocab.tokens):
        reachable = vocab.id_of(token) == id_ and not any(
            normalization.is_whitespace(c) or normalization.is_dropped(c) for c in token
        )
        # Punctuation within a longer token keeps the op from using it.
        tokens.append(token if reachable and token else f"[\x01{id_}]")
    return tokens
