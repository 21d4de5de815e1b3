"""Strings in, named answers out: one module for each kind of answer.

Prediction runs these modules in memory and export writes the very same ones into a SavedModel, so
both give the same answers by construction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from official_bert.checkpoints.heads import ANSWERS, HEADS
from official_bert.class_path import load_class
from official_bert.errors import InputError

if TYPE_CHECKING:
    from official_bert.inference.base import AnswerModule


def answer_class(name: str) -> type[AnswerModule]:
    """The class of the answer with that name.

    Raises:
        InputError: there is none.
    """
    if name not in ANSWERS:
        raise InputError(f"there is no answer {name!r}: it must be one of {', '.join(ANSWERS)}")
    return load_class(ANSWERS[name])


def answers_of_kind(kind: str) -> tuple[str, ...]:
    """The names of the answers that a model of this kind can give, the usual one first.

    Raises:
        InputError: models of this kind give no answers yet.
    """
    if not HEADS[kind].answers:
        able = ", ".join(head.kind for head in HEADS.values() if head.answers)
        raise InputError(f"a {kind} cannot answer yet; these can: {able}")
    return tuple(HEADS[kind].answers)
