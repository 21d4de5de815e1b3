"""Each answer beside the model called by hand on ids that are written out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.inference.embed import Embed
from official_bert.inference.fill_mask import FillMask
from official_bert.inference.multiple_choice import MultipleChoice
from official_bert.inference.next_sentence import NextSentence
from official_bert.inference.precision import to_bfloat16
from official_bert.inference.question_answering import QuestionAnswering
from official_bert.inference.runner import Answerer, answer_function, read_rows
from official_bert.inference.sentence_prediction import SentencePrediction
from official_bert.inference.tagging import Tagging
from official_bert.models.classifier import BertClassifier
from official_bert.models.multiple_choice import BertMultipleChoice
from official_bert.models.pretrainer import BertPretrainer
from official_bert.models.span_labeler import BertSpanLabeler
from official_bert.models.token_classifier import BertTokenClassifier
from tests.small_models import MAX_POSITIONS, TOKENS, bundle_of, options, tiny_bundle, tiny_config

CLS, SEP, MASK = 2, 3, 4
ID = {token: number for number, token in enumerate(TOKENS)}


@pytest.fixture(scope="module")
def bundle():
    return tiny_bundle()


@pytest.fixture(scope="module")
def fill_mask(bundle):
    return FillMask(bundle, options())


def _inputs(ids, types=None):
    ids = np.array([ids], np.int32)
    types = np.zeros_like(ids) if types is None else np.array([types], np.int32)
    return {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": types}


def _softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def test_fill_mask_gives_the_best_words_of_each_mask(bundle, fill_mask):
    answer = fill_mask.answer({"text": tf.constant(["[MASK] w1 [MASK].", "w2"])})
    ids = [CLS, MASK, ID["w1"], MASK, ID["."], SEP]
    logits = bundle.pretrainer({**_inputs(ids), "masked_lm_positions": np.array([[1, 3]])})
    for mask in range(2):
        probabilities = _softmax(logits["mlm_logits"].numpy()[0, mask])
        best = np.argsort(-probabilities)[:3]
        assert answer["token_ids"].numpy()[0, mask].tolist() == best.tolist()
        assert answer["tokens"].numpy()[0, mask].tolist() == [TOKENS[i].encode() for i in best]
        np.testing.assert_allclose(
            answer["probabilities"].numpy()[0, mask], probabilities[best], atol=1e-6
        )
    assert answer["num_masks"].numpy().tolist() == [2, 0]
    assert answer["tokens"].numpy()[1].tolist() == [[b""] * 3] * 2
    assert answer["token_ids"].numpy()[1].tolist() == [[-1] * 3] * 2
    assert answer["probabilities"].numpy()[1].tolist() == [[0.0] * 3] * 2


def test_fill_mask_without_a_mask_has_no_columns(fill_mask):
    answer = fill_mask.answer({"text": tf.constant(["w1", ""])})
    assert answer["tokens"].shape == [2, 0, 3]
    assert answer["num_masks"].numpy().tolist() == [0, 0]


def test_fill_mask_counts_only_masks_within_the_length(fill_mask):
    answer = fill_mask.answer({"text": tf.constant(["w1 [MASK] " * 30])})
    assert answer["num_masks"].numpy().tolist() == [(MAX_POSITIONS - 2) / 2]


def test_more_masks_than_are_computed_at_once(fill_mask, monkeypatch):
    text = {"text": tf.constant(["[MASK] w1 " * 9, "[MASK] " * 20, "w1"])}
    at_once = fill_mask.answer(text)
    monkeypatch.setattr("official_bert.inference.fill_mask.MASKS_AT_ONCE", 4)
    in_blocks = fill_mask.answer(text)
    np.testing.assert_allclose(at_once["probabilities"], in_blocks["probabilities"], atol=1e-6)
    assert (at_once["token_ids"].numpy() == in_blocks["token_ids"].numpy()).all()


def test_encoded_fill_mask_has_the_logits_at_the_masks(bundle, fill_mask):
    ids = [CLS, ID["w1"], MASK, SEP]
    outputs = fill_mask.logits(_inputs(ids))
    by_hand = bundle.pretrainer({**_inputs(ids), "masked_lm_positions": np.array([[2]])})
    assert outputs["mask_positions"].numpy().tolist() == [[2]]
    np.testing.assert_allclose(outputs["mlm_logits"], by_hand["mlm_logits"], atol=1e-5)


def test_next_sentence_is_class_0_of_the_joined_pair(bundle):
    module = NextSentence(bundle, options())
    answer = module.answer({"text_a": tf.constant(["w1 w2"]), "text_b": tf.constant(["w3"])})
    ids = [CLS, ID["w1"], ID["w2"], SEP, ID["w3"], SEP]
    logits = bundle.pretrainer(
        {**_inputs(ids, [0, 0, 0, 0, 1, 1]), "masked_lm_positions": np.zeros((1, 0), np.int32)}
    )["next_sentence"].numpy()[0]
    np.testing.assert_allclose(answer["is_next_probability"], [_softmax(logits)[0]], atol=1e-6)


def test_embed_gives_pooled_cls_and_mean(bundle):
    module = Embed(bundle, options(concat_last_four=True))
    answer = module.answer({"text": tf.constant(["w1", "w1 w2 w3 w4"])})
    outputs = bundle.encoder(_inputs([CLS, ID["w1"], SEP]))
    states = outputs["sequence_output"].numpy()[0]  # without the padding of the batch
    np.testing.assert_allclose(answer["pooled"][0], outputs["pooled_output"][0], atol=1e-5)
    np.testing.assert_allclose(answer["cls"][0], states[0], atol=1e-5)
    np.testing.assert_allclose(answer["mean"][0], states.mean(axis=0), atol=1e-5)
    layers = [layer.numpy()[0].mean(axis=0) for layer in outputs["encoder_outputs"]]
    np.testing.assert_allclose(answer["concat_last_four"][0], np.hstack(layers[::-1]), atol=1e-5)


def test_a_causal_model_gives_no_constant_and_fills_no_mask():
    causal = tiny_bundle(attention="causal")
    assert FillMask.missing(causal) == "attention to both sides of a [MASK]"
    answer = Embed(causal, options()).answer({"text": tf.constant(["w1", "w1 w2 w3 w4"])})
    assert sorted(answer) == ["mean", "pooled"]
    assert np.abs(answer["pooled"][0] - answer["pooled"][1]).max() > 1e-2


def test_rows_are_cut_and_padded_as_the_options_say(bundle):
    text = {"text": tf.constant(["w1 w2 w3 w4", "w1"])}
    in_short = Embed(bundle, options(max_seq_length=5)).encode(text)[0]["input_word_ids"]
    assert in_short.numpy().tolist() == [[2, 13, 14, 15, 3], [2, 13, 3, 0, 0]]
    padded = Embed(bundle, options(pad_to=MAX_POSITIONS))
    assert padded.encode(text)[0]["input_word_ids"].shape == [2, MAX_POSITIONS]
    np.testing.assert_allclose(
        padded.answer(text)["mean"], Embed(bundle, options()).answer(text)["mean"], atol=1e-5
    )


def test_heads_that_are_missing_are_named(bundle):
    encoder = dataclasses.replace(bundle, kind="encoder", model=bundle.encoder)
    assert FillMask.missing(encoder) == "the masked-LM head"
    assert NextSentence.missing(tiny_bundle(use_pooler=False)) == "the next-sentence head"
    assert [kind.missing(bundle) for kind in (FillMask, NextSentence, Embed)] == [""] * 3


def test_bfloat16_stores_what_it_computes_with(bundle):
    halved = dataclasses.replace(bundle, model=to_bfloat16(bundle.model))
    text = {"text": tf.constant(["the capital of [MASK]"])}
    embed = answer_function(Embed(halved, options()))
    stored = {v.name: v.dtype for v in embed.graph.variables}
    float32 = {name for name, dtype in stored.items() if dtype != tf.bfloat16}
    assert all(name.endswith(("/gamma:0", "/beta:0")) for name in float32)
    assert len(stored) - len(float32) == 3 + 2 * (2 * 6 + 1)  # tables, layers, pooler
    exact = Embed(bundle, options()).answer(text)
    for name, value in embed(**text).items():
        difference = np.abs(value - exact[name]).max() / np.abs(exact[name]).max()
        assert 0 < difference < 0.05
    assert bundle.model.variables[0].dtype == tf.float32


def test_rows_are_python_values(fill_mask):
    answerer = Answerer.from_module(fill_mask)
    first, second = answerer([(b"w1 [MASK]",), (b"\xff w2",)])
    assert len(first["tokens"]) == 1 and isinstance(first["tokens"][0][0], str)
    assert FillMask.tidy(first, 2)["tokens"] == [first["tokens"][0][:2]]
    assert FillMask.tidy(second, 2) == {
        "tokens": [], "token_ids": [], "probabilities": [], "num_masks": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "make", "made_of"),
    [
        ("classifier", SentencePrediction, lambda: BertClassifier(tiny_config(), 3)),
        ("token_classifier", Tagging, lambda: BertTokenClassifier(tiny_config(), 5)),
        ("span_labeler", QuestionAnswering, lambda: BertSpanLabeler(tiny_config())),
        ("multiple_choice", MultipleChoice, lambda: BertMultipleChoice(tiny_config())),
        ("pretrainer", FillMask, lambda: BertPretrainer(tiny_config())),
        ("pretrainer", NextSentence, lambda: BertPretrainer(tiny_config())),
        ("pretrainer", Embed, lambda: BertPretrainer(tiny_config())),
    ],
)
def test_no_rows_get_no_answers(kind, make, made_of):
    module = make(bundle_of(kind, made_of(), labels=("O", "B-A", "I-A", "B-B", "I-B")), options())
    none = {
        name: tf.zeros([0, *[2] * (spec.shape.rank - 1)], tf.string)
        for name, spec in module.text_inputs.items()
    }
    for name, tensor in answer_function(module)(**none).items():
        assert tensor.shape[0] == 0, name


def test_lines_are_split_into_as_many_texts_as_wanted():
    assert list(read_rows([b"a\tb\r\n", b""], ["text"])) == [(b"a\tb",), (b"",)]
    pairs = list(read_rows([b"a ||| b", b"c | d\te|"], ["text_a", "text_b"]))
    assert pairs == [(b"a", b"b"), (b"c | d", b"e|")]
    with pytest.raises(InputError, match="line 2 has 1 text"):
        list(read_rows([b"a ||| b", b"c"], ["text_a", "text_b"]))
