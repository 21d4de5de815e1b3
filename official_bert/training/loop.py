"""`model.fit` from the step where the run stands to its end, and what happens between the steps."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
import tf_keras
from absl import logging

from official_bert.errors import InputError
from official_bert.training.checkpointing import BestModel, Checkpoints
from official_bert.training.evaluator import EvaluationStopped
from official_bert.training.recoveries import Recoveries, Recovery
from official_bert.training.run_log import RunLog
from official_bert.training.step import TrainingModel
from official_bert.training.stop_signal import StopSignal
from official_bert.training.workers import Workers

# Steps whose losses and norms a report of a step that was not finite has.
_RECENT_STEPS = 100


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
        workers: those who train together; the chief decides when the evaluations got no better.
        evaluate: gives the metrics of the evaluation split; it is called with a function that
            says after each batch whether to stop, and raises `EvaluationStopped` then. None for no
            evaluation.
        best: keeps the best weights; needs `evaluate`.
        log_every_steps: between two reports.
        evaluate_every_steps: between two evaluations, perhaps not a whole number; 0: only at the
            end.
        patience: training ends after so many evaluations that were not better; 0: never.
        skip_nonfinite: go on after a step that was not finite (it changes nothing) instead of
            stopping.
        recoveries: says whether the loss has risen so far that the run goes back.
        callbacks: further ones for `fit`.
    """

    def __init__(
        self,
        training_model: TrainingModel,
        checkpoints: Checkpoints,
        log: RunLog,
        *,
        workers: Workers,
        evaluate: Callable[[Callable[[], bool]], dict[str, float]] | None,
        best: BestModel,
        log_every_steps: int,
        evaluate_every_steps: float,
        patience: int,
        skip_nonfinite: bool,
        recoveries: Recoveries,
        callbacks: Sequence[tf_keras.callbacks.Callback] = (),
    ):
        super().__init__()
        # Logs stay on the device until a report needs them. Keras' own `__init__` says False.
        self._supports_tf_logs = True
        training_model.keep_step_count_on_host()
        self._training_model = training_model
        self._checkpoints = checkpoints
        self._log = log
        self._workers = workers
        self._stop = StopSignal(workers)
        self._evaluate = evaluate
        self._best = best
        self._log_every_steps = log_every_steps
        self._evaluate_every_steps = evaluate_every_steps
        self._patience = patience
        self._skip_nonfinite = skip_nonfinite
        self._recoveries = recoveries
        self._callbacks = callbacks
        self._reported_step, self._spike_start = 0, -1
        self._recent: collections.deque[dict[str, Any]] = collections.deque(maxlen=_RECENT_STEPS)
        self._start = self._done = 0
        # Earlier starts of the run may have left steps out.
        self._nonfinite_before = int(training_model.nonfinite_steps.numpy())
        self._evaluated_step = int(workers.from_chief([log.evaluated_step])[0])

    def run(
        self, dataset_from: Callable[[int], tf.data.Dataset], *, start_step: int, stop_step: int
    ) -> None:
        """Trains up to `stop_step` and saves; may be called again, to go on with other data.

        Args:
            dataset_from: endless batches, beginning with that of a step.
            start_step: steps that are done.
            stop_step: steps that shall be done in the end.

        Raises:
            Interrupted: SIGTERM or SIGINT came, to this worker or another one; the run is saved.
            NonFiniteLossError: see there; the run stands at its last checkpoint.
        """
        with self._stop.noted():
            self._run(dataset_from, start_step, stop_step)

    def _run(
        self, dataset_from: Callable[[int], tf.data.Dataset], start_step: int, stop_step: int
    ) -> None:
        self._done = self._reported_step = start_step
        if start_step < stop_step and self._evaluation_was_stopped():
            self._run_evaluation()
        if start_step < stop_step and not self._patience_is_over() and not self._stop.is_set():
            self._fit(dataset_from, stop_step)
            self._save()
            self._checkpoints.wait()
            self._workers.wait()
        if self._stop.is_set() and self._done < stop_step:
            raise self._stop.interrupted()
        if self._evaluate is not None and self._evaluated_step < self._done:
            self._run_evaluation()
            if self._evaluated_step < self._done:
                raise self._stop.interrupted()
        self._log.picture()

    def _fit(self, dataset_from: Callable[[int], tf.data.Dataset], stop_step: int) -> None:
        """`fit`, once for each stretch of batches that follow on each other."""
        while self._done < stop_step:
            self._start = self._done
            target = self._recoveries.next_step(self._done, stop_step)
            callbacks = tf_keras.callbacks.CallbackList(
                [self, *self._callbacks],
                add_history=True,
                model=self._training_model,
                epochs=1,
                steps=target - self._start,
                verbose=0,
            )
            # Keras would warn that a report takes longer than a step: it waits for all before it.
            callbacks._check_timing = False
            self._training_model.fit(
                dataset_from(self._start),
                steps_per_epoch=target - self._start,
                epochs=1,
                callbacks=callbacks,
                verbose=0,
            )
            if self._spike_start >= 0:
                self._go_back()
            elif self._training_model.stop_training:
                break

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        before, self._done = self._done, self._start + batch + 1
        self._recent.append(dict(logs or {}))
        if _passed(before, self._done, self._log_every_steps):
            self._report()
            if self._spike_start >= 0:
                self.model.stop_training = True
                return
        if self._evaluate is not None and _passed(before, self._done, self._evaluate_every_steps):
            self._run_evaluation()
            if self._patience_is_over():
                logging.info("step %d: no better for %d evaluations", self._done, self._patience)
                self.model.stop_training = True
        if self._checkpoints.is_due(self._done):
            self._save()
        if self._stop.is_set():
            self.model.stop_training = True

    def _patience_is_over(self) -> bool:
        if not self._patience:
            return False
        best = self._best.score() if self._workers.is_chief else None
        # The others may not have the file yet.
        step = int(self._workers.from_chief([-1 if best is None else best["step"]])[0])
        if step < 0:
            return False
        return round((self._done - step) / self._evaluate_every_steps) >= self._patience

    def _report(self) -> None:
        model = self._training_model
        means, (rate, nonfinite) = model.means.take(
            [model.optimizer.learning_rate, model.nonfinite_steps]
        )
        self._check_finite(int(nonfinite))
        self._log.training(
            self._done, {**means, "learning_rate": rate}, skipped_steps=int(nonfinite)
        )
        if self._recoveries.enabled and "loss" in means:
            self._look_for_spike(means["loss"])
        self._reported_step = self._done

    def _look_for_spike(self, loss: float) -> None:
        risen = self._recoveries.has_risen(loss) and not self._recoveries.used_up
        if risen and self._checkpoints.newest_until(self._reported_step) is None:
            logging.warning("the loss has risen to %.4f, and there is no checkpoint before", loss)
            risen = False
        # The chief decides: the others do not know the reports before their start.
        if self._workers.from_chief([float(risen)])[0]:
            self._spike_start = self._reported_step

    def _go_back(self) -> None:
        """To the newest checkpoint before the spike's report; the batches since are left out.

        The checkpoints behind it go first: until the recovery is noted, a kill leads to the same
        spike and back here.
        """
        found = self._checkpoints.newest_until(self._spike_start)
        step = int(self._workers.from_chief([-1 if found is None else found])[0])
        self._workers.wait()
        self._checkpoints.forget_after(step)
        self._recoveries.add(Recovery(step, self._done - step), writes=self._workers.is_chief)
        self._workers.wait()
        logging.warning(
            "the loss has risen: back from step %d to step %d, without the batches between",
            self._done,
            step,
        )
        restored = self._checkpoints.restore()
        if self._workers.any(restored != step):
            raise InputError(
                f"the checkpoint of step {step} cannot be read by all workers: start them again"
            )
        self._log.go_back(step)
        self._recoveries.use_losses(self._log.losses)
        self._done = self._reported_step = step
        self._evaluated_step = min(self._evaluated_step, step)
        self._spike_start = -1
        _, (nonfinite,) = self._training_model.means.take([self._training_model.nonfinite_steps])
        self._nonfinite_before = int(nonfinite)

    def _check_finite(self, nonfinite: int) -> None:
        if self._skip_nonfinite or nonfinite == self._nonfinite_before:
            return
        recent = [{name: float(value) for name, value in logs.items()} for logs in self._recent]
        raise NonFiniteLossError(int(self._training_model.first_nonfinite_step.numpy()), recent)

    def _save(self) -> None:
        if not self._skip_nonfinite:
            self._check_finite(int(self._training_model.nonfinite_steps.numpy()))
        self._checkpoints.save(self._done)

    def _evaluation_was_stopped(self) -> bool:
        """Whether an evaluation was due since the last one that is reported."""
        return self._evaluate is not None and _passed(
            max(self._evaluated_step, 0), self._done, self._evaluate_every_steps
        )

    def _run_evaluation(self) -> None:
        assert self._evaluate is not None
        try:
            metrics = self._evaluate(self._stop.is_set)
        except EvaluationStopped:
            return
        if self._best.update(self._done, metrics):
            logging.info("step %d: best so far", self._done)
        # Last: where there is no such line, a run that goes on evaluates again.
        self._log.evaluation(self._done, metrics)
        self._evaluated_step = self._done


def _passed(before: int, after: int, every: float) -> bool:
    """Whether a multiple of `every` lies in (before, after]; never for 0."""
    return bool(every) and after // every > before // every
