"""The tokenizer against the rule in plain Python; `compare_all.py` is the same at full length."""

from __future__ import annotations

import bz2
import itertools
import json
import pathlib
import random
import unicodedata

import pytest

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import public_data
from tests.text.comparison import SURROUNDINGS, Comparison, all_code_points, random_strings
from tests.text.conftest import SPECIAL, published
from tests.text.reference_rule import CJK, ReferenceRule, read_vocab

CASES = pytest.mark.parametrize("lower_case", [True, False], ids=["uncased", "cased"])


def compare(rule: ReferenceRule, tokenizer: BertTokenizer, strings: list[bytes]) -> Comparison:
    comparison = Comparison(rule, tokenizer)
    for start in range(0, len(strings), 20_000):
        batch = strings[start : start + 20_000]
        comparison.run(batch, [rule.words(string) for string in batch])
    return comparison


class Shifted(BertTokenizer):
    """Offsets that are one byte too far."""

    def tokenize_with_offsets(self, strings):
        ids, starts, limits = super().tokenize_with_offsets(strings)
        return ids, starts + 1, limits + 1


def test_the_comparison_sees_what_is_wrong(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*SPECIAL, "a", "##b", "A", "é"]), "utf-8")
    rule = ReferenceRule(read_vocab(path), lower_case=False)
    strings = [b"ab", b"A", "é é".encode(), b"a a"]
    uncased = BertTokenizer(Vocab.from_file(path), lower_case=True)
    assert compare(rule, uncased, strings).report.differences == [b"A", "é é".encode()]
    shifted = Shifted(Vocab.from_file(path), lower_case=False)
    report = compare(rule, shifted, strings).report
    assert report.differences == []
    assert {string for string, _ in report.wrong_offsets} == set(strings)


def rule_of(name: str, lower_case: bool) -> ReferenceRule:
    return ReferenceRule(read_vocab(public_data(f"vocab/bert-base-{name}/vocab.txt")), lower_case)


def telling_code_points() -> list[str]:
    """The assigned code points that the rule does something with, and every 40th of the others."""
    bounds = {edge + step for r in CJK for edge in (r[0], r[-1]) for step in (-1, 0, 1)}
    chosen = []
    for char in all_code_points():
        category = unicodedata.category(char)
        if category != "Cn" and (
            ord(char) in bounds
            or category[0] in "PZM"
            or category in ("Cc", "Cf", "Sk")
            or char.lower() != char
            or (unicodedata.normalize("NFD", char) != char and not "가" < char <= "힣")
            or ord(char) % 40 == 0
        ):
            chosen.append(char)
    return chosen


@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("multilingual-cased", False)])
def test_code_points(name, lower_case):
    strings = [form.format(c).encode() for c in telling_code_points() for form in SURROUNDINGS]
    report = compare(rule_of(name, lower_case), published(name, lower_case), strings).report
    assert report.strings > 40_000
    assert report.differences == []
    assert report.wrong_offsets == []


@CASES
@pytest.mark.parametrize("name", ["uncased", "chinese"])
def test_random_strings(name, lower_case):
    strings = list(random_strings(5_000, seed=7 + 2 * lower_case + (name == "chinese")))
    report = compare(rule_of(name, lower_case), published(name, lower_case), strings).report
    assert report.tokens > 25_000
    assert report.differences == []
    assert report.wrong_offsets == []


@pytest.mark.parametrize(
    "settings",
    [
        {"lower_case": True, "strip_accents": False},
        {"lower_case": False, "strip_accents": True},
        {"lower_case": True, "tokenize_chinese_chars": False},
        {"lower_case": False, "tokenize_chinese_chars": False},
    ],
    ids=str,
)
def test_other_settings(settings):
    path = public_data("vocab/bert-base-chinese/vocab.txt")
    split_cjk = settings.get("tokenize_chinese_chars", True)
    rule = ReferenceRule(
        read_vocab(path), settings["lower_case"], settings.get("strip_accents"), split_cjk
    )
    tokenizer = BertTokenizer(Vocab.from_file(path), **settings)
    strings = list(random_strings(2_000, seed=3))
    strings += ["日本語の漢字2つ".encode(), "\U00040000漢 \U00040000".encode(), "豈更".encode()]
    report = compare(rule, tokenizer, strings).report
    assert report.differences == []
    assert report.wrong_offsets == []


ODD_TOKENS = (
    ["a", "b", "c", "ab", "abc", "##a", "##b", "##c", "##ab", "##bc", "##cab", "##", "###", "#"]
    + ["##.", ".", "...", "a.b", "a b", " ab", "  c ", "", "", "\u2028", "\u3000", "\xa0x", "\t"]
    + [
        "漢",
        "漢字",
        "##漢",
        "A",
        "É",
        "e\u0301",
        "##\u0301",
        "é",
        "##é",
        "ß",
        "ς",
        "σ",
        "##ς",
        "##σ",
    ]
    + ["x\0y", "\0", "\x01", "\x11", "##\x11", "a\x11", "\x85", "\ufffd", "a\ufffd", "a\u200bb"]
    + ["z" * 200, "y" * 201, "##" + "w" * 199, "é" * 100, "##각", "ᄀ", "##ᅡ", "##ᆨ", "unk"]
    + ["[UNK]", "[MASK]", "[unused1]", "##[UNK]", "İ", "i\u0307", "##i\u0307", "\u302e", "##\u302f"]
)
ODD_TEXT = (
    ["a", "b", "c", "ab", "abc", "cab", "#", "##", ".", " ", "\t", "漢", "字", "豈", "É", "é", "A"]
    + [
        "e\u0301",
        "Σ",
        "ΑΣ",
        "σ",
        "각",
        "가",
        "unk",
        "[UNK]",
        "[MASK]",
        "\x11",
        "\0",
        "\x85",
        "\ufffd",
    ]
    + ["z" * 200, "z" * 201, "y" * 201, "w" * 199, "é" * 100, "İ", "i\u0307", "\u200b", "\u2028"]
    + ["ß", "\u302e", "\u302f"]
)


@pytest.mark.parametrize("seed", range(5))
def test_odd_vocabularies(tmp_path, seed):
    choose = random.Random(seed)
    tokens = SPECIAL + choose.choices(ODD_TOKENS, k=seed * 15)
    choose.shuffle(tokens)
    path = tmp_path / "vocab.txt"
    path.write_bytes("\n".join(tokens).encode() + b"\n" * (seed % 2))
    strings = ["".join(choose.choices(ODD_TEXT, k=choose.randint(0, 6))) for _ in range(500)]
    lower_case = seed % 3 != 0
    rule = ReferenceRule(read_vocab(path), lower_case)
    tokenizer = BertTokenizer(Vocab.from_file(path), lower_case)
    report = compare(rule, tokenizer, [string.encode() for string in strings]).report
    assert report.differences == []
    assert report.wrong_offsets == []


def wikigold() -> list[str]:
    lines = public_data("ner/wikigold/wikigold.conll.txt").read_text("utf-8").split("\n")
    sentences = itertools.groupby((line.rpartition(" ")[0] for line in lines), key=bool)
    return [" ".join(words) for has_words, words in sentences if has_words]


def xquad() -> list[str]:
    articles = json.loads(public_data("squad/xquad/xquad.en.json").read_text("utf-8"))["data"]
    paragraphs = [p for article in articles for p in article["paragraphs"]]
    return [p["context"] for p in paragraphs] + [
        q["question"] for p in paragraphs for q in p["qas"]
    ]


def sample_text() -> list[str]:
    return public_data("fixtures/google_bert/sample_text.txt").read_text("utf-8").split("\n")


def germeval() -> list[str]:
    folder = public_data("fixtures/hf_transformers/GermEval")
    return [line for f in ("train.txt", "dev.txt") for line in (folder / f).read_text().split("\n")]


def enwiki() -> list[str]:
    path: pathlib.Path = next(public_data("wikipedia").glob("enwiki-*.bz2"))
    return bz2.decompress(path.read_bytes()).decode().split("\n")


@pytest.mark.parametrize(
    ("text", "name", "lower_case"),
    [
        (wikigold, "cased", False),
        (xquad, "uncased", True),
        (sample_text, "uncased", True),
        (sample_text, "chinese", True),
        (germeval, "multilingual-cased", False),
    ],
)
def test_real_text(text, name, lower_case):
    strings = [line.encode() for line in text()]
    report = compare(rule_of(name, lower_case), published(name, lower_case), strings).report
    assert report.tokens > 500
    assert report.differences == []
    assert report.wrong_offsets == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lower_case"), [("uncased", True), ("multilingual-cased", False)])
def test_a_dump_of_wikipedia(name, lower_case):
    strings = [line.encode() for line in enwiki()]
    report = compare(rule_of(name, lower_case), published(name, lower_case), strings).report
    assert report.tokens > 1_000_000
    assert report.differences == []
    assert report.wrong_offsets == []
