"""The data sets that `create_finetuning_data` knows, by the name that `--task` gives them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING

from data_prep.finetuning.glue_layouts import LAYOUTS
from official_bert.class_path import load_class
from official_bert.errors import InputError

if TYPE_CHECKING:
    from data_prep.finetuning.base import DataSet
    from data_prep.finetuning.settings import Settings

DATA_SETS: Mapping[str, str] = {
    **dict.fromkeys(LAYOUTS, "data_prep.finetuning.glue:GlueDataSet"),
    "csv": "data_prep.finetuning.table:TableDataSet",
    "squad_v1": "data_prep.finetuning.squad:SquadDataSet",
    "squad_v2": "data_prep.finetuning.squad:SquadDataSet",
    "triviaqa": "data_prep.finetuning.triviaqa:TriviaQaDataSet",
    "conll": "data_prep.finetuning.tagging:TaggingDataSet",
    "swag": "data_prep.finetuning.multiple_choice:MultipleChoiceDataSet",
    "choices": "data_prep.finetuning.multiple_choice:MultipleChoiceDataSet",
}


def find_class(name: str) -> type[DataSet]:
    """The class of a data set.

    Args:
        name: a key of `DATA_SETS`, or "package.module:Class" for one of one's own.

    Raises:
        InputError: there is none, it is no `DataSet`, or it lacks a member of the contract.
    """
    from data_prep.finetuning.base import DataSet
    from official_bert.data.records import RECORD_KINDS

    if name not in DATA_SETS and ":" not in name:
        known = ", ".join(DATA_SETS)
        raise InputError(f"--task={name}: give one of {known}, or a class: package.module:Class")
    found: type[DataSet] = load_class(DATA_SETS.get(name, name), DataSet)
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InputError(f"--task={name}: the class lacks {missing}: see {DataSet.__module__}")
    if found.record_kind not in RECORD_KINDS:
        raise InputError(
            f"--task={name}: record_kind of the class is {found.record_kind!r}: it must be one of "
            f"{', '.join(RECORD_KINDS)}"
        )
    return found


def make_data_set(settings: Settings) -> DataSet:
    """The data set that `settings.dataset` names.

    Raises:
        InputError: there is none of that name, or its files are not there.
    """
    return find_class(settings.dataset)(settings)
