"""Strings in, named answers out: one module for each kind of answer.

Prediction runs these modules in memory and export writes the very same ones into a SavedModel, so
both give the same answers by construction.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from official_bert.errors import InputError

if TYPE_CHECKING:
    from official_bert.inference.base import AnswerModule

# Name of the answer -> where its module is.
_MODULES = {
    "fill_mask": ("official_bert.inference.fill_mask", "FillMask"),
    "next_sentence": ("official_bert.inference.next_sentence", "NextSentence"),
    "embed": ("official_bert.inference.embed", "Embed"),
    "sentence_prediction": (
        "official_bert.inference.sentence_prediction",
        "SentencePrediction",
    ),
    "question_answering": ("official_bert.inference.question_answering", "QuestionAnswering"),
    "tagging": ("official_bert.inference.tagging", "Tagging"),
    "multiple_choice": ("official_bert.inference.multiple_choice", "MultipleChoice"),
}
# What a checkpoint is (`Pretrained.kind`) -> the answers that it can give, the usual one first.
_BY_KIND = {
    "pretrainer": ("fill_mask", "next_sentence", "embed"),
    "encoder": ("embed",),
    "classifier": ("sentence_prediction",),
    "span_labeler": ("question_answering",),
    "token_classifier": ("tagging",),
    "multiple_choice": ("multiple_choice",),
}


def answer_class(name: str) -> type[AnswerModule]:
    """The class of the answer with that name.

    Raises:
        InputError: there is none.
    """
    if name not in _MODULES:
        raise InputError(f"there is no answer {name!r}: it must be one of {', '.join(_MODULES)}")
    module, attribute = _MODULES[name]
    return getattr(importlib.import_module(module), attribute)


def answers_of_kind(kind: str) -> tuple[str, ...]:
    """The names of the answers that a model of this kind can give, the usual one first.

    Raises:
        InputError: models of this kind give no answers yet.
    """
    if kind not in _BY_KIND:
        raise InputError(f"a {kind} cannot answer yet; these can: {', '.join(_BY_KIND)}")
    return _BY_KIND[kind]
