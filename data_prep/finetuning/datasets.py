"""The data sets that `create_finetuning_data` knows, by the name that `--task` gives them."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from numpy.typing import NDArray

from data_prep.finetuning.settings import Settings
from official_bert.errors import InputError

Example = dict[str, Any]


class DataSet(Protocol):
    """Raw files -> examples -> records.

    Attributes:
        record_kind: a key of `official_bert.data.records.RECORD_KINDS`.
        splits: those of "train", "dev", "test" and so on that are there.
        sources: the files that are read.
        labels: label names in id order; empty where the task has none.
        options: what training and serving must know; goes into the manifest.
    """

    record_kind: str
    splits: list[str]
    sources: list[pathlib.Path]
    labels: list[str]
    options: dict[str, Any]

    def examples(self, split: str) -> Iterator[Example]:
        """The rows of a split as JSON objects, in the order of the file.

        Raises:
            InputError: a row is not what it must be; names file and line.
        """

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[dict[str, NDArray]]:
        """The features of each record, without padding; one or several records an example."""

    def statistics(self) -> dict[str, Any]:
        """What was counted; asked after the last split."""


_SQUAD = ("data_prep.finetuning.squad", "SquadDataSet")
_GLUE = ("data_prep.finetuning.glue", "GlueDataSet")
_DATA_SETS = {
    **dict.fromkeys(
        ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli", "ax", "xnli"), _GLUE
    ),
    "csv": ("data_prep.finetuning.table", "TableDataSet"),
    **dict.fromkeys(("squad_v1", "squad_v2"), _SQUAD),
    "triviaqa": ("data_prep.finetuning.triviaqa", "TriviaQaDataSet"),
    "conll": ("data_prep.finetuning.tagging", "TaggingDataSet"),
    **dict.fromkeys(
        ("swag", "choices"), ("data_prep.finetuning.multiple_choice", "MultipleChoiceDataSet")
    ),
}


def make_data_set(settings: Settings) -> DataSet:
    """The data set that `settings.task` names.

    Raises:
        InputError: there is none of that name, or its files are not there.
    """
    if settings.task not in _DATA_SETS:
        known = ", ".join(sorted(_DATA_SETS))
        raise InputError(f"--task={settings.task}: it must be one of {known}")
    module, attribute = _DATA_SETS[settings.task]
    return getattr(importlib.import_module(module), attribute)(settings)
