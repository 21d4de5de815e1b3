"""One module a task: its records, model, loss, metrics and predictions; `base.Task` says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from official_bert.class_path import load_class
from official_bert.errors import InputError

if TYPE_CHECKING:
    from official_bert.tasks.base import Task

# Name in the config -> where its class is.
TASKS = {
    "pretraining": "official_bert.tasks.pretraining:PretrainingTask",
    "sentence_prediction": "official_bert.tasks.sentence_prediction:SentencePredictionTask",
    "question_answering": "official_bert.tasks.question_answering:QuestionAnsweringTask",
    "tagging": "official_bert.tasks.tagging:TaggingTask",
    "feature_tagging": "official_bert.tasks.feature_tagging:FeatureTaggingTask",
    "multiple_choice": "official_bert.tasks.multiple_choice:MultipleChoiceTask",
}


def task_class(name: str) -> type[Task]:
    """The class of a task.

    Args:
        name: as a config has it: a key of `TASKS`, or `package.module:Class` for a subclass of
            `base.Task` that lives elsewhere.

    Raises:
        InputError: there is none.
    """
    from official_bert.tasks.base import Task

    if name not in TASKS and ":" not in name:
        raise InputError(
            f"task is {name!r}: it must be one of {', '.join(sorted(TASKS))}, or "
            "package.module:Class"
        )
    task: type[Task] = load_class(TASKS.get(name, name), Task)
    return task
