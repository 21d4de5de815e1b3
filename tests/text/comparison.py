"""Strings to compare the tokenizer with the rule on, and the comparison itself."""

from __future__ import annotations

import dataclasses
import itertools
import random
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

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
        self._is_right: dict[tuple[bytes, int, bool], bool] = {}

    def run(self, strings: Sequence[bytes], words: Sequence[Sequence[str]]) -> None:
        """Compares `strings`, of which the rule makes `words`."""
        vocab, pieces_of = self.rule.vocab, self.rule.pieces
        expected = [[vocab[piece] for word in row for piece in pieces_of(word)] for row in words]
        given = tf.constant(strings, tf.string)
        ids, starts, limits = self.tokenizer.tokenize_with_offsets(given)
        alone = self.tokenizer.tokenize(given)
        self.report.strings += len(strings)
        self.report.tokens += sum(map(len, expected))
        wrong = _differing_rows(expected, ids) | _differing_rows(expected, alone)
        self.report.differences += [strings[row] for row in sorted(wrong)]
        self._check_offsets(strings, ids, starts, limits, wrong)

    def _check_offsets(
        self,
        strings: Sequence[bytes],
        ids: tf.RaggedTensor,
        starts: tf.RaggedTensor,
        limits: tf.RaggedTensor,
        skipped: set[int],
    ) -> None:
        rows, ids, start, limit = (
            x.numpy() for x in (ids.value_rowids(), ids.values, starts.values, limits.values)
        )
        size = np.array([len(string) for string in strings], np.int64)
        place = (np.cumsum(size) - size)[rows]
        text = b"".join(strings)
        code_units = np.frombuffer(text + b"\0", np.uint8)  # a limit may be the end
        follows = rows[1:] == rows[:-1]
        backwards = follows & ((start[1:] < start[:-1]) | (limit[1:] < limit[:-1]))
        overlaps = follows & (start[1:] < limit[:-1])
        shared = np.append(overlaps, False) | np.insert(overlaps, 0, False)
        out = (start < 0) | (start >= limit) | (limit > size[rows])
        continues = (code_units & 0xC0) == 0x80
        starts_within = continues[np.clip(place + start, 0, len(text))]
        limits_within = continues[np.clip(place + limit, 0, len(text))] & (limit < size[rows])
        within = starts_within | limits_within
        for row in np.flatnonzero(np.bincount(rows[within], minlength=len(strings))):
            of_row = rows == row
            within[of_row] = _is_within(strings[row], [*start[of_row], *limit[of_row]])
        wrong = out | within | np.append(backwards, False)
        is_known = ids != self.tokenizer.vocab.unk_id
        for i in np.flatnonzero(is_known & ~wrong):
            part = text[place[i] + start[i] : place[i] + limit[i]]
            wrong[i] = not self._makes(part, int(ids[i]), bool(shared[i]))
        self.report.shared += int(shared.sum())
        for i in np.flatnonzero(wrong):
            if rows[i] not in skipped:
                token = self.tokenizer.vocab.tokens[ids[i]]
                self.report.wrong_offsets.append((strings[rows[i]], token))

    def _makes(self, part: bytes, id_: int, is_shared: bool) -> bool:
        """Whether the rule makes the token of the part, or more than it, of a shared character."""
        key = (part, id_, is_shared)
        result = self._is_right.get(key)
        if result is None:
            token = self.tokenizer.vocab.tokens[id_]
            wanted = token[2:] if token.startswith("##") and len(token) > 2 else token
            wanted = wanted.replace("ς", "σ")
            found = " ".join(self.rule.words(part)).replace("ς", "σ")
            result = found == wanted or (is_shared and wanted in found)
            if len(self._is_right) > 500_000:
                self._is_right.clear()
            self._is_right[key] = result
        return result


def _differing_rows(expected: Sequence[Sequence[int]], found: tf.RaggedTensor) -> set[int]:
    values = np.fromiter(itertools.chain.from_iterable(expected), np.int32)
    splits = np.cumsum([0, *map(len, expected)])
    if np.array_equal(splits, found.row_splits) and np.array_equal(values, found.values):
        return set()
    rows = found.to_list()
    return {row for row, ids in enumerate(expected) if ids != rows[row]}


def _is_within(string: bytes, offsets: Sequence[int]) -> bool:
    """True if an offset is inside of a UTF-8 sequence; an invalid byte is a sequence of its own."""
    bounds, offset = {0}, 0
    for char in string.decode(errors="surrogateescape"):
        offset += 1 if ord(char) in _SURROGATES else len(char.encode())
        bounds.add(offset)
    return not bounds.issuperset(offsets)
