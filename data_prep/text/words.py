"""Text -> the words that the tokenizer looks up pieces for, in plain Python.

The rule is that of `official_bert/text/normalization.py`, applied to whole texts. It serves where
words are wanted and not their pieces: a vocabulary that is yet to be learned has none.
"""

from __future__ import annotations

import re
import sys
import unicodedata

from official_bert.text import normalization

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
# Letters, numbers and unassigned code points are neither dropped nor apart.
_CATEGORIES = {"Cc", "Cf", "Mn", "So", "Zs", "Zl", "Zp"} | {f"P{kind}" for kind in "cdefios"}


class WordSplitter:
    """Splits text into normalised words.

    `WordSplitter(lower_case=True)("Ça va, déjà-vu?")` gives
    ["ca", "va", ",", "deja", "-", "vu", "?"].

    Args:
        lower_case: lower-case the text and strip accents.
    """

    def __init__(self, lower_case: bool) -> None:
        self._lower_case = lower_case
        characters = [
            char
            for char in map(chr, range(sys.maxunicode + 1))
            if char < "\x80" or unicodedata.category(char) in _CATEGORIES
        ]
        self._dropped = dict.fromkeys(map(ord, filter(normalization.is_dropped, characters)))
        self._accents = dict.fromkeys(
            ord(char) for char in characters if unicodedata.category(char) == "Mn"
        )
        ascii_dropped = "".join(chr(code) for code in self._dropped if code < 128)
        self._ascii_dropped = re.compile(f"[{re.escape(ascii_dropped)}]+")
        alone = list(filter(normalization.is_punctuation, characters))
        ascii_alone = re.escape("".join(char for char in alone if char < "\x80"))
        others_alone = "".join(char for char in alone if char >= "\x80")
        others_alone += "".join(f"{chr(low)}-{chr(high)}" for low, high in normalization.CJK_RANGES)
        space = "".join(filter(normalization.is_whitespace, characters))
        # Plain letters and punctuation are tried first: the large classes are slow to search.
        self._word = re.compile(
            rf"(?:[a-zA-Z0-9]+|[^\x00-\x7f{space}{others_alone}])+"
            rf"|[{ascii_alone}]|(?![\x00-\x7f])[{others_alone}]"
        )

    def __call__(self, text: str) -> list[str]:
        """The words of `text`, in order."""
        text = self._ascii_dropped.sub("", text)
        text = _BEYOND_ASCII.sub(lambda run: run[0].translate(self._dropped), text)
        if self._lower_case:
            text = _BEYOND_ASCII.sub(self._without_accents, text.lower())
        return self._word.findall(text)

    def _without_accents(self, run: re.Match[str]) -> str:
        return unicodedata.normalize("NFD", run[0]).translate(self._accents)
