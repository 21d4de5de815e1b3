"""The model folder: what training leaves for evaluation, prediction and export.

Its file names stand here and nowhere else. This module is on the lowest floor, since the tokenizer
writes two of the files and prepared data has them too; it knows no config and no model, only files.
"""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.errors import InputError, shown
from official_bert.json_file import dumps, read_json
from official_bert.path import to_path
from official_bert.regular_file import read_bytes

# The resolved config of the run.
CONFIG_NAME = "config.yaml"
# The encoder's sizes; google-research/bert has a file of this name, too.
BERT_CONFIG_NAME = "bert_config.json"
VOCAB_NAME = "vocab.txt"
# The tokenizer's settings; Hugging Face has a file of this name, too.
TOKENIZER_CONFIG_NAME = "tokenizer_config.json"
# The names of the classes, one a line, in id order.
LABELS_NAME = "labels.txt"
# The manifest of the data that the model was trained on: its labels and options.
PREPARED_DATA_NAME = "prepared_data.json"
# The same of the second phase, where the run has one.
SECOND_PHASE_DATA_NAME = "second_phase_data.json"
RESULTS_NAME = "eval_results.json"
NONFINITE_NAME = "nonfinite.json"

# The state of the run after some steps, and the weights with the best score.
CHECKPOINTS_NAME = "checkpoints"
BEST_NAME = "best"
# In both: ckpt.index beside ckpt.data-…, with -STEP behind it in the first.
CHECKPOINT_PREFIX = "ckpt"
# In best/.
SCORE_NAME = "score.json"

METRICS_NAME = "metrics.jsonl"
# Of `--mode=eval`, which runs beside the training that writes the other file.
WATCHED_METRICS_NAME = "eval_metrics.jsonl"
# Where the run went back because its loss had risen.
RECOVERIES_NAME = "recoveries.json"
PICTURE_NAME = "training.png"
TENSORBOARD_NAME = "tensorboard"

_MOST_LABELS_BYTES = 16 << 20


class ModelFolder:
    """The files of a model folder that are read and written as a whole.

    Args:
        path: the folder; it need not be there yet.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = to_path(path)

    def task_options(self) -> dict[str, Any]:
        """Options of the data that the model was trained on, and its results; {} without them."""
        path = self.path / PREPARED_DATA_NAME
        if not path.exists():
            return {}
        options = read_json(path).get("options")
        if not isinstance(options, dict):
            raise InputError(
                f"{path}: options is {shown(options)}: it must be an object; copy manifest.json of "
                "the prepared data there"
            )
        return {**options, **(self.results() or {})}

    def results(self) -> dict[str, Any] | None:
        """What `eval_results.json` says; None where it is not there.

        Raises:
            InputError: it holds something else than metrics and names.
        """
        path = self.path / RESULTS_NAME
        return read_results(path) if path.exists() else None

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes `eval_results.json`."""
        self._write_json(RESULTS_NAME, results)

    def write_nonfinite(self, report: dict[str, Any]) -> pathlib.Path:
        """Writes `nonfinite.json` and returns its path."""
        self._write_json(NONFINITE_NAME, report)
        return self.path / NONFINITE_NAME

    def _write_json(self, name: str, values: dict[str, Any]) -> None:
        with atomic_file(self.path / name) as file:
            file.write(dumps(values, indent=2) + "\n")


def read_results(path: pathlib.Path) -> dict[str, Any]:
    """The metrics in a JSON file: names, numbers, NaN for null; `step` is a whole number.

    Raises:
        InputError: it holds something else.
    """
    values = read_json(path, nan=True)  # Earlier versions wrote metrics so.
    for name, value in values.items():
        whole = name in ("step", "total_steps")
        good = value is None or isinstance(value, str | int | float)
        if whole:
            good = isinstance(value, int) and value >= 0
        if not good or isinstance(value, bool):
            wanted = "a whole number" if whole else "a number or a name"
            raise InputError(
                f"{path}: {name} is {shown(value)}: it must be {wanted}; remove the file, and "
                "evaluate again"
            )
    return {name: math.nan if value is None else value for name, value in values.items()}


def read_labels(folder: pathlib.Path, expected: int | None = None) -> tuple[str, ...]:
    """The labels in the labels.txt of a folder, a model's or an export's; () where it has none.

    A line ends at "\\n" or "\\r\\n". Other characters that break lines elsewhere, such as U+2028,
    are part of a label.

    Args:
        folder: where the file may be.
        expected: how many classes the model has; None where nobody knows.

    Raises:
        InputError: the file is not UTF-8, or has another number of lines than there are classes.
    """
    path = folder / LABELS_NAME
    if not path.exists():
        return ()
    try:
        text = read_bytes(path, limit=_MOST_LABELS_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}: save it as UTF-8") from error
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if expected is not None and len(lines) != expected:
        raise InputError(
            f"{path} names {len(lines)} labels, and the model has {expected} classes: write one "
            "line for each, in id order"
        )
    return tuple(line.removesuffix("\r") for line in lines)


def write_labels(folder: pathlib.Path, labels: Sequence[str]) -> None:
    """Writes labels.txt into a folder.

    Raises:
        InputError: a label has a line break in it.
    """
    for number, label in enumerate(labels):
        if "\n" in label or "\r" in label:
            raise InputError(
                f"label {number}, {shown(label)}, has a line break in it, and {LABELS_NAME} has a "
                "label a line: give the class another name"
            )
    with atomic_file(folder / LABELS_NAME) as file:
        file.writelines(f"{label}\n" for label in labels)
