from __future__ import annotations

import pytest
import tensorflow as tf

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import TESTDATA, public_data
from tests.text.conftest import published


@pytest.mark.parametrize(
    "text",
    [
        "unaffable friends don't go, do they?",
        'he said: "well-known (and/or loved) things!" - "why?"'.replace(" - ", "-"),
        "pay $5.50 & 10% of 1,000,000 at 12:30; in 1990, 15 people.",
        "[sic] #tag @user a_b c\\d 2 * 3",
        "中文分词，很好。「日本の漢字」",
        "bert 中文 bert",
        "l'homme d'arc «non» ¿que?",
        "",
    ],
)
def test_text_comes_back_as_it_was_written(text):
    tokenizer = published("multilingual-cased", False)
    ids = tokenizer.tokenize([text])
    assert tokenizer.vocab.unk_id not in ids.to_list()[0]
    assert tokenizer.detokenize(ids).numpy()[0].decode() == text


def test_joints_and_padding_are_left_out(uncased):
    ids = [[2, 129, 4, 3, 0, 0], [2, 1, 234, 3, 234, 3]]
    assert uncased.detokenize(ids).numpy().tolist() == [b"the [MASK]", b"[UNK] man man"]


def test_shapes(uncased):
    vector = uncased.detokenize([129, 234])
    assert vector.shape == [] and vector.numpy() == b"the man"
    assert uncased.detokenize(tf.ragged.constant([[], [129]], tf.int64)).numpy().tolist() == [
        b"",
        b"the",
    ]
    assert uncased.detokenize([[], []]).numpy().tolist() == [b"", b""]


def test_a_piece_at_the_start_loses_its_mark():
    tokenizer = BertTokenizer(Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##ing", "a"]))
    assert tokenizer.detokenize([[5, 6], [6, 5]]).numpy().tolist() == [b"ing a", b"aing"]


def test_ids_of_prose_come_again(uncased):
    sentences = (TESTDATA / "sentences.txt").read_text("utf-8").split("\n")
    ids = uncased.tokenize(sentences)
    assert uncased.vocab.unk_id not in ids.values.numpy()
    assert uncased.tokenize(uncased.detokenize(ids)).to_list() == ids.to_list()


def test_tokenizing_the_result_gives_the_ids_again():
    uncased = published("uncased", True)
    lines = public_data("ner/wikigold/wikigold.conll.txt").read_text("utf-8").split("\n")
    words = " ".join(line.rpartition(" ")[0] for line in lines).split()
    strings = [" ".join(words[i : i + 50]) for i in range(0, len(words), 50)]
    ids = uncased.tokenize(strings)
    again = uncased.tokenize(uncased.detokenize(ids))
    for before, after in zip(ids.to_list(), again.to_list(), strict=True):
        if uncased.vocab.unk_id not in before:
            assert after == before
