"""Where words begin in Chinese text, for whole-word masking.

A Chinese vocabulary has single characters and no "##" in words of several, so the word pieces do
not tell which characters belong together; a word segmenter does (Cui et al. 2019, "Pre-Training
with Whole Word Masking for Chinese BERT").
"""

from __future__ import annotations

import importlib.util
import logging
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from official_bert.errors import InputError
from official_bert.text.normalization import CJK_RANGES

SEGMENTERS = ("jieba",)


class Segmenter(Protocol):
    """Finds the words of a line."""

    def within_words(self, line: bytes, starts: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which tokens continue the word of the token before them.

        Args:
            line: UTF-8.
            starts: int32 [n], where the tokens start in it, in bytes.

        Returns:
            bool [n].
        """


def check_segmenter(name: str) -> None:
    """Raises InputError for a segmenter that there is not, or that is not installed."""
    if name not in SEGMENTERS:
        raise InputError(f"word_segmenter={name!r} is not one of {SEGMENTERS}")
    if importlib.util.find_spec(name) is None:
        raise InputError(
            f"word_segmenter={name} is not installed: pip install 'official-bert[chinese]'"
        )


def make_segmenter(name: str) -> Segmenter:
    """The segmenter of this name."""
    check_segmenter(name)
    return _Jieba()


class _Jieba:
    def __init__(self) -> None:
        import jieba

        jieba.setLogLevel(logging.WARNING)
        self._jieba: Any = jieba

    def within_words(self, line: bytes, starts: NDArray[np.int32]) -> NDArray[np.bool_]:
        if line.isascii():
            return np.zeros(len(starts), bool)
        # A byte that is not UTF-8 becomes one character and, encoded again, one byte.
        text = line.decode("utf-8", "surrogateescape")
        continues = np.zeros(len(line) + 1, bool)
        at = 0
        for word in self._jieba.cut(text):
            word_start = at
            for character in word:
                continues[at] = at > word_start and _is_cjk(character)
                at += len(character.encode("utf-8", "surrogateescape"))
        return continues[starts]


def _is_cjk(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in CJK_RANGES)
