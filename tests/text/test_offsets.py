from __future__ import annotations

import pytest
import tensorflow as tf

from official_bert.text import BertTokenizer, Vocab
from official_bert.text.offsets import byte_to_char_offsets
from tests.text.conftest import SPECIAL


def parts(tokenizer, string):
    """(token, the part of the string that it came from), for each token."""
    string = string if isinstance(string, bytes) else string.encode()
    ids, starts, limits = (x.numpy().tolist() for x in tokenizer.tokenize_with_offsets(string))
    return [
        (tokenizer.vocab.tokens[id_], string[start:limit].decode(errors="backslashreplace"))
        for id_, start, limit in zip(ids, starts, limits, strict=True)
    ]


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("in the 1990s.", [("in", "in"), ("the", "the"), ("1990s", "1990s"), (".", ".")]),
        ("Unaffable", [("una", "Una"), ("##ffa", "ffa"), ("##ble", "ble")]),
        ("CAFÉ\u3000Noir", [("cafe", "CAFÉ"), ("noir", "Noir")]),
        ("cafe\u0301 noir", [("cafe", "cafe\u0301"), ("noir", "noir")]),  # accents belong to it
        ("cafe\u200b noir\u200f.", [("cafe", "cafe"), ("noir", "noir"), (".", ".")]),
        ("ca\u00adfe", [("cafe", "ca\u00adfe")]),  # a soft hyphen within a word
        ("e\u0301\u200b\u0301x", [("ex", "e\u0301\u200b\u0301x")]),
        ("\u0301\u200ba", [("a", "a")]),
        ("東京2020", [("東", "東"), ("京", "京"), ("2020", "2020")]),
        ("İstanbul", [("istanbul", "İstanbul")]),
        ("ΣΑΣ", [("σ", "Σ"), ("##α", "Α"), ("##ς", "Σ")]),
        ("각", [("ᄀ", "각"), ("##ᅡ", "각"), ("##ᆨ", "각")]),  # one syllable, three jamo
        ("가 a", [("ᄀ", "가"), ("##ᅡ", "가"), ("a", "a")]),
        (b"no\xffir \xe4\xb8noir\xc3", [("noir", "no\\xffir"), ("noir", "noir")]),
        (
            "🙂 \U0001f9d1\u200d\U0001f680x",
            [("[UNK]", "🙂"), ("[UNK]", "\U0001f9d1\u200d\U0001f680x")],
        ),
        ("a\r\n\tb\0", [("a", "a"), ("b", "b")]),
    ],
)
def test_each_piece_and_where_it_came_from(uncased, string, expected):
    assert parts(uncased, string) == expected


def test_cased_text(cased):
    assert parts(cased, "Zürich\u200b, é") == [
        ("Zürich", "Zürich"),
        (",", ","),
        ("é", "é"),
    ]
    assert parts(cased, "Zu\u0308rich") == [("[UNK]", "Zu\u0308rich")]  # not composed: not known


def test_a_character_that_becomes_several_without_stripping():
    vocab = Vocab([*SPECIAL, "i", "##\u0307", "##x"])
    tokenizer = BertTokenizer(vocab, strip_accents=False)
    assert parts(tokenizer, "İx") == [("i", "İ"), ("##\u0307", "İ"), ("##x", "x")]


def test_bytes_to_characters(uncased):
    strings = ["né à", "", "東京 x", "🙂🙂"]
    _, starts, limits = uncased.tokenize_with_offsets(strings)
    assert starts.to_list() == [[0, 4], [], [0, 3, 7], [0]]
    assert byte_to_char_offsets(strings, starts).to_list() == [[0, 3], [], [0, 1, 3], [0]]
    assert byte_to_char_offsets(strings, limits).to_list() == [[2, 4], [], [1, 2, 4], [2]]


def test_bytes_to_characters_in_a_graph():
    @tf.function
    def function(strings, offsets):
        return byte_to_char_offsets(strings, offsets)

    offsets = tf.ragged.constant([[0, 2, 3], [5]], tf.int32)
    chars = function(tf.constant(["éa", "12345"]), offsets)
    assert chars.dtype == tf.int32
    assert chars.to_list() == [[0, 1, 2], [5]]
