"""The one tokenizer: text to word-piece ids in TensorFlow ops, equal to google-research/bert's."""

from __future__ import annotations

import functools
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text as text

from official_bert.text import normalization, tokenizer_config
from official_bert.text.detokenizer import Detokenizer
from official_bert.text.kept_tokens import KeptTokens
from official_bert.text.normalizer_model import build_normalizer_model
from official_bert.text.offsets import char_sizes, flat_bytes
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab
from official_bert.text.wordpiece import Pieces, WordPieces

# Stands for an invalid byte until the normalizer drops it, as it drops every control character.
_INVALID = 1
_REPLACEMENT = 0xFFFD  # what the decoder makes of an invalid byte, or of several in a row
_STRINGS = (tf.TensorSpec([None], tf.string),)
_IDS = (tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1),)
_NO_CHARACTER = "\U0010ffff"
_SURROGATES = r"\x{D800}-\x{DFFF}"  # RE2 takes them for characters, UTF-8 does not


class BertTokenizer(tf.Module):
    """Word-piece ids of strings, by the rule that published BERT checkpoints were trained with.

        tokenizer = BertTokenizer(Vocab.from_file("vocab.txt"), lower_case=True)
        tokenizer.tokenize(["Paris, 1990s"])  # <tf.RaggedTensor [[3000, 1010, 4134]]>
        tokenizer.tokenize_with_offsets(["Paris, 1990s"])
        # ids [[3000, 1010, 4134]], starts [[0, 5, 7]], limits [[5, 6, 12]]

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
        strips = lower_case if strip_accents is None else strip_accents
        self._cleaner = text.FastBertNormalizer(model_buffer=_cleaner_model())
        self._normalizer = text.FastBertNormalizer(
            model_buffer=_normalizer_model(lower_case, strips, tokenize_chinese_chars)
        )
        self._word_pieces = WordPieces(self.vocab, split_cjk=tokenize_chinese_chars)
        self._kept_tokens = KeptTokens(self.vocab, added_tokens) if keep_special_tokens else None
        self._detokenizer = Detokenizer(self.vocab)
        self._vocab_folder = tempfile.TemporaryDirectory(prefix="bert_vocab_")
        vocab_path = pathlib.Path(self._vocab_folder.name) / tokenizer_config.VOCAB_FILE_NAME
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
        """The ids of the word pieces and where they stand in `strings`.

        Args:
          strings: as for `tokenize`.

        Returns:
          ids, starts and limits, each int32 and shaped as by `tokenize`: starts and limits count
          bytes of the string that was given, limits are exclusive. Accents and other characters
          that the tokenizer drops belong to the piece before them.
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
        ids, starts, limits = self._pieces(strings, self._pieces_with_offsets)
        return ids, tf.cast(starts, tf.int32), tf.cast(limits, tf.int32)

    @tf.function(input_signature=_IDS, autograph=False)
    def detokenize_batch(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """`detokenize` for ids [B, (tokens)]; an exported tokenizer has it."""
        return self._detokenizer.text(ids)

    def _pieces(self, strings: tf.Tensor, plain: Callable[[tf.Tensor], Pieces]) -> Pieces:
        if self._kept_tokens is None:
            return plain(strings)
        return self._kept_tokens.pieces(strings, plain)

    def _pieces_without_offsets(self, strings: tf.Tensor) -> Pieces:
        """The pieces of strings [B]; starts and limits count bytes of the normalized strings."""
        return self._word_pieces.lookup(self._normalizer.normalize(self._repair(strings)))

    def _pieces_with_offsets(self, strings: tf.Tensor) -> Pieces:
        """The pieces of strings [B]; starts and limits count bytes of `strings`.

        What is dropped for good (controls) goes first, accents go later, so that a piece ends
        behind its accents but before a zero-width space.
        """
        cleaned, in_source = self._cleaner.normalize_with_offsets(self._repair(strings))
        normalized, in_cleaned = self._normalizer.normalize_with_offsets(cleaned)
        ids, starts, limits = self._word_pieces.lookup(normalized)
        # Both maps have an entry for each byte of their text and one for its end.
        row = ids.value_rowids()
        first = tf.gather(in_cleaned.row_starts(), row)
        last = tf.gather(in_cleaned.values, first + limits.values - 1)
        start = tf.gather(in_cleaned.values, first + starts.values)
        limit = tf.gather(in_cleaned.values, first + limits.values)
        limit = _behind_character(cleaned, row, last, limit)
        first = tf.gather(in_source.row_starts(), row)
        start = tf.gather(in_source.values, first + start)
        limit = tf.gather(in_source.values, first + limit - 1) + 1
        return ids, starts.with_values(start), limits.with_values(limit)

    def _repair(self, strings: tf.Tensor) -> tf.Tensor:
        """What the normalizer cannot see from one code point: invalid bytes and the final sigma.

        Every change is byte for byte: offsets stay.
        """
        lower_case = self.tokenizer_config.lower_case
        split_cjk = self.tokenizer_config.tokenize_chinese_chars
        sigma = "Σ" if lower_case else ""
        stand_ins = "" if split_cjk else normalization.STAND_IN_CLASS

        def repaired(some: tf.Tensor) -> tf.Tensor:
            some = _where_not(f"[^{_SURROGATES}]*", some, _mask_invalid_bytes)
            if lower_case:
                pattern = normalization.final_sigma_pattern()
                some = tf.strings.regex_replace(some, pattern, r"\1ς\2")
            if not split_cjk:
                some = tf.strings.regex_replace(some, f"[{stand_ins}]", _NO_CHARACTER)
            return some

        return _where_not(f"[^{_SURROGATES}{sigma}{stand_ins}]*", strings, repaired)


def _where_not(
    pattern: str, strings: tf.Tensor, change: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Changes those of the strings [B] that `pattern` does not match; there are few of them."""
    matches = tf.strings.regex_full_match(strings, f"(?s){pattern}")

    def changed() -> tf.Tensor:
        places = tf.where(~matches)  # [n, 1]
        some = change(tf.gather_nd(strings, places))
        return tf.tensor_scatter_nd_update(strings, places, some)

    return tf.cond(tf.reduce_all(matches), lambda: strings, changed)


def _mask_invalid_bytes(strings: tf.Tensor) -> tf.Tensor:
    """Puts `_INVALID` in the place of every byte of strings [B] that is no part of valid UTF-8."""
    codes, begins = tf.strings.unicode_decode_with_offsets(strings, "UTF-8", errors="replace")
    code_units, row_starts = flat_bytes(strings)
    begin = begins.values + tf.gather(row_starts, begins.value_rowids())
    size = tf.concat([begin[1:], [tf.size(code_units, tf.int64)]], axis=0) - begin
    is_invalid = tf.repeat(codes.values == _REPLACEMENT, size)
    by_byte = tf.constant([bytes([code_unit]) for code_unit in range(256)])
    masked = tf.gather(by_byte, tf.where(is_invalid, _INVALID, tf.cast(code_units, tf.int32)))
    return tf.strings.reduce_join(
        tf.RaggedTensor.from_row_starts(masked, row_starts, validate=False), axis=1
    )


def _behind_character(
    strings: tf.Tensor, rows: tf.Tensor, last: tf.Tensor, limits: tf.Tensor
) -> tf.Tensor:
    """Moves each limit that is not behind the character at `last` to the end of that character.

    One character may become several (NFD of Hangul) and a piece may end between them.

    Args:
      strings: string [B], valid UTF-8.
      rows: int64 [T], the string of each piece.
      last, limits: int64 [T], in bytes.
    """
    is_within = limits <= last

    def moved() -> tf.Tensor:
        starts, of_rows = tf.boolean_mask(last, is_within), tf.boolean_mask(rows, is_within)
        sizes = char_sizes(strings, of_rows, starts)
        return tf.tensor_scatter_nd_update(limits, tf.where(is_within), starts + sizes)

    return tf.cond(tf.reduce_any(is_within), moved, lambda: limits)


@functools.cache
def _normalizer_model(lower_case: bool, strip_accents: bool, split_cjk: bool) -> tf.Tensor:
    return _model_buffer(
        normalization.normalization_map(
            lower_case=lower_case, strip_accents=strip_accents, split_cjk=split_cjk
        )
    )


@functools.cache
def _cleaner_model() -> tf.Tensor:
    return _model_buffer(normalization.cleaning_map())


def _model_buffer(mapping: Mapping[str, str]) -> tf.Tensor:
    with tf.init_scope():
        return tf.constant(np.frombuffer(build_normalizer_model(mapping), np.uint8))


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
