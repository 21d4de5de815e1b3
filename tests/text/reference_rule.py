"""The tokenization rule in plain Python, slow and plain to read, to compare the product with.

It is written from the eight points below and knows nothing of the product; neither does the
product of it.

1. Invalid UTF-8 bytes, U+0000, U+FFFD and the categories Cc and Cf (but not tab, line feed and
   carriage return) vanish, with nothing in their place.
2. Whitespace is space, tab, line feed, carriage return and the categories Zs, Zl and Zp.
3. Each CJK character stands alone.
4. Lower-casing: str.lower of each whitespace-separated token; stripping accents: NFD without the
   category Mn. `strip_accents=None` does it where the text is lower-cased.
5. Punctuation is all of ASCII that is printable and neither letter, digit nor space, and the
   categories P*; each stands alone.
6. Greedy longest-match pieces with "##"; a word of more than 200 characters, or with a piece that
   is not found, is one [UNK].
7. The id of a token is the last line of the vocabulary, counted from 0, that holds it, once
   surrounding whitespace is stripped; lines end at "\\n" only.
8. Special tokens in the text are text.
"""

from __future__ import annotations

import functools
import pathlib
import unicodedata

MAX_CHARS = 200
CJK = (
    range(0x4E00, 0x9FFF + 1),
    range(0x3400, 0x4DBF + 1),
    range(0x20000, 0x2A6DF + 1),
    range(0x2A700, 0x2B73F + 1),
    range(0x2B740, 0x2B81F + 1),
    range(0x2B820, 0x2CEAF + 1),
    range(0xF900, 0xFAFF + 1),
    range(0x2F800, 0x2FA1F + 1),
)


class ReferenceRule:
    """Words and pieces of a text by the rule.

    Args:
      vocab: token -> id.
      lower_case, strip_accents, split_cjk: the settings of points 4 and 3.
    """

    def __init__(
        self,
        vocab: dict[str, int],
        lower_case: bool,
        strip_accents: bool | None = None,
        split_cjk: bool = True,
    ) -> None:
        self.vocab = vocab
        self.lower_case = lower_case
        self.strip_accents = lower_case if strip_accents is None else strip_accents
        self.split_cjk = split_cjk
        self._pieces_of: dict[str, list[str]] = {}
        self._longest = max((len(token) for token in vocab), default=0)

    def words(self, text: bytes | str) -> list[str]:
        """The normalized words of `text` (points 1 to 5)."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", errors="ignore")
        spaced = "".join([_cleaned(char, self.split_cjk) for char in text])
        words = []
        for token in spaced.split():
            words.extend(_split_at_punctuation(self._fold(token)))
        return words

    def pieces(self, word: str) -> list[str]:
        """The pieces of one normalized word (point 6)."""
        found = self._pieces_of.get(word)
        if found is None:
            found = self._pieces_of[word] = self._find_pieces(word)
            if len(self._pieces_of) > 500_000:
                self._pieces_of.clear()
        return found

    def tokens(self, text: bytes | str) -> list[str]:
        """The pieces of `text`."""
        return [piece for word in self.words(text) for piece in self.pieces(word)]

    def ids(self, text: bytes | str) -> list[int]:
        """The ids of the pieces of `text`."""
        return [self.vocab[piece] for piece in self.tokens(text)]

    def _fold(self, token: str) -> str:
        if self.lower_case:
            token = token.lower()
        if self.strip_accents:
            token = unicodedata.normalize("NFD", token)
            token = "".join(c for c in token if unicodedata.category(c) != "Mn")
        return token

    def _find_pieces(self, word: str) -> list[str]:
        if len(word) > MAX_CHARS:
            return ["[UNK]"]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                if prefix + word[start:end] in self.vocab:
                    pieces.append(prefix + word[start:end])
                    start = end
                    break
            else:
                return ["[UNK]"]
        return pieces


def read_vocab(path: pathlib.Path) -> dict[str, int]:
    """Point 7."""
    content = path.read_bytes().decode("utf-8")
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    return {line.strip(): number for number, line in enumerate(lines)}


@functools.cache
def _cleaned(char: str, split_cjk: bool) -> str:
    """Points 1 to 3 for one character."""
    if char in " \t\n\r" or unicodedata.category(char) in ("Zs", "Zl", "Zp"):
        return " "
    if char in "\0\ufffd" or unicodedata.category(char) in ("Cc", "Cf"):
        return ""
    if split_cjk and any(ord(char) in block for block in CJK):
        return f" {char} "
    return char


def _split_at_punctuation(token: str) -> list[str]:
    words: list[str] = []
    inside = False
    for char in token:
        if _is_punctuation(char):
            words.append(char)
            inside = False
        elif inside:
            words[-1] += char
        else:
            words.append(char)
            inside = True
    return words


@functools.cache
def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")
