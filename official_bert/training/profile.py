"""A profile of chosen steps, for TensorBoard's profiler."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf
import tf_keras
from absl import logging


class StepProfile(tf_keras.callbacks.Callback):
    """Profiles some steps of `fit`.

    Args:
        log_dir: TensorBoard's folder.
        first: the first step, counted from 1 as in the reports.
        last: the last one.
    """

    def __init__(self, log_dir: str | os.PathLike[str], first: int, last: int):
        super().__init__()
        self._supports_tf_logs = True
        self._log_dir, self._first, self._last = os.fspath(log_dir), first, last
        self._start = 0
        self._is_running = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._start = int(self.model.global_step.numpy())

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        step = self._start + batch + 1
        if not self._is_running and self._first <= step <= self._last:
            tf.profiler.experimental.start(self._log_dir)
            self._is_running = True

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self._start + batch + 1 >= self._last:
            self._end()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._end()

    def _end(self) -> None:
        if self._is_running:
            tf.profiler.experimental.stop()
            self._is_running = False
            logging.info("the profile of steps is in %s", self._log_dir)
