from __future__ import annotations

import pytest

from official_bert.text import BertTokenizer, Vocab
from tests.text.conftest import SPECIAL

WORDS = [
    "[unused0]",
    "[unused12]",
    "[",
    "]",
    "mask",
    "cl",
    "##s",
    "in",
    "new",
    "york",
    "a",
    "c",
    "+",
]


@pytest.fixture(scope="module")
def keeping():
    return BertTokenizer(
        Vocab([*SPECIAL, *WORDS]),
        keep_special_tokens=True,
        added_tokens=["New York", "C++", "a.c", "a.c*", "<e1>"],
    )


def tokens(tokenizer, string):
    return [tokenizer.vocab.tokens[id_] for id_ in tokenizer.tokenize(string).numpy()]


def test_special_tokens_in_the_text_are_text_by_default():
    tokenizer = BertTokenizer(Vocab([*SPECIAL, *WORDS]))
    assert tokens(tokenizer, "a [MASK]") == ["a", "[", "mask", "]"]
    assert tokens(tokenizer, "[unused0]") == ["[", "[UNK]", "]"]


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("a [MASK] in", ["a", "[MASK]", "in"]),
        ("a[MASK]in[CLS]", ["a", "[MASK]", "in", "[CLS]"]),
        ("[MASK][MASK]", ["[MASK]", "[MASK]"]),
        ("[mask]", ["[", "mask", "]"]),  # upper and lower case differ
        ("[unused12] [unused0] [unused1]", ["[unused12]", "[unused0]", "[", "[UNK]", "]"]),
        ("in New York", ["in", "New York"]),
        ("in new york", ["in", "new", "york"]),
        ("New  York", ["new", "york"]),
        ("C++ c++", ["C++", "c", "+", "+"]),
        ("C+", ["c", "+"]),
        ("a.c a.c* abc", ["a.c", "a.c*", "[UNK]"]),  # the longest; a point is a point
        ("<e1>a</e1>", ["<e1>", "a", "[UNK]", "[UNK]", "[UNK]", "[UNK]"]),
        ("", []),
        ("  ", []),
        ("\0[MASK]\xad", ["[MASK]"]),
    ],
)
def test_kept_tokens_come_first(keeping, string, expected):
    assert tokens(keeping, string) == expected


def test_added_tokens_are_in_the_vocabulary(keeping):
    assert len(keeping.vocab) == len(SPECIAL) + len(WORDS) + 5
    assert keeping.vocab.tokens[-5:] == ("New York", "C++", "a.c", "a.c*", "<e1>")


def test_offsets_of_kept_tokens(keeping):
    string = "é New York, [MASK]in  \xffC++".encode("latin-1").replace(b"\xe9", "é".encode())
    ids, starts, limits = keeping.tokenize_with_offsets([string, b"", b"[SEP] a"])
    found = [
        (keeping.vocab.tokens[id_], string[start:limit])
        for id_, start, limit in zip(*(x[0].numpy() for x in (ids, starts, limits)), strict=True)
    ]
    assert found == [
        ("[UNK]", "é".encode()),
        ("New York", b"New York"),
        ("[UNK]", b","),
        ("[MASK]", b"[MASK]"),
        ("in", b"in"),
        ("C++", b"C++"),
    ]
    assert starts.to_list()[1:] == [[], [0, 6]]
    assert limits.to_list()[1:] == [[], [5, 7]]
    assert ids.to_list() == keeping.tokenize([string, b"", b"[SEP] a"]).to_list()


def test_a_special_token_under_another_name():
    vocab = Vocab(["<pad>", "[UNK]", "[CLS]", "[SEP]", "<mask>", "a"],
                  {"pad_token": "<pad>", "mask_token": "<mask>"})  # fmt: skip
    tokenizer = BertTokenizer(vocab, keep_special_tokens=True)
    assert tokens(tokenizer, "a<mask>[MASK]") == ["a", "<mask>", "[UNK]", "[UNK]", "[UNK]"]
