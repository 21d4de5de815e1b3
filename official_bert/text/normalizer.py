"""Text as word pieces are looked up in it, and where each byte of that came from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf
import tensorflow_text as text

from official_bert.text import normalization
from official_bert.text.normalizer_model import build_normalizer_model
from official_bert.text.offsets import char_sizes, flat_bytes

# Stands for an invalid byte until the normalizer drops it, as it drops every control character.
_INVALID = 1
_REPLACEMENT = 0xFFFD  # what the decoder makes of an invalid byte, or of several consecutive ones
_NO_CHARACTER = "\U0010ffff"
_SURROGATES = r"\x{D800}-\x{DFFF}"  # RE2 takes them for characters, UTF-8 does not


class Normalizer(tf.Module):
    """Cleans text, and lower-cases it and strips accents where that is asked for.

    The op that does it replaces code points one by one by a table (`normalization`); what takes
    more than one code point to see is put right before, byte for byte: invalid UTF-8 and the final
    sigma.
    """

    def __init__(self, *, lower_case: bool, strip_accents: bool, split_cjk: bool) -> None:
        """Makes a normalizer.

        Args:
          lower_case, strip_accents: what to do.
          split_cjk: whether the CJK characters are to be split; if not, others replace them
            (`normalization.cjk_stand_in`).
        """
        super().__init__(name="normalizer")
        self._lower_case = lower_case
        self._split_cjk = split_cjk
        self._cleaner = text.FastBertNormalizer(model_buffer=_cleaner_model())
        self._normalizer = text.FastBertNormalizer(
            model_buffer=_normalizer_model(lower_case, strip_accents, split_cjk)
        )

    def normalize(self, strings: tf.Tensor) -> tf.Tensor:
        """Normalizes strings [B]."""
        return self._normalizer.normalize(self._repair(strings))

    def normalize_with_sources(self, strings: tf.Tensor) -> tuple[tf.Tensor, Sources]:
        """Normalizes strings [B], and tells where in them each byte of the result came from."""
        # What is dropped for good (controls) goes first, accents go later, so that a piece can end
        # behind its accents but before a zero-width space.
        cleaned, in_source = self._cleaner.normalize_with_offsets(self._repair(strings))
        normalized, in_cleaned = self._normalizer.normalize_with_offsets(cleaned)
        return normalized, Sources(cleaned, in_source, in_cleaned)

    def _repair(self, strings: tf.Tensor) -> tf.Tensor:
        """Changes what the table cannot: every change is byte for byte, so that offsets stay."""
        sigma = "Σ" if self._lower_case else ""
        stand_ins = "" if self._split_cjk else normalization.STAND_IN_CLASS

        def repaired(some: tf.Tensor) -> tf.Tensor:
            some = _where_not(f"[^{_SURROGATES}]*", some, _mask_invalid_bytes)
            if self._lower_case:
                pattern = normalization.final_sigma_pattern()
                some = tf.strings.regex_replace(some, pattern, r"\1ς\2")
            if not self._split_cjk:
                some = tf.strings.regex_replace(some, f"[{stand_ins}]", _NO_CHARACTER)
            return some

        return _where_not(f"[^{_SURROGATES}{sigma}{stand_ins}]*", strings, repaired)


class Sources:
    """Where the bytes of normalized strings came from."""

    def __init__(
        self, cleaned: tf.Tensor, in_source: tf.RaggedTensor, in_cleaned: tf.RaggedTensor
    ) -> None:
        """Keeps two maps; both have an entry for each byte of their text and one for its end.

        Args:
          cleaned: string [B], without controls.
          in_source: int64 [B, (bytes)], where the bytes of `cleaned` are in the source.
          in_cleaned: int64 [B, (bytes)], where those of the normalized strings are in `cleaned`.
        """
        self._cleaned = cleaned
        self._in_source = in_source
        self._in_cleaned = in_cleaned

    def spans(
        self, starts: tf.RaggedTensor, ends: tf.RaggedTensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """The parts of the source that parts of the normalized strings came from.

        Args:
          starts, ends: int64 [B, (tokens)], in bytes; no part is empty.

        Returns:
          starts and ends, int64 [B, (tokens)], in bytes of the source.
        """
        row = starts.value_rowids()
        first = tf.gather(self._in_cleaned.row_starts(), row)
        last = tf.gather(self._in_cleaned.values, first + ends.values - 1)
        start = tf.gather(self._in_cleaned.values, first + starts.values)
        end = tf.gather(self._in_cleaned.values, first + ends.values)
        end = _behind_character(self._cleaned, row, last, end)
        first = tf.gather(self._in_source.row_starts(), row)
        start = tf.gather(self._in_source.values, first + start)
        end = tf.gather(self._in_source.values, first + end - 1) + 1
        return starts.with_values(start), ends.with_values(end)


def _where_not(
    pattern: str, strings: tf.Tensor, change: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Changes those of the strings [B] that `pattern` does not match; there are few of them."""
    matches = tf.strings.regex_full_match(strings, f"(?s){pattern}")

    def changed() -> tf.Tensor:
        indices = tf.where(~matches)  # [n, 1]
        some = change(tf.gather_nd(strings, indices))
        return tf.tensor_scatter_nd_update(strings, indices, some)

    return tf.cond(tf.reduce_all(matches), lambda: strings, changed)


def _mask_invalid_bytes(strings: tf.Tensor) -> tf.Tensor:
    """Replaces every byte of strings [B] that is no part of valid UTF-8 by `_INVALID`."""
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
    strings: tf.Tensor, rows: tf.Tensor, last: tf.Tensor, ends: tf.Tensor
) -> tf.Tensor:
    """Moves each end that is not behind the character at `last` to where that character ends.

    One character may become several (NFD of Hangul) and a piece may end between them.

    Args:
      strings: string [B], valid UTF-8.
      rows: int64 [T], the string of each piece.
      last, ends: int64 [T], in bytes.
    """
    is_within = ends <= last

    def moved() -> tf.Tensor:
        starts, of_rows = tf.boolean_mask(last, is_within), tf.boolean_mask(rows, is_within)
        sizes = char_sizes(strings, of_rows, starts)
        return tf.tensor_scatter_nd_update(ends, tf.where(is_within), starts + sizes)

    return tf.cond(tf.reduce_any(is_within), moved, lambda: ends)


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
