import pytest
import tensorflow as tf

from data_prep.finetuning.tagging_files import read_tagged_file
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.offsets import substrings
from official_bert.text.written_words import WrittenWords
from tests.public_data import TESTDATA, public_data
from tests.text.conftest import published


@pytest.fixture(scope="module")
def tokenizer():
    return BertTokenizer(Vocab.from_file(TESTDATA / "vocab.txt"))


def _words(tokenizer, texts):
    words = WrittenWords(tokenizer.vocab).split(
        tf.constant(texts, tf.string), *tokenizer.tokenize_with_offsets(texts)
    )
    strings = substrings(tf.constant(texts, tf.string), words.rows, words.starts, words.ends)
    return tf.RaggedTensor.from_row_splits(strings, words.row_splits)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(Smith's U.S.-based firm, @acme)", "( Smith 's U.S.-based firm , @acme )"),
        ("Wait... what?! #now", "Wait ... what ? ! #now"),
        ("we're  don't \u2018I\u2019ll\u2019 's", "we 're don't \u2018 I \u2019ll \u2019 's"),
        ("O'Brien a/b 5'6 -- x", "O'Brien a/b 5'6 -- x"),
        ("\u5317\u4eacabc\u3002", "\u5317 \u4eac abc \u3002"),
        ("caf\u00e9, e\u0301t\u00e9.", "caf\u00e9 , e\u0301t\u00e9 ."),
        ("http://t.co/x.html.", "http://t.co/x.html ."),
        # Signs and characters that the vocabulary has not.
        ("paris\u2049\u2e3a \U00020000x", "paris \u2049 \u2e3a \U00020000 x"),
        ("", ""),
        (" \t\x00 ", ""),
        ("...", "..."),
    ],
)
def test_words_as_corpora_write_them(tokenizer, text, words):
    (found,) = _words(tokenizer, [text]).to_list()
    assert [word.decode() for word in found] == words.split(" ") * bool(words)


def test_texts_of_a_batch_do_not_touch(tokenizer):
    texts = ["a.", "", ".b", "'s"]
    assert _words(tokenizer, texts).to_list() == [[b"a", b"."], [], [b".", b"b"], [b"'s"]]
    assert _words(tokenizer, []).to_list() == []
    words = WrittenWords(tokenizer.vocab).split(
        tf.constant(texts, tf.string), *tokenizer.tokenize_with_offsets(texts)
    )
    assert words.row_splits.numpy().tolist() == [0, 2, 2, 4, 5]
    assert words.pieces.values.numpy().tolist() == tokenizer.tokenize(texts).values.numpy().tolist()


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("ner/wnut17/emerging.dev.conll", 0.998),
        ("ner/wnut17/emerging.test.annotated", 0.994),
        ("ner/wikigold/wikigold.conll.txt", 0.996),
    ],
)
def test_words_with_spaces_between_are_found_again(name, share):
    tokenizer = published("uncased", True)
    sentences, _ = read_tagged_file(public_data(name))
    texts = [" ".join(sentence.words) for sentence in sentences]
    found = _words(tokenizer, texts).to_list()
    same = sum(
        len({word.encode() for word in sentence.words} & set(words))
        for sentence, words in zip(sentences, found, strict=True)
    )
    assert same >= share * sum(len(set(sentence.words)) for sentence in sentences)
