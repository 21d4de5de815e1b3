"""Answers of classifiers beside the model called by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from official_bert.inference.runner import Answerer
from official_bert.inference.sentence_prediction import SentencePrediction
from official_bert.models.classifier import BertClassifier
from official_bert.models.encoder import BertEncoder
from tests.small_models import TOKENS, options, tiny_bundle

ID = {token: number for number, token in enumerate(TOKENS)}


def _module(num_classes, labels=(), **task_options):
    bundle = tiny_bundle()
    model = BertClassifier(bundle.encoder, num_classes)
    generator = tf.random.Generator.from_seed(3)
    model.classifier.kernel.assign(generator.normal(model.classifier.kernel.shape))
    source = dataclasses.replace(bundle, kind="classifier", model=model, labels=tuple(labels))
    return model, SentencePrediction(source, options(task_options=task_options))


def test_pairs_get_the_label_of_the_largest_logit():
    model, module = _module(
        3, ["yes", "no", "maybe"], problem="classification", text_inputs=["text_a", "text_b"]
    )
    texts = {"text_a": tf.constant(["the capital", "w1"]), "text_b": tf.constant(["w2", ""])}
    answer = module.answer(texts)
    words = ["[CLS]", "the", "capital", "[SEP]", "w2", "[SEP]"]
    ids = np.array([[ID[word] for word in words]], np.int32)
    logits = model(
        {
            "input_word_ids": ids,
            "input_mask": np.ones_like(ids),
            "input_type_ids": np.array([[0, 0, 0, 0, 1, 1]], np.int32),
        },
        training=False,
    ).numpy()[0]
    powers = np.exp(logits - logits.max())
    np.testing.assert_allclose(answer["probabilities"][0], powers / powers.sum(), atol=1e-5)
    best = int(logits.argmax())
    assert int(answer["label_id"][0]) == best
    assert answer["label"].numpy()[0].decode() == ("yes", "no", "maybe")[best]
    assert answer["probabilities"].shape == [2, 3]


def test_without_names_labels_are_numbers():
    _, module = _module(2)
    answer = module.answer({"text": tf.constant(["w1 w2"])})
    assert answer["label"].numpy()[0].decode() == str(int(answer["label_id"][0]))


def test_labels_above_one_half_the_most_probable_first():
    _, module = _module(3, ["a", "b", "c"], problem="multi_label")
    answer = module.decode({"logits": tf.constant([[1.0, -1.0, 2.0], [-1.0, -1.0, -1.0]])}, {})
    assert answer["labels"].numpy().tolist() == [[b"c", b"a", b""], [b"", b"", b""]]
    np.testing.assert_allclose(
        answer["probabilities"][0], 1 / (1 + np.exp([-1.0, 1.0, -2.0])), atol=1e-6
    )
    rows = Answerer(["text"], lambda text: answer)([(b"x",), (b"y",)])
    assert SentencePrediction.tidy(rows[0], 5)["labels"] == ["c", "a"]
    assert SentencePrediction.readable(["y"], SentencePrediction.tidy(rows[1], 5)) == [
        "(no label)  y"
    ]


def test_a_number_is_the_logit():
    model, module = _module(1, problem="regression")
    answer = module.answer({"text": tf.constant(["the capital of france"])})
    inputs, _ = module.encode({"text": tf.constant(["the capital of france"])})
    assert float(answer["score"][0]) == pytest.approx(float(model(inputs, training=False)[0, 0]))
    assert list(answer) == ["score"]


@pytest.mark.parametrize(
    "texts", [["w1"], ["w1 w2 w3 w4 w5", "w1", "", "the capital", "w2 w3", "w4 " * 50]]
)
def test_texts_of_many_lengths_get_the_answers_that_each_gets_alone(texts):
    _, module = _module(3)
    together = module.answer({"text": tf.constant(texts)})["probabilities"]
    alone = [module.answer({"text": tf.constant([text])})["probabilities"][0] for text in texts]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    inputs, context = module.encode({"text": tf.constant(texts)})
    unpacked = module.decode(module.logits(inputs), context)["probabilities"]
    np.testing.assert_allclose(together, unpacked, atol=1e-6)


def test_a_causal_encoder_answers_too():
    bundle = tiny_bundle()
    encoder = BertEncoder(bundle.config.replace(attention="causal"))
    source = dataclasses.replace(bundle, kind="classifier", model=BertClassifier(encoder, 2))
    module = SentencePrediction(source, options())
    together = module.answer({"text": tf.constant(["w1 w2 w3", "w4"])})["probabilities"]
    alone = module.answer({"text": tf.constant(["w4"])})["probabilities"]
    np.testing.assert_allclose(together[1:], alone, atol=1e-6)
