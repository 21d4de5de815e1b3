"""Strings to compare the tokenizer with the rule on, and the comparison itself."""

from __future__ import annotations

import dataclasses
import random
import unicodedata
from collections.abc import Iterator, Sequence

from official_bert.text.tokenizer import BertTokenizer
from tests.text.reference_rule import ReferenceRule

# Alone, between letters, doubled, at a word's end.
SURROUNDINGS = ("{0}", "ab{0}cd", "{0}{0}", "ab{0}")
_SURROGATES = range(0xD800, 0xE000)
_INVALID = (
    b"\xff",
    b"\x80",
    b"\xc0\x80",  # overlong
    b"\xc3",  # cut short
    b"\xe4\xb8",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",  # a surrogate
    b"\xf4\x90\x80\x80",  # above U+10FFFF
)
_FRAGMENTS = (
    [
        "Σ",
        "ΑΣ",
        "Σα",
        "ς",
        "İ",
        "I",
        "ẞ",
        "ǅ",
        "ŉ",
        "ﬁ",
        "Å",
        "각",
        "한국어",
        "ไทย",
        "हिन्दी",
        "עִבְרִית",
    ]
    + [
        "العربيّة",
        "カタカナ",
        "漢",
        "豈",
        "𠀀",
        "e\u0301",
        "q\u0323\u0307",
        "##",
        "#",
        "[MASK]",
        "don't",
    ]
    + [
        "unaffable",
        "Straße",
        "x²",
        "ｆｕｌｌ",
        "1990s",
        "👩\u200d👩",
        "\U000e0041",
        "\ue000",
        "\U0010ffff",
    ]
)
_SPACES = [" ", "\t", "\n", "\r", "\x0b", "\x85", "\xa0", "\u1680", "\u2028", "\u2029", "\u3000"]
_DROPPED = ["\0", "\x01", "\x1c", "\x7f", "\xad", "\u200b", "\u200f", "\ufeff", "\ufffd"]


def all_code_points() -> list[str]:
    """Every code point that UTF-8 can hold."""
    return [chr(code) for code in range(0x110000) if code not in _SURROGATES]


def random_strings(count: int, seed: int) -> Iterator[bytes]:
    """Strings of many scripts, with combining marks, controls, long words and invalid bytes."""
    choose = random.Random(seed)
    assigned = [c for c in all_code_points()[:0x30000] if unicodedata.category(c) != "Cn"]
    marks = [c for c in assigned if unicodedata.category(c).startswith("M")]
    blocks = [assigned[i : i + 64] for i in range(0, len(assigned), 64)]
    letters = ["a", "é", "Ж", "ก", "각", "漢", "𝒳", "s\u0307"]

    def piece() -> str:
        kind = choose.random()
        if kind < 0.25:
            return choose.choice(_FRAGMENTS)
        if kind < 0.55:  # of one script
            return "".join(choose.choices(choose.choice(blocks), k=choose.randint(1, 6)))
        if kind < 0.65:  # of all scripts
            return "".join(choose.choices(assigned, k=choose.randint(1, 4)))
        if kind < 0.75:
            return "".join(choose.choices(marks, k=choose.randint(1, 3)))
        if kind < 0.92:
            return choose.choice(_SPACES)
        if kind < 0.995:
            return choose.choice(_DROPPED)
        return choose.choice(letters) * choose.choice([66, 67, 100, 199, 200, 201, 202, 401, 801])

    for _ in range(count):
        string = "".join(piece() for _ in range(choose.randint(0, 9))).encode()
        if choose.random() < 0.15:
            place = choose.randint(0, len(string))
            string = string[:place] + choose.choice(_INVALID) + string[place:]
        yield string


@dataclasses.dataclass
class Report:
    """What a comparison found.

    Attributes:
      strings, tokens: how many were compared.
      shared: tokens that hold only a part of what one source character became.
      differences: the strings whose ids differ.
      wrong_offsets: the strings with an offset that is not what it should be, with the token.
    """

    strings: int = 0
    tokens: int = 0
    shared: int = 0
    differences: list[bytes] = dataclasses.field(default_factory=list)
    wrong_offsets: list[tuple[bytes, str]] = dataclasses.field(default_factory=list)


class Comparison:
    """Compares a tokenizer with rules that differ by nothing but the vocabulary's numbers.

    The offsets of a token are right if they do not go backwards, if they lie between characters,
    and if the rule makes the token of the part of the string between them. Two things are allowed
    for. A final sigma is one only by its neighbours, so ς and σ are taken for the same. And where a
    character becomes several (NFD of Hangul) and a piece ends between them, the pieces on both
    sides have the whole character, so that the rule makes more than the piece of it.
    """

    def __init__(self, rule: ReferenceRule, tokenizer: BertTokenizer) -> None:
        self.rule = rule
        self.tokenizer = tokenizer
        self.report = Report()
        self._unk_id = tokenizer.vocab.unk_id
        self._words_of: dict[bytes, str] = {}

    def run(self, strings: Sequence[bytes], words: Sequence[Sequence[str]]) -> None:
        """Compares `strings`, of which the rule makes `words`."""
        ids, starts, limits = (
            x.to_list() for x in self.tokenizer.tokenize_with_offsets(list(strings))
        )
        alone = self.tokenizer.tokenize(list(strings)).to_list()
        for i, string in enumerate(strings):
            expected = [
                self.rule.vocab[piece] for word in words[i] for piece in self.rule.pieces(word)
            ]
            self.report.strings += 1
            self.report.tokens += len(expected)
            if ids[i] != expected or alone[i] != expected:
                self.report.differences.append(string)
            else:
                self._check_offsets(string, ids[i], starts[i], limits[i])

    def _check_offsets(
        self, string: bytes, ids: list[int], starts: list[int], limits: list[int]
    ) -> None:
        if starts != sorted(starts) or limits != sorted(limits):
            self.report.wrong_offsets.append((string, "(they go backwards)"))
        for i, (id_, start, limit) in enumerate(zip(ids, starts, limits, strict=True)):
            part = string[start:limit]
            token = self.tokenizer.vocab.tokens[id_]
            is_shared = (i > 0 and start < limits[i - 1]) or (
                i + 1 < len(ids) and limit > starts[i + 1]
            )
            self.report.shared += is_shared
            if not (0 <= start < limit <= len(string)) or _is_within(string, start, limit):
                self.report.wrong_offsets.append((string, token))
            elif id_ != self._unk_id:
                wanted = token.removeprefix("##") if _is_suffix(token) else token
                wanted = wanted.replace("ς", "σ")
                found = self._normalized(part)
                if found != wanted and not (is_shared and wanted in found):
                    self.report.wrong_offsets.append((string, token))

    def _normalized(self, part: bytes) -> str:
        found = self._words_of.get(part)
        if found is None:
            found = self._words_of[part] = " ".join(self.rule.words(part)).replace("ς", "σ")
            if len(self._words_of) > 500_000:
                self._words_of.clear()
        return found


def _is_suffix(token: str) -> bool:
    return token.startswith("##") and len(token) > 2


def _is_within(string: bytes, *places: int) -> bool:
    """True if a place is inside of a UTF-8 sequence; every invalid byte stands for itself."""
    suspects = [p for p in places if p < len(string) and string[p] & 0xC0 == 0x80]
    if not suspects:
        return False
    bounds, place = {0}, 0
    for char in string.decode(errors="surrogateescape"):
        place += 1 if ord(char) in _SURROGATES else len(char.encode())
        bounds.add(place)
    return not bounds.issuperset(suspects)
