"""Entities in the graph: offsets, joining, windows; equal to evaluation's on prepared sentences."""

import numpy as np
import pytest
import tensorflow as tf

from data_prep.finetuning.tagging_records import TaggingConverter
from official_bert.inference.runner import Answerer
from official_bert.inference.tagging import Tagging
from tests.decoding.iob2_rule import repaired
from tests.export.hostile import NAMED, random_strings
from tests.inference.heads import LABELS, tagger
from tests.small_models import options

OUT, B_LOC, I_LOC, B_PER, I_PER = range(5)
OURS = {"tag_schemes": {"train": "iob2"}}


@pytest.fixture(scope="module")
def bundle():
    return tagger()


@pytest.fixture(scope="module")
def module(bundle):
    return Tagging(bundle, options(task_options=OURS))


@pytest.fixture(scope="module")
def answerer(module):
    return Answerer.from_module(module)


def _decoded(module, texts, labels, classes=5):
    """The answer if the model said `labels` of the words of each text."""
    inputs, context = module.encode({"text": tf.constant(texts)})
    first_pieces = context["first_pieces"].numpy()
    logits = np.zeros((*inputs["input_word_ids"].shape, classes), np.float32)
    for (window, position), label in zip(first_pieces, sum(labels, []), strict=True):
        logits[window, position, label] = 2.0
    return module.decode({"logits": tf.constant(logits)}, context)


def _values(answer):
    return {
        name: [
            [v.decode() if isinstance(v, bytes) else v for v in row]
            if isinstance(row, list)
            else row
            for row in value.numpy().tolist()
        ]
        for name, value in answer.items()
    }


def test_entities_with_their_character_offsets(module):
    texts = ["é the capital, of france", "w1", ""]
    answer = _values(_decoded(module, texts, [[I_LOC, B_PER, I_PER, OUT, OUT, B_LOC], [B_LOC], []]))
    score = np.exp(2) / (np.exp(2) + 4)
    np.testing.assert_allclose(answer.pop("entity_score"), [[score] * 2, [score, -1], [-1] * 2])
    assert answer == {
        "words": [
            ["é", "the", "capital", ",", "of", "france"],
            ["w1", *[""] * 5],
            [""] * 6,
        ],
        "word_labels": [
            ["O", "B-PER", "I-PER", "O", "O", "B-LOC"],
            ["B-LOC", *[""] * 5],
            [""] * 6,
        ],
        "entity_text": [["the capital", "france"], ["w1", ""], ["", ""]],
        "entity_label": [["PER", "LOC"], ["LOC", ""], ["", ""]],
        "entity_start": [[2, 18], [0, -1], [-1, -1]],
        "entity_end": [[13, 24], [2, -1], [-1, -1]],
        "num_entities": [2, 1, 0],
    }


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_repaired_as_in_evaluation(module, seed):
    labels = np.random.default_rng(seed).integers(0, 5, size=20).tolist()
    answer = _values(_decoded(module, [" ".join(["w1"] * 20)], [labels]))
    assert answer["word_labels"][0] == repaired([LABELS[label] for label in labels])


def test_no_entity_goes_over_a_cut(bundle):
    module = Tagging(bundle, options(max_seq_length=6, task_options=OURS))
    answer = _values(
        _decoded(module, ["w1 w2 w3 w4 w1 w2"], [[OUT, OUT, B_PER, I_PER, I_PER, OUT]])
    )
    assert answer["word_labels"] == [["O", "O", "B-PER", "I-PER", "O", "O"]]
    assert answer["entity_text"] == [["w3 w4"]]


def test_the_model_is_read_at_the_first_piece(bundle, module):
    answer = module.answer({"text": tf.constant(["the parisian w1"])})
    ids = np.array([[2, 5, 10, 11, 13, 3]], np.int32)  # [CLS] the paris ##ian w1 [SEP]
    logits = bundle.model(
        {
            "input_word_ids": ids,
            "input_mask": np.ones_like(ids),
            "input_type_ids": np.zeros_like(ids),
        }
    ).numpy()[0]
    expected = repaired([LABELS[logits[position].argmax()] for position in (1, 2, 4)])
    assert _values(answer)["word_labels"] == [expected]


def test_long_texts_are_cut_as_prepared_data_is(bundle):
    module = Tagging(bundle, options(max_seq_length=10, task_options=OURS))
    random = np.random.default_rng(1)
    texts = [
        random.choice(["w1", "w2", "parisian", ".", "the"], size).tolist() for size in (70, 3, 40)
    ]
    answer = _values(module.answer({"text": tf.constant([" ".join(words) for words in texts])}))
    converter = TaggingConverter(bundle.tokenizer, bundle.vocab, LABELS, 10, False)
    pieces = converter.pieces(texts)
    sentences = [{"sentence_id": n, "tags": ["O"] * len(words)} for n, words in enumerate(texts)]
    expected: list[list[str]] = [[], [], []]
    for record in converter.records(sentences, pieces):
        ids = record["input_ids"][np.newaxis].astype(np.int32)
        logits = bundle.model(
            {
                "input_word_ids": ids,
                "input_mask": np.ones_like(ids),
                "input_type_ids": np.zeros_like(ids),
            }
        ).numpy()[0]
        best = logits.argmax(-1)[record["label_ids"] >= 0]
        expected[record["sentence_id"].item()] += repaired([LABELS[label] for label in best])
    for words, labels, found, said in zip(
        texts, expected, answer["words"], answer["word_labels"], strict=True
    ):
        assert found[: len(words)] == words
        assert said[: len(words)] == labels
        assert set(said[len(words) :]) <= {""}


def test_more_windows_than_are_computed_at_once(bundle, monkeypatch):
    module = Tagging(bundle, options(max_seq_length=8))
    text = {"text": tf.constant(["w1 w2 the w3 " * 30, "", "w4"])}
    inputs, context = module.encode(text)
    at_once = module.decode(module.logits(inputs), context)
    monkeypatch.setattr("official_bert.inference.tagging.WINDOWS_AT_ONCE", 4)
    for name, value in module.answer(text).items():
        if value.dtype == tf.float32:
            np.testing.assert_allclose(value, at_once[name], atol=1e-5)
        else:
            np.testing.assert_array_equal(value, at_once[name])


def test_texts_alone_and_padded_to_a_fixed_length(bundle, answerer):
    texts = ["w1 the", "", "the capital of france is paris. " * 5, "🇫🇷 café \0"]
    together = Answerer.from_module(Tagging(bundle, options(pad_to=24, task_options=OURS)))(
        [(t.encode(),) for t in texts]
    )
    for text, answer in zip(texts, together, strict=True):
        (expected,) = answerer([(text.encode(),)])
        tidied = Tagging.tidy(answer, 5)
        wanted = Tagging.tidy(expected, 5)
        np.testing.assert_allclose(
            tidied.pop("entity_score"), wanted.pop("entity_score"), atol=1e-5
        )
        assert tidied == wanted
        for start, end, entity in zip(
            tidied["entity_start"], tidied["entity_end"], tidied["entity_text"], strict=True
        ):
            assert text[start:end] == entity


@pytest.mark.parametrize(
    ("labels", "said", "words", "kinds"),
    [
        (
            ("O", "B-X", "I-X", "E-X", "S-X"),
            [1, 3, 3, 4, 2, 2],
            ["B-X", "I-X", "B-X", "B-X", "B-X", "I-X"],
            ["w1 w2", "w3", "w4", "w1 w2"],
        ),
        (
            ("O", "X", "Y"),
            [1, 1, 2, 0, 2, 2],
            ["X", "X", "Y", "O", "Y", "Y"],
            ["w1 w2", "w3", "w1 w2"],
        ),
        (("O", "I-X"), [1, 1, 0, 1, 0, 0], ["B-X", "I-X", "O", "B-X", "O", "O"], ["w1 w2", "w4"]),
    ],
)
def test_labels_of_other_conventions(labels, said, words, kinds):
    module = Tagging(tagger(labels), options())
    answer = _values(_decoded(module, ["w1 w2 w3 w4 w1 w2"], [said], classes=len(labels)))
    assert answer["word_labels"] == [words]
    assert answer["entity_text"] == [kinds]


def test_a_model_without_label_names():
    answer = Tagging(tagger((), classes=3), options()).answer({"text": tf.constant(["w1 w2"])})
    labels = answer["word_labels"].numpy().ravel().tolist()
    assert set(labels) <= {b"LABEL_0", b"LABEL_1", b"LABEL_2"}


def test_a_megabyte_is_read_to_its_end(answerer):
    text = "the capital w1, " * 65_000
    (found,) = answerer([(text.encode(),)])
    assert len(found["words"]) == 4 * 65_000
    assert found["words"][-1] == ","


def test_readable(answerer):
    texts = ["the capital w1"]
    (row,) = answerer([(texts[0].encode(),)])
    answer = Tagging.tidy(row, 5)
    lines = Tagging.readable(texts, answer)
    assert lines[0] == texts[0]
    assert len(lines) == 1 + max(1, answer["num_entities"])
    empty = Tagging.tidy(answerer([(b"",)])[0], 5)
    assert Tagging.readable([""], empty) == ["", "  (no entities)"]


def test_hostile_text(answerer):
    texts = [*NAMED, *random_strings(300, seed=3)]
    for start in range(0, len(texts), 64):
        rows = [(text,) for text in texts[start : start + 64]]
        for answer in answerer(rows):
            tidied = Tagging.tidy(answer, 5)
            assert len(tidied["words"]) == len(tidied["word_labels"])
            assert all(tidied["words"])
            for begin, end in zip(tidied["entity_start"], tidied["entity_end"], strict=True):
                assert 0 <= begin <= end
