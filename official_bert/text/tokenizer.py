"""The one tokenizer: text to word-piece ids in TensorFlow ops, equal to google-research/bert's."""

from __future__ import annotations

import functools
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from official_bert.model_folder import VOCAB_NAME
from official_bert.text import tokenizer_config
from official_bert.text.detokenizer import Detokenizer
from official_bert.text.kept_tokens import KeptTokens
from official_bert.text.normalizer import Normalizer
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab
from official_bert.text.wordpiece import Pieces, WordPieces

_STRINGS = (tf.TensorSpec([None], tf.string),)
_IDS = (tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1),)


class BertTokenizer(tf.Module):
    """Word-piece ids of strings, by the rule that published BERT checkpoints were trained with.

        tokenizer = BertTokenizer(Vocab.from_file("vocab.txt"), lower_case=True)
        tokenizer.tokenize(["Paris, 1990s"])  # <tf.RaggedTensor [[3000, 1010, 4134]]>
        tokenizer.tokenize_with_offsets(["Paris, 1990s"])
        # ids [[3000, 1010, 4134]], starts [[0, 5, 7]], ends [[5, 6, 12]]

    It is made of TensorFlow ops alone, so that the same graph runs in data preparation, training
    and an exported SavedModel; that needs tensorflow_text to be imported and nothing else.

    Attributes:
      vocab: the vocabulary, with the added tokens.
      tokenizer_config: the settings.
      vocab_asset: vocab.txt, which an export takes along among its assets.
    """

    def __init__(
        self,
        vocab: Vocab,
        lower_case: bool = True,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        keep_special_tokens: bool = False,
        *,
        added_tokens: Sequence[str] = (),
        model_max_length: int | None = None,
    ) -> None:
        """Makes a tokenizer; see `TokenizerConfig` for what the settings mean."""
        super().__init__(name="bert_tokenizer")
        self.vocab = vocab.with_added_tokens(added_tokens)
        self.tokenizer_config = TokenizerConfig(
            lower_case=lower_case,
            strip_accents=strip_accents,
            tokenize_chinese_chars=tokenize_chinese_chars,
            keep_special_tokens=keep_special_tokens,
            model_max_length=model_max_length,
            added_tokens=tuple(sorted(set(added_tokens), key=self.vocab.id_of)),
        )
        self._normalizer = Normalizer(
            lower_case=lower_case,
            strip_accents=lower_case if strip_accents is None else strip_accents,
            split_cjk=tokenize_chinese_chars,
        )
        self._word_pieces = WordPieces(self.vocab, split_cjk=tokenize_chinese_chars)
        self._kept_tokens = KeptTokens(self.vocab, added_tokens) if keep_special_tokens else None
        self._vocab_folder = tempfile.TemporaryDirectory(prefix="bert_vocab_")
        vocab_path = pathlib.Path(self._vocab_folder.name) / VOCAB_NAME
        self.vocab.save(vocab_path)
        self.vocab_asset = tf.saved_model.Asset(str(vocab_path))

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> BertTokenizer:
        """Reads vocab.txt and tokenizer_config.json, as `save` and Hugging Face write them.

        Raises:
          InputError: a file is missing or not what it should be.
        """
        vocab, config = tokenizer_config.load(folder)
        return cls(vocab, **config.settings())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes vocab.txt and tokenizer_config.json into `folder`, which is made if need be."""
        tokenizer_config.save(folder, self.vocab, self.tokenizer_config)

    def config(self) -> dict[str, Any]:
        """The settings by name, as the constructor takes them."""
        return self.tokenizer_config.settings()

    def tokenize(self, strings: Any) -> tf.Tensor | tf.RaggedTensor:
        """The ids of the word pieces.

        Args:
          strings: string of any shape, dense or ragged, or what makes one (a str, a list).

        Returns:
          int32, with one ragged dimension more than `strings`: [B] -> [B, (tokens)]; a scalar gives
          a vector [tokens].
        """
        return _over_last_dimension(self.tokenize_batch, strings)

    def tokenize_with_offsets(self, strings: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The ids of the word pieces and their offsets in `strings`.

        Args:
          strings: as for `tokenize`.

        Returns:
          ids, starts and ends, each int32 and shaped as by `tokenize`: each piece is bytes
          [start, end) of the string that was given. Accents that the tokenizer drops belong to the
          piece before them; controls only within a word.
        """
        return _over_last_dimension(self.tokenize_batch_with_offsets, strings)

    def detokenize(self, ids: Any) -> tf.Tensor:
        """Readable text of ids, as a writer would space it.

            tokenizer.detokenize([[101, 2123, 1005, 1056, 2175, 1010, 8840, 2063, 999, 102, 0]])
            # [b"don't go, loe!"]

        Args:
          ids: int [B, (tokens)], dense or ragged, or a vector [tokens]. [PAD], [CLS] and [SEP] are
            left out.

        Returns:
          string [B], or a scalar for a vector.
        """
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.convert_to_tensor(ids)
            if ids.shape.rank == 1:
                return self.detokenize(ids[tf.newaxis])[0]
            ids = tf.RaggedTensor.from_tensor(ids)
        ids = tf.cast(ids, tf.int32).with_row_splits_dtype(tf.int64)
        return self.detokenize_batch(ids)

    @tf.function(input_signature=_STRINGS, autograph=False)
    def tokenize_batch(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """`tokenize` for strings [B]; an exported tokenizer has it."""
        return self._pieces(strings, self._pieces_without_offsets)[0]

    @tf.function(input_signature=_STRINGS, autograph=False)
    def tokenize_batch_with_offsets(
        self, strings: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """`tokenize_with_offsets` for strings [B]; an exported tokenizer has it."""
        ids, starts, ends = self._pieces(strings, self._pieces_with_offsets)
        return ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)

    @tf.function(input_signature=_IDS, autograph=False)
    def detokenize_batch(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """`detokenize` for ids [B, (tokens)]; an exported tokenizer has it."""
        return self._detokenizer.text(ids)

    @functools.cached_property
    def _detokenizer(self) -> Detokenizer:
        # Made at its first use, perhaps while a graph is traced: most programs never use it.
        with tf.init_scope():
            return Detokenizer(self.vocab)

    def _pieces(self, strings: tf.Tensor, plain: Callable[[tf.Tensor], Pieces]) -> Pieces:
        if self._kept_tokens is None:
            return plain(strings)
        return self._kept_tokens.pieces(strings, plain)

    def _pieces_without_offsets(self, strings: tf.Tensor) -> Pieces:
        """The pieces of strings [B]; starts and ends count bytes of the normalized strings."""
        return self._word_pieces.lookup(self._normalizer.normalize(strings))

    def _pieces_with_offsets(self, strings: tf.Tensor) -> Pieces:
        """The pieces of strings [B]; starts and ends count bytes of `strings`."""
        normalized, sources = self._normalizer.normalize_with_sources(strings)
        ids, starts, ends = self._word_pieces.lookup(normalized)
        return ids, *sources.spans(starts, ends)


def _over_last_dimension(function: Any, strings: Any) -> Any:
    """Calls `function`, which takes strings [B], on strings of any rank."""
    if not isinstance(strings, tf.RaggedTensor):
        strings = tf.convert_to_tensor(strings, tf.string)
    rank = strings.shape.rank
    if rank is None:
        raise ValueError("strings must have a known rank")
    if rank == 1:
        return function(strings)
    if rank == 0:
        return tf.nest.map_structure(
            lambda ragged: ragged.values, function(strings[tf.newaxis]), expand_composites=False
        )
    if not isinstance(strings, tf.RaggedTensor):
        strings = tf.RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    return tf.nest.map_structure(
        strings.with_flat_values, function(strings.flat_values), expand_composites=False
    )
