"""Learning a vocabulary: words as the tokenizer has them, published places, the same each time."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from data_prep.text.vocab_learning import WordCounts, learn_vocabulary, reserved_tokens
from data_prep.text.words import WordSplitter
from official_bert.errors import InputError
from official_bert.text import BertTokenizer, Vocab

TEXTS = [
    "Hello, World! It's 3.14€ (50%).",
    "Ça va, déjà-vu? ÀÉÎ x² ｆｕｌｌ Straße",
    "ΟΔΟΣ ΣΑΣ. ΣΣ",
    "北京ab 東京\u3000\U00020000c",
    "a\u200bb q\x97z \ufffdx\tt\x00u \u00a0v",
    "İstanbul ǅ ﬁ e\u0301\u0327 각",
    "😀x \ue000 “quote” — ¿no? `~^$+|<=>",
]


@pytest.mark.parametrize("lower_case", [True, False])
def test_words_are_those_of_the_tokenizer(lower_case):
    split = WordSplitter(lower_case)
    words = [split(text) for text in TEXTS]
    # A vocabulary of just these words: the tokenizer must find each of them, and nothing else.
    entries = dict.fromkeys(word for line in words for word in line)
    vocab = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *entries])
    tokenizer = BertTokenizer(vocab, lower_case=lower_case)
    found = tokenizer.tokenize(TEXTS).to_list()
    assert [[vocab.tokens[i] for i in line] for line in found] == words


def test_words_literal():
    assert WordSplitter(True)("Ça va, déjà-vu?") == ["ca", "va", ",", "deja", "-", "vu", "?"]
    assert WordSplitter(False)("Ça va, déjà-vu?") == ["Ça", "va", ",", "déjà", "-", "vu", "?"]


def test_reserved_places():
    tokens = reserved_tokens(99)
    assert len(tokens) == 104
    assert [tokens[i] for i in (0, 1, 99, 100, 101, 102, 103)] == [
        *("[PAD]", "[unused0]", "[unused98]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    ]
    assert reserved_tokens(0) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert reserved_tokens(101)[104:] == ["[unused99]", "[unused100]"]


def test_pieces_of_frequent_words_are_learned():
    counts = Counter({"lower": 50, "lowest": 30, "newer": 40, "q": 3})
    tokens = learn_vocabulary(counts, 40, num_unused=0)
    assert tokens[:5] == reserved_tokens(0)
    # All characters by frequency, then those within a word.
    assert tokens[5:14] == ["e", "w", "r", "l", "o", "n", "s", "t", "q"]
    assert tokens[14:21] == ["##e", "##w", "##r", "##o", "##s", "##t", "##we"]
    assert len(tokens) < 40  # there is nothing more to learn
    assert {"lower", "lowest", "newer"} <= set(tokens)
    assert len(set(tokens)) == len(tokens)
    smaller = learn_vocabulary(counts, 23, num_unused=0)
    assert len(smaller) == 23 and smaller == tokens[:23]


def test_rare_characters_are_left_out_with_their_words():
    counts = Counter({"ab": 10, "a" + "\u00ff": 2, "b": 5})
    tokens = learn_vocabulary(counts, 20, num_unused=0, max_characters=2)
    assert tokens[5:] == ["b", "a", "##b", "ab"]


def test_no_room_for_the_characters():
    with pytest.raises(InputError, match="vocab_size=10 is below 11: 5 reserved entries and 6"):
        learn_vocabulary(Counter({"ab": 1, "cd": 1}), 10, num_unused=0)
    assert len(learn_vocabulary(Counter({"ab": 1, "cd": 1}), 11, num_unused=0)) == 11


def test_counting_with_bounded_memory():
    words = WordCounts(max_distinct=10)
    for number in range(100):
        words.add(["often", "twice" if number < 2 else "often", f"once{number}"])
    assert len(words.counts) <= 10
    assert words.counts["often"] == 198
    assert words.forgotten >= 88


def test_each_process_learns_the_same(tmp_path):
    text = " ".join(" ".join(line.split()) for line in TEXTS) + " the cat sat on the mats. " * 5
    (tmp_path / "text.txt").write_text("\ufeff" + text, encoding="utf-8")
    vocabularies = set()
    for number in range(3):
        path = tmp_path / f"vocab{number}.txt"
        subprocess.run(
            [
                *(sys.executable, "-m", "data_prep.build_vocab"),
                *(f"--input_file={tmp_path}/text.txt", f"--output_file={path}"),
                *("--vocab_size=220", "--min_frequency=1"),
            ],
            check=True,
            capture_output=True,
        )
        vocabularies.add(path.read_bytes())
    assert len(vocabularies) == 1
    vocab = Vocab.from_file(path)
    assert len(vocab) == 220
    assert (vocab.pad_id, vocab.unk_id, vocab.mask_id) == (0, 100, 103)
    assert not vocab.warnings
