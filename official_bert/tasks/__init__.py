"""One module a task: its records, model, loss, metrics and decoding."""

from __future__ import annotations

import importlib
from typing import Any

from official_bert.errors import InputError

# Name in the config -> where its class is.
_TASKS = {
    "pretraining": ("official_bert.tasks.pretraining", "PretrainingTask"),
    "sentence_prediction": (
        "official_bert.tasks.sentence_prediction",
        "SentencePredictionTask",
    ),
    "question_answering": ("official_bert.tasks.question_answering", "QuestionAnsweringTask"),
    "tagging": ("official_bert.tasks.tagging", "TaggingTask"),
    "feature_tagging": ("official_bert.tasks.feature_tagging", "FeatureTaggingTask"),
    "multiple_choice": ("official_bert.tasks.multiple_choice", "MultipleChoiceTask"),
}


def task_class(name: str) -> Any:
    """The class of the task with that name.

    Raises:
        InputError: there is none.
    """
    if name not in _TASKS:
        raise InputError(f"task is {name!r}: it must be one of {', '.join(sorted(_TASKS))}")
    module, attribute = _TASKS[name]
    return getattr(importlib.import_module(module), attribute)
