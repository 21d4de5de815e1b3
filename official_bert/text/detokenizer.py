"""Ids back to readable text, in the graph."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import tensorflow as tf

from official_bert.text import normalization
from official_bert.text.vocab import Vocab

_SUFFIX = "##"
_OPENING = frozenset("#$@¡¿")  # besides the Unicode categories Ps and Pi
_JOINING = frozenset("'’/\\_")  # besides the dashes, Pd
_SPACED = frozenset("&*")  # punctuation that has a space on both sides
_QUOTE = '"'


class Detokenizer(tf.Module):
    """Puts pieces together and leaves out the spaces that a writer would not write.

    No space before a "##" piece and before most punctuation; none behind opening brackets; none
    around dashes, slashes and apostrophes; none between CJK characters. What a tokenizer makes of
    the text is what the text was made of, unless [UNK] is in it.
    """

    def __init__(self, vocab: Vocab) -> None:
        """Classifies the tokens of `vocab` by how they are spaced from their neighbours."""
        super().__init__(name="detokenizer")
        bodies = [token.removeprefix(_SUFFIX) for token in vocab.tokens]
        joints = (vocab.pad_id, vocab.cls_id, vocab.sep_id)

        def table(test: Callable[[str], bool]) -> tf.Tensor:
            return tf.constant([test(body) for body in bodies])  # bool [V]

        self._bodies = tf.constant(bodies)
        self._is_shown = tf.constant([id_ not in joints for id_ in range(len(vocab))])
        self._is_suffix = tf.constant([token.startswith(_SUFFIX) for token in vocab.tokens])
        self._is_closing = table(_is_closing)
        self._is_opening = table(_is_opening)
        self._is_joining = table(_is_joining)
        self._is_quote = table(lambda body: body == _QUOTE)
        self._is_point = table(lambda body: body in (".", ":"))
        self._is_comma = table(lambda body: body == ",")
        self._is_number = table(str.isdecimal)
        self._is_thousand = table(lambda body: body.isdecimal() and len(body) == 3)
        self._is_ideograph = table(_is_ideograph)
        self._is_wide = table(_is_wide)

    def text(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """The texts of ids: int32 [B, (tokens)] -> string [B].

        [PAD], [CLS] and [SEP] are left out; a piece at the start loses its "##".
        """
        ids = tf.ragged.boolean_mask(ids, ids.with_values(tf.gather(self._is_shown, ids.values)))
        here = ids.values  # [T]
        # The neighbours; those of other rows do no harm: there is no space before a row.
        before = tf.roll(here, 1, axis=0)
        before_that = tf.roll(here, 2, axis=0)
        opens, closes = self._quotes(ids)

        def both(table: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return tf.gather(table, before), tf.gather(table, here)

        (opened, _), (_, closing) = both(self._is_opening), both(self._is_closing)
        joining, joined = both(self._is_joining)
        ideograph_before, ideograph = both(self._is_ideograph)
        wide_before, wide = both(self._is_wide)
        after_point, _ = both(self._is_point)
        after_comma, _ = both(self._is_comma)
        in_number = tf.gather(self._is_number, before_that) & (
            (after_point & tf.gather(self._is_number, here))
            | (after_comma & tf.gather(self._is_thousand, here))
        )
        no_space = (
            tf.gather(self._is_suffix, here)
            | (opened | tf.roll(opens, 1, axis=0))
            | (closing | closes)
            | (joining | joined)
            | (wide_before & wide & (ideograph_before | ideograph))
            | in_number
        )
        bodies = tf.gather(self._bodies, here)
        spaced = ids.with_values(tf.where(no_space, bodies, tf.strings.join([" ", bodies])))
        text = tf.strings.reduce_join(spaced, axis=1)
        return tf.strings.regex_replace(text, "^ ", "")

    def _quotes(self, ids: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Which tokens are a straight quote that opens or closes: bool [T] each, by turns."""
        is_quote = tf.gather(self._is_quote, ids.values)
        count = tf.concat([[0], tf.cumsum(tf.cast(is_quote, tf.int32))], axis=0)
        before_row = tf.gather(count, tf.gather(ids.row_starts(), ids.value_rowids()))
        is_odd = (count[:-1] - before_row) % 2 == 1
        return is_quote & ~is_odd, is_quote & is_odd


def _is_opening(body: str) -> bool:
    return len(body) == 1 and (body in _OPENING or unicodedata.category(body) in ("Ps", "Pi"))


def _is_joining(body: str) -> bool:
    return len(body) == 1 and (body in _JOINING or unicodedata.category(body) == "Pd")


def _is_closing(body: str) -> bool:
    return (
        len(body) == 1
        and unicodedata.category(body).startswith("P")
        and body not in _SPACED
        and body != _QUOTE
        and not _is_opening(body)
        and not _is_joining(body)
    )


def _is_ideograph(body: str) -> bool:
    """True for characters that Chinese and Japanese text sets no space beside; they split words."""
    if len(body) != 1:
        return False
    is_cjk = normalization.cjk_stand_in(body) != body
    return is_cjk or (normalization.is_punctuation(body) and _is_wide(body))


def _is_wide(body: str) -> bool:
    """True for CJK, kana and wide punctuation; Korean writes spaces."""
    if not body or unicodedata.east_asian_width(body[0]) not in ("W", "F"):
        return False
    return not unicodedata.name(body[0], "").startswith("HANGUL")
