"""Strings in, named answers out: one module for each kind of answer.

Prediction runs these modules in memory and export writes the very same ones into a SavedModel, so
both give the same answers by construction.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from official_bert.errors import InputError

if TYPE_CHECKING:
    from official_bert.answering.base import AnswerModule

# Name of the answer -> where its module is.
_MODULES = {
    "fill_mask": ("official_bert.answering.fill_mask", "FillMask"),
    "next_sentence": ("official_bert.answering.next_sentence", "NextSentence"),
    "embed": ("official_bert.answering.embed", "Embed"),
}
# The training task (`task` in config.yaml) -> the answers that its models give, the usual one
# first. "" stands for an encoder without a task.
_BY_TASK = {
    "pretraining": ("fill_mask", "next_sentence", "embed"),
    "": ("embed",),
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


def answers_of_task(task: str) -> tuple[str, ...]:
    """The names of the answers that a model of this training task gives, the usual one first.

    Raises:
        InputError: models of this task give no answers yet.
    """
    if task not in _BY_TASK:
        known = ", ".join(filter(None, _BY_TASK))
        raise InputError(f"a model of the task {task!r} cannot answer; those of {known} can")
    return _BY_TASK[task]
