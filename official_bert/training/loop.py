"""`model.fit` from the step where the run stands to its end, and what happens between the steps."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
import tf_keras
from absl import logging

from official_bert.training.checkpointing import BestModel, Checkpoints
from official_bert.training.run_log import RunLog
from official_bert.training.step import TrainingModel


class Interrupted(Exception):  # noqa: N818 (a request, not an error)
    """The run was asked to stop (SIGTERM or SIGINT) and has saved where it is.

    Attributes:
        signal_number: which signal it was.
    """

    def __init__(self, signal_number: int):
        super().__init__(signal.Signals(signal_number).name)
        self.signal_number = signal_number


class NonFiniteLossError(Exception):
    """A loss or gradient was not finite. The step changed nothing, nothing was saved since.

    Attributes:
        step: the first such step, counted from 0.
        logs: what the steps around it reported: losses, gradient norms.
    """

    def __init__(self, step: int, logs: list[dict[str, float]]):
        super().__init__(f"step {step}: the loss or the gradient is not finite")
        self.step = step
        self.logs = logs


class TrainingLoop(tf_keras.callbacks.Callback):
    """Reports, evaluates, saves and stops between the steps of `fit`.

    Args:
        training_model: compiled.
        checkpoints: where the run is saved.
        log: where it is reported.
        evaluate: gives the metrics of the evaluation split; None for no evaluation.
        best: keeps the best weights; needs `evaluate`.
        log_every_steps: between two reports.
        evaluate_every_steps: between two evaluations, perhaps not a whole number; 0: only at the
            end.
        patience: training ends after so many evaluations that were not better; 0: never.
        skip_nonfinite: go on after a step that was not finite (it changes nothing) instead of
            stopping.
    """

    # Logs stay on the device until a report needs them.
    _supports_tf_logs = True

    def __init__(
        self,
        training_model: TrainingModel,
        checkpoints: Checkpoints,
        log: RunLog,
        *,
        evaluate: Callable[[], dict[str, float]] | None,
        best: BestModel,
        log_every_steps: int,
        evaluate_every_steps: float,
        patience: int,
        skip_nonfinite: bool,
    ):
        super().__init__()
        self._training_model = training_model
        self._checkpoints = checkpoints
        self._log = log
        self._evaluate = evaluate
        self._best = best
        self._log_every_steps = log_every_steps
        self._evaluate_every_steps = evaluate_every_steps
        self._patience = patience
        self._skip_nonfinite = skip_nonfinite
        self._window: list[dict[str, Any]] = []
        self._signal: int | None = None
        self._start = self._done = 0
        self._evaluated_step = -1

    def run(self, dataset: tf.data.Dataset, *, start_step: int, stop_step: int) -> None:
        """Trains up to `stop_step` and saves; may be called again, to go on with other data.

        Args:
            dataset: endless batches, beginning with that of `start_step`.
            start_step: steps that are done.
            stop_step: steps that shall be done in the end.

        Raises:
            Interrupted: SIGTERM or SIGINT came; the run is saved.
            NonFiniteLossError: see there; the run stands at its last checkpoint.
        """
        self._start = self._done = start_step
        if start_step < stop_step and not self._patience_is_over():
            with self._signals_noted():
                self._training_model.fit(
                    dataset,
                    steps_per_epoch=stop_step - start_step,
                    epochs=1,
                    callbacks=[self],
                    verbose=0,
                )
            self._save(self._checkpoints.save)
        if self._signal is not None and self._done < stop_step:
            raise Interrupted(self._signal)
        if self._evaluate is not None and self._evaluated_step < self._done:
            self._run_evaluation()
        self._log.picture()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        before, self._done = self._done, self._start + batch + 1
        self._window.append(dict(logs or {}))
        if _passed(before, self._done, self._log_every_steps):
            self._report()
        if self._evaluate is not None and _passed(before, self._done, self._evaluate_every_steps):
            self._run_evaluation()
            if self._patience_is_over():
                logging.info("step %d: no better for %d evaluations", self._done, self._patience)
                self.model.stop_training = True
        self._save(self._checkpoints.save_if_due)
        if self._signal is not None:
            self.model.stop_training = True

    def _patience_is_over(self) -> bool:
        best = self._best.score() if self._patience else None
        if best is None:
            return False
        return round((self._done - best["step"]) / self._evaluate_every_steps) >= self._patience

    def _report(self) -> None:
        self._check_finite()
        logs = self._window_values()
        means = {name: sum(values[name] for values in logs) / len(logs) for name in logs[0]}
        optimizer = self._training_model.optimizer
        means["learning_rate"] = float(tf.convert_to_tensor(optimizer.learning_rate))
        self._log.training(self._done, means)
        self._window = []

    def _window_values(self) -> list[dict[str, float]]:
        return [{name: float(value) for name, value in logs.items()} for logs in self._window]

    def _check_finite(self) -> None:
        if self._skip_nonfinite or not self._training_model.nonfinite_steps.numpy():
            return
        raise NonFiniteLossError(
            int(self._training_model.first_nonfinite_step.numpy()), self._window_values()
        )

    def _save(self, save: Callable[[int], None]) -> None:
        self._check_finite()
        save(self._done)

    def _run_evaluation(self) -> None:
        assert self._evaluate is not None
        metrics = self._evaluate()
        self._log.evaluation(self._done, metrics)
        self._evaluated_step = self._done
        if self._best.update(self._done, metrics):
            logging.info("step %d: best so far", self._done)

    @contextlib.contextmanager
    def _signals_noted(self) -> Iterator[None]:
        """SIGTERM and the first SIGINT let the step end; a second SIGINT stops at once."""

        def note(number: int, frame: Any) -> None:
            logging.info("%s: stopping after this step", signal.Signals(number).name)
            self._signal = number
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _passed(before: int, after: int, every: float) -> bool:
    """Whether a multiple of `every` lies in (before, after]; never for 0."""
    return bool(every) and after // every > before // every
