"""What becomes of each code point before word pieces are looked up, by Python's unicodedata.

The rule is google-research/bert `tokenization.py` (BasicTokenizer), as a map from one code point to
a string. Everything in it but one thing works on single code points; the one thing is the final
sigma of Greek, for which `final_sigma_pattern` describes the context.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator

# The code points that google-research/bert sets apart as words of their own. Hangul, kana and Thai
# are not among them.
CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# Outside of these blocks no code point is changed: planes 2 to 13 hold ideographs (only the
# compatibility ones decompose) and nothing; plane 14 holds tags and variation selectors; planes 15
# and 16 are for private use.
_BLOCKS_WITH_CHANGES = ((0, 0x1FFFF), (0x2F800, 0x2FA1F), (0xE0000, 0xE0FFF))
_SURROGATES = range(0xD800, 0xE000)
# Where CJK characters are not to be split, others replace them from normalization on, since the
# WordPiece op splits CJK always. Planes 4 and 5 are unassigned and have 131,072 code points for the
# 81,520 characters of CJK_RANGES.
_FIRST_STAND_IN = 0x40000
_CJK_COUNT = sum(last - first + 1 for first, last in CJK_RANGES)
STAND_IN_CLASS = f"\\x{{{_FIRST_STAND_IN:X}}}-\\x{{{_FIRST_STAND_IN + _CJK_COUNT - 1:X}}}"
_REPLACEMENT_CHARACTER = "\ufffd"


def is_whitespace(char: str) -> bool:
    """True for tab, line feed, carriage return and the separators (Zs, Zl, Zp)."""
    return char in "\t\n\r" or unicodedata.category(char).startswith("Z")


def is_dropped(char: str) -> bool:
    """True for U+0000, U+FFFD, controls and formats (Cc, Cf), but not tab, line feed and return."""
    if char == _REPLACEMENT_CHARACTER:
        return True
    return unicodedata.category(char) in ("Cc", "Cf") and char not in "\t\n\r"


def is_punctuation(char: str) -> bool:
    """True for what is punctuation in Unicode, and for all printable ASCII that is no letter."""
    code = ord(char)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(char).startswith("P")


def cjk_stand_in(char: str) -> str:
    """The character that replaces a CJK one where CJK is not split; all others stay."""
    code, stand_in = ord(char), _FIRST_STAND_IN
    for first, last in CJK_RANGES:
        if first <= code <= last:
            return chr(stand_in + code - first)
        stand_in += last - first + 1
    return char


def is_cjk_stand_in(char: str) -> bool:
    """True for what `cjk_stand_in` uses."""
    return _FIRST_STAND_IN <= ord(char) < _FIRST_STAND_IN + _CJK_COUNT


def normalize_char(char: str, *, lower_case: bool, strip_accents: bool) -> str:
    """What replaces `char` in the text that word pieces are looked up in.

    normalize_char("É", lower_case=True, strip_accents=True)      # "e"
    normalize_char("\\u200b", lower_case=True, strip_accents=True) # "" (zero width space)
    normalize_char("\\u3000", lower_case=True, strip_accents=True) # " " (ideographic space)
    normalize_char("각", lower_case=True, strip_accents=True)      # three jamo: NFD
    """
    if is_whitespace(char):
        return " "
    if is_dropped(char):
        return ""
    result = char.lower() if lower_case else char
    if strip_accents:
        result = unicodedata.normalize("NFD", result)
        result = "".join(c for c in result if unicodedata.category(c) != "Mn")
    return result


def cleaning_map() -> dict[str, str]:
    """The code points that are dropped (`is_dropped`), each with ""."""
    return {char: "" for char in _chars(_BLOCKS_WITH_CHANGES) if is_dropped(char)}


def normalization_map(*, lower_case: bool, strip_accents: bool, split_cjk: bool) -> dict[str, str]:
    """The code points that normalization changes, with what they become.

    Args:
      lower_case, strip_accents: as for `normalize_char`.
      split_cjk: if not, CJK characters become their `cjk_stand_in`.
    """
    result = {}
    for char in _chars(_BLOCKS_WITH_CHANGES if split_cjk else (*_BLOCKS_WITH_CHANGES, *CJK_RANGES)):
        normalized = normalize_char(char, lower_case=lower_case, strip_accents=strip_accents)
        if not split_cjk:
            normalized = "".join(map(cjk_stand_in, normalized))
        if normalized != char:
            result[char] = normalized
    return result


@functools.cache
def final_sigma_pattern() -> str:
    """A regular expression (RE2) for a capital sigma at the end of a word.

    Unicode 3.13 (Final_Sigma), as `str.lower` has it: a cased letter before it, none after it;
    marks, formats and other case-ignorable characters between them do not count, nor does what the
    tokenizer drops. Groups 1 and 2 are the context: replace by "\\1ς\\2".
    """
    cased, ignorable = set(), set()
    for char in _chars(((0, 0x1FFFF), (0xE0000, 0xE0FFF))):
        # str.lower is the only way into Python's tables of cased and case-ignorable characters.
        if is_dropped(char):
            ignorable.add(ord(char))
        elif (char + "Σ").lower().endswith("ς"):
            cased.add(ord(char))
        elif ("A" + char + "Σ").lower().endswith("ς"):
            ignorable.add(ord(char))
    c, i = _char_class(cased), _char_class(ignorable)
    return f"([{c}][{i}]*)Σ([{i}]*(?:[^{c}{i}]|$))"


def _chars(blocks: Iterable[tuple[int, int]]) -> Iterator[str]:
    for first, last in blocks:
        for code in range(first, min(last, sys.maxunicode) + 1):
            if code not in _SURROGATES:
                yield chr(code)


def _char_class(codes: set[int]) -> str:
    """The inside of [...] for code points: {0x61, 0x62, 0x64} -> "\\x{61}-\\x{62}\\x{64}"."""
    parts = []
    ordered = sorted(codes)
    first = previous = ordered[0]
    for code in [*ordered[1:], None]:
        if code is not None and code == previous + 1:
            previous = code
            continue
        parts.append(f"\\x{{{first:X}}}" + (f"-\\x{{{previous:X}}}" if previous > first else ""))
        if code is not None:
            first = previous = code
    return "".join(parts)
