"""The table of heads."""

from __future__ import annotations

import pytest

from official_bert import (
    BertClassifier,
    BertEncoder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
)
from official_bert.checkpoints.heads import ANSWERS, HEADS, HUGGINGFACE_KINDS, kind_of
from official_bert.class_path import load_class
from official_bert.errors import InputError
from official_bert.inference.base import AnswerModule
from tests.small_models import TINY


@pytest.mark.parametrize("from_encoder", [False, True])
@pytest.mark.parametrize(
    ("kind", "num_classes", "dropout", "model_class", "settings"),
    [
        ("encoder", None, None, BertEncoder, {}),
        ("pretrainer", None, None, BertPretrainer, {"use_next_sentence": True}),
        ("classifier", 3, 0.3, BertClassifier, {"num_classes": 3, "dropout": 0.3}),
        ("classifier", 3, None, BertClassifier, {"num_classes": 3, "dropout": None}),
        ("token_classifier", 5, 0.3, BertTokenClassifier, {"num_classes": 5, "dropout": 0.3}),
        ("multiple_choice", None, 0.3, BertMultipleChoice, {"dropout": 0.3}),
        ("span_labeler", None, None, BertSpanLabeler, {}),
    ],
)
def test_a_row_builds_its_model(kind, num_classes, dropout, model_class, settings, from_encoder):
    encoder = BertEncoder(TINY) if from_encoder else TINY
    model = HEADS[kind].build(encoder, num_classes, dropout)
    assert type(model) is model_class
    assert model.name == f"bert_{kind}"
    assert settings.items() <= model.get_config().items()
    if from_encoder:
        assert getattr(model, "encoder", model) is encoder


def test_an_optional_part_is_left_out():
    model = HEADS["pretrainer"].build(TINY, parts={"masked_lm"})
    assert model.get_config()["use_next_sentence"] is False


@pytest.mark.parametrize("kind", ["classifier", "token_classifier"])
def test_a_classifier_must_be_told_its_classes(kind):
    with pytest.raises(InputError, match=f"a {kind} needs num_classes"):
        HEADS[kind].build(TINY)


def test_every_answer_is_a_class_of_that_name():
    assert list(ANSWERS) == [
        "embed",
        "fill_mask",
        "next_sentence",
        "sentence_prediction",
        "tagging",
        "multiple_choice",
        "question_answering",
    ]
    for name, path in ANSWERS.items():
        assert load_class(path, AnswerModule).name == name


def test_classes_of_transformers():
    assert HUGGINGFACE_KINDS == {
        "BertModel": "encoder",
        "BertForPreTraining": "pretrainer",
        "BertForMaskedLM": "pretrainer",
        "BertForSequenceClassification": "classifier",
        "BertForTokenClassification": "token_classifier",
        "BertForMultipleChoice": "multiple_choice",
        "BertForQuestionAnswering": "span_labeler",
    }


@pytest.mark.parametrize(
    ("names", "stated", "kind"),
    [
        (["encoder/pooler/bias"], None, "encoder"),
        (["encoder/pooler/bias"], "classifier", "encoder"),
        (["masked_lm/output_bias"], None, "pretrainer"),
        (["masked_lm/output_bias"], "encoder", "pretrainer"),
        (["masked_lm/output_bias", "next_sentence/bias"], "classifier", "pretrainer"),
        (["next_sentence/bias"], None, "encoder"),
        (["classifier/bias"], None, "classifier"),
        (["classifier/bias"], "token_classifier", "token_classifier"),
        (["classifier/bias"], "multiple_choice", "multiple_choice"),
        (["classifier/bias"], "span_labeler", "classifier"),
        (["span/bias"], None, "span_labeler"),
        (["span/bias"], "of_another_program", "span_labeler"),
    ],
)
def test_the_kind_that_variables_make(names, stated, kind):
    assert kind_of(names, stated) == kind
