from __future__ import annotations

import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import public_data
from tests.text.conftest import SPECIAL

TOKENS = [*SPECIAL, "the", "un", "##aff", "##able", "a", "##a", ",", "é", "##é", "e", "x"]
THE, UN, AFF, ABLE, A, _, COMMA, E_ACUTE, _, E, X = range(5, 16)
UNK = 1


@pytest.fixture(scope="module")
def tiny():
    return BertTokenizer(Vocab(TOKENS))


def test_words_to_pieces(tiny):
    strings = ["The unaffable, unaffably THE", "", "   \t\n "]
    assert tiny.tokenize(strings).to_list() == [
        [THE, UN, AFF, ABLE, COMMA, UNK, THE],
        [],
        [],
    ]


def test_shapes_and_types(tiny):
    scalar = tiny.tokenize("the a")
    assert scalar.dtype == tf.int32 and scalar.shape.rank == 1
    np.testing.assert_array_equal(scalar, [THE, A])
    batch = tiny.tokenize(tf.constant(["the a", "x"]))
    assert isinstance(batch, tf.RaggedTensor) and batch.dtype == tf.int32
    assert batch.to_list() == [[THE, A], [X]]
    words = tiny.tokenize([["the", "unaffable"], ["a", ""]])
    assert words.to_list() == [[[THE], [UN, AFF, ABLE]], [[A], []]]
    ragged = tiny.tokenize(tf.ragged.constant([["the"], [], ["a", "x"]]))
    assert ragged.to_list() == [[[THE]], [], [[A], [X]]]
    assert tiny.tokenize(tf.constant([], tf.string)).to_list() == []
    assert tiny.tokenize("").shape == [0]


def test_offsets_have_the_shape_of_the_ids(tiny):
    ids, starts, limits = tiny.tokenize_with_offsets(
        tf.ragged.constant([["the", "a,a"], ["unaffable"]])
    )
    assert ids.to_list() == [[[THE], [A, COMMA, A]], [[UN, AFF, ABLE]]]
    assert starts.to_list() == [[[0], [0, 1, 2]], [[0, 2, 5]]]
    assert limits.to_list() == [[[3], [1, 2, 3]], [[2, 5, 9]]]
    assert starts.dtype == limits.dtype == tf.int32
    ids, starts, limits = tiny.tokenize_with_offsets("")
    assert ids.shape == starts.shape == limits.shape == [0]


def test_accents_go_with_the_case_unless_said_otherwise(tiny):
    vocab = tiny.vocab
    assert tiny.tokenize("É").numpy().tolist() == [E]
    assert BertTokenizer(vocab, strip_accents=False).tokenize("É").numpy().tolist() == [E_ACUTE]
    cased = BertTokenizer(vocab, lower_case=False)
    assert cased.tokenize("é É").numpy().tolist() == [E_ACUTE, UNK]
    stripping = BertTokenizer(vocab, lower_case=False, strip_accents=True)
    assert stripping.tokenize("é É").numpy().tolist() == [E, UNK]


def test_cjk_may_stay_within_words():
    vocab = Vocab([*SPECIAL, "漢", "漢字", "##字", "a漢", "字"])
    assert BertTokenizer(vocab).tokenize("漢字 a漢字").numpy().tolist() == [5, 9, 1, 5, 9]
    whole = BertTokenizer(vocab, tokenize_chinese_chars=False)
    ids, starts, limits = whole.tokenize_with_offsets("漢字 a漢字")
    assert ids.numpy().tolist() == [6, 8, 7]
    assert starts.numpy().tolist() == [0, 7, 11]
    assert limits.numpy().tolist() == [6, 11, 14]


@pytest.mark.parametrize("letter", ["a", "é", "ก"])
def test_words_of_more_than_200_characters_are_unknown(letter):
    tokenizer = BertTokenizer(Vocab([*SPECIAL, letter, f"##{letter}"]), lower_case=False)
    size = len(letter.encode())
    ids, starts, limits = tokenizer.tokenize_with_offsets(
        [letter * 200, letter * 201, f"{letter} {letter * 300}.{letter * 2}", letter * 5000]
    )
    assert ids[0].numpy().tolist() == [5] + [6] * 199
    assert limits[0][-1] == 200 * size
    assert ids[1].numpy().tolist() == [1]
    assert (starts[1].numpy(), limits[1].numpy()) == ([0], [201 * size])
    assert ids[2].numpy().tolist() == [5, 1, 1, 5, 6]
    dot = 301 * size + 1
    assert starts[2].numpy().tolist() == [0, size + 1, dot, dot + 1, dot + 1 + size]
    assert ids[3].numpy().tolist() == [1]


def test_dirty_strings_give_a_result(uncased):
    strings = [
        b"\0",
        b"a\0b",
        b"\xed\xa0\x80",
        b"\xff\xfe",
        b"a\xffb",
        b"\xe4\xb8",
        "\ufeffa".encode(),
    ]
    ids = uncased.tokenize(strings)
    ab = uncased.tokenize("ab").numpy().tolist()
    a = uncased.tokenize("a").numpy().tolist()
    assert ids.to_list() == [[], ab, [], [], ab, [], a]


def test_long_lines_and_long_words_give_a_result(uncased):
    line = "hello wörld, " * 400_000  # 5.6 MB
    ids, starts, limits = uncased.tokenize_with_offsets(line)
    assert ids.shape == [1_200_000]
    assert ids[-3:].numpy().tolist() == uncased.tokenize("hello world,").numpy().tolist()
    assert (starts[-1].numpy(), limits[-1].numpy()) == (
        len(line.encode()) - 2,
        len(line.encode()) - 1,
    )
    word = "a" * 100_000
    ids, starts, limits = uncased.tokenize_with_offsets([word, f"b {word}"])
    assert ids.to_list() == [[UNK], [uncased.vocab.id_of("b"), UNK]]
    assert limits.to_list() == [[100_000], [1, 100_002]]


def test_the_language_of_the_machine_does_not_matter(uncased, monkeypatch):
    # In a Turkish locale, C libraries lower-case I to a dotless ı.
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("LANG", "tr_TR.UTF-8")
    assert uncased.tokenize("TITLE").numpy().tolist() == [uncased.vocab.id_of("title")]


def test_in_a_tf_data_pipeline(tiny):
    dataset = tf.data.Dataset.from_tensor_slices(["the a", "unaffable"])
    one_by_one = [ids.numpy().tolist() for ids in dataset.map(tiny.tokenize)]
    batched = [ids.to_list() for ids in dataset.batch(2).map(tiny.tokenize)]
    assert one_by_one == batched[0] == [[THE, A], [UN, AFF, ABLE]]


def test_the_marks_that_normalization_would_reorder_are_in_no_published_vocabulary():
    """Why code points can be normalized one by one.

    NFD sorts combining marks by class; those of category Mn go, so order is only seen where two of
    the others, of different classes, stand together. A word with a character that no piece has is
    [UNK] in any order.
    """
    for name in ("uncased", "cased", "chinese", "multilingual-cased"):
        vocab = Vocab.from_file(public_data(f"vocab/bert-base-{name}/vocab.txt"))
        classes = {
            unicodedata.combining(char)
            for char in set("".join(vocab.tokens))
            if unicodedata.combining(char) and unicodedata.category(char) != "Mn"
        }
        assert len(classes) <= 1
