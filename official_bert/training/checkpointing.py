"""Checkpoints of a run: the newest ones to go on from, and the best one to use."""

from __future__ import annotations

import math
import os
import pathlib
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from official_bert.atomic import atomic_folder
from official_bert.errors import InputError, shown
from official_bert.json_file import dumps, read_json
from official_bert.model_folder import BEST_NAME, CHECKPOINT_PREFIX, CHECKPOINTS_NAME, SCORE_NAME
from official_bert.tensor_bundle import STATE_NAME, check_index, literal_prefix
from official_bert.training.step import TrainingModel

_INDEX_NAME = re.compile(rf"{CHECKPOINT_PREFIX}-([0-9]{{1,18}})\.index")


class Checkpoints:
    """Saves and restores everything that the next step depends on.

    That is: weights, the optimizer's moments and step, and the number of steps done, from which
    the place in the data and the dropout masks follow.

    Args:
        model_dir: the folder that has `checkpoints/`.
        training_model: compiled, with the optimizer's variables made.
        keep: how many of the newest ones stay.
        every_steps: between two checkpoints; 0: by time only.
        every_seconds: between two checkpoints; 0: by steps only.
        writes: false for all but one of several workers, which then only restore.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        training_model: TrainingModel,
        *,
        keep: int,
        every_steps: int,
        every_seconds: float,
        writes: bool = True,
    ):
        self._writes = writes
        self._training_model = training_model
        self._checkpoint = tf.train.Checkpoint(
            model=training_model.model,
            optimizer=training_model.optimizer,
            global_step=training_model.global_step,
            nonfinite_steps=training_model.nonfinite_steps,
        )
        # Made now, by all workers: making a variable is a collective operation.
        assert self._checkpoint.save_counter is not None
        self._folder = pathlib.Path(model_dir) / CHECKPOINTS_NAME
        self._manager = _manager(self._checkpoint, self._folder, keep)
        self._every_steps, self._every_seconds = every_steps, every_seconds
        self._saved_step, self._saved_time = -1, time.monotonic()

    @property
    def latest(self) -> str | None:
        """Path prefix of the newest checkpoint."""
        return self._manager.latest_checkpoint

    def restore(self) -> int:
        """Restores the newest checkpoint that can be read; returns its step, 0 without one.

        Raises:
            InputError: there are checkpoints, but none can be read.
        """
        if _restore_newest(self._checkpoint, self._folder):
            self._saved_step = int(self._training_model.global_step.numpy())
        return max(self._saved_step, 0)

    def is_due(self, step: int) -> bool:
        """Whether the steps or the seconds since the last time say that this one is to be saved."""
        if not self._writes:
            return False
        steps_due = self._every_steps and step // self._every_steps > max(
            self._saved_step // self._every_steps, 0
        )
        seconds = time.monotonic() - self._saved_time
        return bool(steps_due) or bool(self._every_seconds and seconds >= self._every_seconds)

    def save(self, step: int) -> None:
        """Saves, unless this step is saved already.

        Raises:
            InputError: the disk is full or the folder cannot be written; the last one is named.
        """
        if step == self._saved_step or not self._writes:
            return
        try:
            self._manager.save(checkpoint_number=step)
        except (OSError, tf.errors.OpError) as error:
            raise InputError(
                f"cannot write a checkpoint to {self._manager.directory}: {error}; "
                f"the last good one is {self.latest}"
            ) from error
        self._saved_step, self._saved_time = step, time.monotonic()


def restore_weights(model_dir: str | os.PathLike[str], model: tf.Module) -> int:
    """Puts the weights of the newest checkpoint that can be read into a model.

    What only training needs, such as the moments of the optimizer, is not read.

    Args:
        model_dir: the folder that has `checkpoints/`.
        model: the model without the training step.

    Returns:
        the step of the checkpoint; 0 without one.

    Raises:
        InputError: there are checkpoints, but none can be read.
    """
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    checkpoint = tf.train.Checkpoint(model=model, global_step=step)
    folder = pathlib.Path(model_dir) / CHECKPOINTS_NAME
    return int(step.numpy()) if _restore_newest(checkpoint, folder) else 0


def _manager(
    checkpoint: tf.train.Checkpoint, folder: pathlib.Path, keep: int
) -> tf.train.CheckpointManager:
    try:
        return tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=keep)
    except ValueError:
        # TensorFlow's list of checkpoints is empty or damaged; the next `save` writes a new one.
        (folder / STATE_NAME).unlink()
        return tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=keep)


def _prefixes(folder: pathlib.Path) -> list[str]:
    """The checkpoints of a folder, the newest first, whether TensorFlow's list has them or not."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    steps = [int(found[1]) for name in names if (found := _INDEX_NAME.fullmatch(name))]
    return [str(folder / f"{CHECKPOINT_PREFIX}-{step}") for step in sorted(steps, reverse=True)]


def _restore_newest(checkpoint: tf.train.Checkpoint, folder: pathlib.Path) -> bool:
    """Restores the newest checkpoint of a folder that can be read; False where it has none."""
    prefixes = _prefixes(folder)
    for path in prefixes:
        try:
            check_index(path)
            status = checkpoint.restore(literal_prefix(path))
            status.assert_existing_objects_matched()
        except Exception as error:  # A damaged file fails in many ways: IndexError is one.
            logging.error("checkpoint %s cannot be read (%s); trying the one before", path, error)
            continue
        status.expect_partial()
        return True
    if prefixes:
        raise InputError(
            f"none of the checkpoints in {folder} can be read: remove the folder to start anew"
        )
    return False


class BestModel:
    """Keeps the weights with the best score in `best/`, with `score.json` beside them.

    Args:
        model_dir: the folder that has `best/`.
        model: the model without the training step.
        metric: the metric that decides.
        is_better: whether the first of two values of it is better than the second.
        writes: false for all but one of several workers.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        model: tf.Module,
        *,
        metric: str,
        is_better: Callable[[float, float], bool],
        writes: bool = True,
    ):
        self._writes = writes
        self._folder = pathlib.Path(model_dir) / BEST_NAME
        self._checkpoint = tf.train.Checkpoint(model=model)
        self._metric, self._is_better = metric, is_better

    def score(self) -> dict[str, Any] | None:
        """What `score.json` says: metric, value, step, metrics; None before the first one.

        Raises:
            InputError: it says something else.
        """
        path = self._folder / SCORE_NAME
        return _read_score(path) if path.exists() else None

    def update(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Stores the weights if `metrics` are the best so far.

        Raises:
            InputError: `metrics` lacks the deciding metric.
        """
        if self._metric not in metrics:
            raise InputError(
                f"evaluation.best_metric is {self._metric!r}; the task has {sorted(metrics)}"
            )
        if not self._writes:
            return False
        value, best = metrics[self._metric], self.score()
        # An earlier start of the run may have chosen by another metric.
        before = None if best is None else best["metrics"].get(self._metric)
        if before is not None and not self._is_better(value, before):
            return False
        with atomic_folder(self._folder, overwrite=True) as folder:
            self._checkpoint.write(str(folder / CHECKPOINT_PREFIX))
            score = {"metric": self._metric, "value": value, "step": step, "metrics": dict(metrics)}
            (folder / SCORE_NAME).write_text(dumps(score, indent=2) + "\n", "utf-8")
        return True

    def restore(self) -> None:
        """Puts the stored weights into the model."""
        prefix = self._folder / CHECKPOINT_PREFIX
        check_index(prefix)
        status = self._checkpoint.read(literal_prefix(prefix))
        status.assert_existing_objects_matched()


def _read_score(path: pathlib.Path) -> dict[str, Any]:
    score = read_json(path, nan=True)  # Earlier versions wrote metrics so.
    step, metrics = score.get("step"), score.get("metrics")
    good = (
        isinstance(score.get("metric"), str)
        and isinstance(step, int)
        and not isinstance(step, bool)
        and isinstance(metrics, dict)
        and all(v is None or isinstance(v, int | float) for v in metrics.values())
    )
    if not good:
        raise InputError(
            f"{path} is {shown(score)}: it must have metric, value, step and metrics; remove the "
            "folder, and the next evaluation writes it again"
        )
    assert isinstance(metrics, dict)
    return {**score, "metrics": {k: math.nan if v is None else v for k, v in metrics.items()}}
