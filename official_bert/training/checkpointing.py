"""Checkpoints of a run: the newest ones to go on from, and the best one to use."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import tensorflow as tf
import tf_keras
from absl import logging

from official_bert.atomic import atomic_folder, tidy
from official_bert.errors import InputError, shown
from official_bert.file_errors import explain
from official_bert.json_file import dumps, read_json
from official_bert.model_folder import BEST_NAME, CHECKPOINT_PREFIX, CHECKPOINTS_NAME, SCORE_NAME
from official_bert.path import remove, to_path
from official_bert.tensor_bundle import STATE_NAME, check_index, literal_prefix
from official_bert.training.step import TrainingModel

# Files of a checkpoint that is being written, and those of a whole one beside its index.
_PART_NAME = re.compile(
    rf"(?P<prefix>{CHECKPOINT_PREFIX}-[0-9]{{1,18}})(_temp|\.index\..*|(?P<data>\.data-.*))"
    rf"|{STATE_NAME}\.tmp[0-9a-f]{{32}}"
)
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
        in_background: write while training goes on, from a copy in the memory of the host.
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
        in_background: bool = False,
        writes: bool = True,
    ):
        self._writes = writes
        self._options = tf.train.CheckpointOptions(
            experimental_enable_async_checkpoint=in_background
        )
        self._training_model = training_model
        self._checkpoint = tf.train.Checkpoint(
            model=training_model.model,
            optimizer=training_model.optimizer,
            global_step=training_model.global_step,
            nonfinite_steps=training_model.nonfinite_steps,
        )
        # Made now, by all workers: making a variable is a collective operation.
        assert self._checkpoint.save_counter is not None
        self._folder = to_path(model_dir) / CHECKPOINTS_NAME
        self._keep = keep
        self._manager = self._make_manager()
        self._every_steps, self._every_seconds = every_steps, every_seconds
        self._saved_step, self._saved_time = -1, time.monotonic()

    @property
    def latest(self) -> str | None:
        """Path prefix of the newest checkpoint."""
        return next(iter(_prefixes(self._folder)), None)

    def _make_manager(self) -> tf.train.CheckpointManager | None:
        """None where another worker writes: its list of checkpoints may be under its hands."""
        if not self._writes:
            return None
        _mend(self._folder)
        return tf.train.CheckpointManager(
            self._checkpoint, str(self._folder), max_to_keep=self._keep
        )

    def newest_until(self, step: int) -> int | None:
        """The step of the newest checkpoint that is not behind `step`; None without one."""
        self.wait()
        return next((s for s in _steps(self._folder) if s <= step), None)

    def forget_after(self, step: int) -> None:
        """Removes the checkpoints behind `step`."""
        if not self._writes:
            return
        for later in _steps(self._folder):
            if later > step:
                # Without its index it is none; the rest goes with what kills leave.
                (self._folder / f"{CHECKPOINT_PREFIX}-{later}.index").unlink()
        self._manager = self._make_manager()

    def restore(self) -> int:
        """Restores the newest checkpoint that can be read; returns its step, 0 without one.

        Raises:
            InputError: there are checkpoints, but none can be read.
        """
        if _restore_newest(self._restore_from, self._folder):
            self._saved_step = int(self._training_model.global_step.numpy())
        return max(self._saved_step, 0)

    def _restore_from(self, prefix: str, names: Collection[str]) -> None:
        model = self._training_model
        status = self._checkpoint.restore(prefix)
        scales = isinstance(model.optimizer, tf_keras.mixed_precision.LossScaleOptimizer)
        if scales and not any("/loss_scale/" in name for name in names):
            logging.info(
                "the checkpoint is of another precision: the scale of the loss starts anew"
            )
            status.assert_nontrivial_match()
            status.expect_partial()
            # All but the optimizer must be there.
            status = tf.train.Checkpoint(model=model.model, global_step=model.global_step).read(
                prefix
            )
        status.assert_existing_objects_matched()
        status.expect_partial()

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
        if step == self._saved_step or self._manager is None:
            return
        with self._errors_named():
            self._manager.save(checkpoint_number=step, options=self._options)
        self._saved_step, self._saved_time = step, time.monotonic()

    def wait(self) -> None:
        """Returns when what is written in the background is on the disk.

        Raises:
            InputError: as `save`.
        """
        with self._errors_named():
            self._checkpoint.sync()
            if self._options.experimental_enable_async_checkpoint:
                # Else an error of the last write would be heard of at the next one.
                self._checkpoint._async_checkpointer()._check_async_thread_error()

    @contextlib.contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            raise InputError(
                f"cannot write a checkpoint to {self._folder}: "
                f"{explain(error) or error}; the last good one is {self.latest}"
            ) from error


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
    folder = to_path(model_dir) / CHECKPOINTS_NAME

    def restore(prefix: str, names: Collection[str]) -> None:
        status = checkpoint.restore(prefix)
        status.assert_existing_objects_matched()
        status.expect_partial()

    return int(step.numpy()) if _restore_newest(restore, folder) else 0


def _mend(folder: pathlib.Path) -> None:
    """Makes a folder of checkpoints what it was before a kill or an accident.

    What is half written goes. TensorFlow's list of checkpoints, where it is missing, empty or
    damaged, is written anew: by it old ones are removed, and other programs find the newest.
    """
    if not folder.is_dir():
        return
    whole = _prefixes(folder)
    for path in list(folder.iterdir()):
        found = _PART_NAME.fullmatch(path.name)
        if found and not (found["data"] and str(folder / found["prefix"]) in whole):
            remove(path)
    if whole and not _is_listed(folder, whole):
        oldest_first = whole[::-1]
        tf.__internal__.train.update_checkpoint_state(
            str(folder),
            whole[0],
            all_model_checkpoint_paths=oldest_first,
            save_relative_paths=True,
            # Their order is what counts; 0 would be passed over.
            all_model_checkpoint_timestamps=[1.0 + n for n in range(len(whole))],
        )
    elif not whole:
        (folder / STATE_NAME).unlink(missing_ok=True)


def _is_listed(folder: pathlib.Path, whole: list[str]) -> bool:
    try:
        state = tf.train.get_checkpoint_state(str(folder))
    except (ValueError, tf.errors.OpError):
        return False
    return state is not None and set(whole) <= set(state.all_model_checkpoint_paths)


def _steps(folder: pathlib.Path) -> list[int]:
    """Of the checkpoints of a folder, the newest first, be they in TensorFlow's list or not."""
    names = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    steps = [int(found[1]) for name in names if (found := _INDEX_NAME.fullmatch(name))]
    return sorted(steps, reverse=True)


def _prefixes(folder: pathlib.Path) -> list[str]:
    return [str(folder / f"{CHECKPOINT_PREFIX}-{step}") for step in _steps(folder)]


def _restore_newest(restore: Callable[[str, Collection[str]], None], folder: pathlib.Path) -> bool:
    """Restores the newest checkpoint of a folder that can be read; False where it has none.

    Args:
        restore: is given the prefix of a checkpoint and the names in it; raises where they do not
            fit.
        folder: of the checkpoints.
    """
    prefixes = _prefixes(folder)
    for path in prefixes:
        try:
            restore(literal_prefix(path), check_index(path).keys())
        except Exception as error:  # A damaged file fails in many ways: IndexError is one.
            logging.error("checkpoint %s cannot be read (%s); trying the one before", path, error)
            continue
        return True
    if prefixes:
        raise InputError(
            f"none of the checkpoints in {folder} can be read (the lines above say why): use the "
            "version of this package that wrote them, or remove the folder to start anew"
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
        self._folder = to_path(model_dir) / BEST_NAME
        self._checkpoint = tf.train.Checkpoint(model=model)
        self._metric, self._is_better = metric, is_better

    def score(self) -> dict[str, Any] | None:
        """What `score.json` says: metric, value, step, metrics; None before the first one.

        Raises:
            InputError: it says something else.
        """
        if self._writes:
            # A run that was killed while it replaced the folder may have left a hidden name.
            tidy(self._folder.parent)
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
        with atomic_folder(self._folder, overwrite=True, last=SCORE_NAME) as folder:
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
