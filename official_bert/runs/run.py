"""A run from its config to its model folder: what `official_bert.train` and `evaluate` do."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow as tf
import tf_keras
from absl import logging

from official_bert.atomic import folder_lock
from official_bert.checkpoints.load import load_pretrained
from official_bert.errors import InputError
from official_bert.evaluation import metric_direction
from official_bert.experiment import ExperimentConfig
from official_bert.model_folder import CHECKPOINTS_NAME, WATCHED_METRICS_NAME, ModelFolder
from official_bert.runs.input_pipeline import InputPipeline
from official_bert.runs.phases import Phase, learning_rate_schedule
from official_bert.runs.prepared_data import PreparedData
from official_bert.runs.run_folder import RunFolder
from official_bert.runs.start import load_start, resolve
from official_bert.tasks.examples import examples_of
from official_bert.training import loop
from official_bert.training.checkpointing import BestModel, Checkpoints, restore_weights
from official_bert.training.evaluator import Evaluator
from official_bert.training.layer_rates import freeze_layers, layer_rate_shares
from official_bert.training.optimization import make_optimizer
from official_bert.training.run_log import RunLog
from official_bert.training.step import TrainingModel
from official_bert.training.strategy import (
    choose_devices,
    is_chief,
    make_strategy,
    set_runtime,
    visible_devices,
)


class Run:
    """One training or evaluation: the config, the data and the model that belong together.

    Args:
        experiment: see `load_experiment`; it is not changed.
        model_dir: the model folder; made if it is not there.
        tpu: address of the TPU to train on.
        trained: the experiment is that of a model folder whose own weights are used: the checkpoint
            that it started from is not read, and may be gone.

    Raises:
        InputError: config, prepared data and model folder do not go together.
    """

    def __init__(
        self,
        experiment: ExperimentConfig,
        model_dir: str | os.PathLike[str],
        *,
        tpu: str | None = None,
        trained: bool = False,
    ):
        if not experiment.data.path:
            raise InputError("data.path is not set: name a folder of prepared data")
        self._folder = RunFolder(model_dir)
        self._data = PreparedData(experiment.data.path, experiment)
        self._task = self._data.task
        self._metric = experiment.evaluation.best_metric or self._task.best_metric
        self._check_metric()
        runtime = experiment.runtime
        set_runtime(
            seed=experiment.train.seed,
            precision=runtime.precision,
            deterministic=runtime.deterministic,
        )
        devices = choose_devices(runtime.strategy, runtime.num_gpus, visible_devices(), tpu=tpu)
        self._strategy = make_strategy(devices, tpu=tpu)
        self._writes = is_chief(self._strategy)
        self._pretrained = None if trained else load_start(experiment, self._data, self._strategy)
        self._experiment, self._encoder_config = resolve(
            experiment,
            self._pretrained,
            vocab_size=self._data.manifest.vocab_size,
            strategy=devices.strategy,
        )
        self._task.check_encoder(self._encoder_config)
        self._pipeline = InputPipeline(
            self._data,
            self._encoder_config,
            self._experiment,
            batch_size=experiment.train.batch_size,
        )

    @classmethod
    def of_trained(
        cls,
        model_dir: str | os.PathLike[str],
        *,
        data_path: str | None = None,
        eval_split: str | None = None,
    ) -> Run:
        """The run of a model folder, to evaluate or to predict with.

        Args:
            model_dir: the folder.
            data_path: prepared data; None: what the model was trained on.
            eval_split: the split to evaluate on; None: the run's.

        Raises:
            InputError: it is no model folder, or the data does not go with it.
        """
        experiment = RunFolder(model_dir).experiment()
        # The devices of this machine, whatever the training ran on.
        experiment.runtime.strategy, experiment.runtime.num_gpus = "auto", None
        if data_path is not None:
            experiment.data.path = data_path
        if eval_split is not None:
            experiment.data.eval_split = eval_split
        return cls(experiment, model_dir, trained=True)

    def train(self, *, evaluate: bool, skip_nonfinite: bool) -> dict[str, float]:
        """Trains to the end, from where the model folder stands.

        Args:
            evaluate: on the evaluation split, during and after training, if the data has it.
            skip_nonfinite: go on after steps whose loss is not finite.

        Returns:
            The metrics in `eval_results.json`; {} without evaluation.

        Raises:
            InputError: also for a record that cannot be used.
            loop.Interrupted: asked to stop; the same command goes on.
        """
        _check_name(self._folder.path)
        # Of several workers one alone writes.
        lock = folder_lock(self._folder.path, "training") if self._writes else nullcontext()
        with lock:
            return self._train(evaluate=evaluate, skip_nonfinite=skip_nonfinite)

    def _train(self, *, evaluate: bool, skip_nonfinite: bool) -> dict[str, float]:
        config = self._experiment.train
        total_steps = self._total_steps()
        phases = self._phases(total_steps)
        if self._writes:
            self._folder.prepare(
                self._experiment, self._encoder_config, self._data.manifest, self._data.folder
            )
        finished = self._folder.results()
        if finished is not None and finished["total_steps"] == total_steps:
            logging.info("%s is finished: %d steps", self._folder.path, total_steps)
            return finished
        with self._strategy.scope():
            training_model = self._make_training_model(phases)
        checkpoints = Checkpoints(
            self._folder.path,
            training_model,
            keep=config.keep_checkpoints,
            every_steps=config.checkpoint_every_steps,
            every_seconds=config.checkpoint_every_seconds,
            writes=self._writes,
        )
        start_step = checkpoints.restore()
        if start_step:
            logging.info("going on from step %d of %s", start_step, self._folder.path)
        best = self._best(training_model.model)
        eval_split, splits = self._experiment.data.eval_split, self._data.manifest.splits
        evaluated = evaluate and eval_split in splits
        if evaluate and not evaluated:
            logging.warning(
                "no evaluation: %s has no split %r, only %s (data.eval_split chooses one)",
                self._data.folder,
                eval_split,
                ", ".join(splits),
            )
        training = loop.TrainingLoop(
            training_model,
            checkpoints,
            RunLog(
                self._folder.path,
                start_step=start_step,
                total_steps=total_steps,
                writes=self._writes,
            ),
            evaluate=self._make_evaluation(training_model.model) if evaluated else None,
            best=best,
            log_every_steps=config.log_every_steps,
            evaluate_every_steps=self._steps_between_evaluations(),
            patience=self._experiment.evaluation.patience if evaluated else 0,
            skip_nonfinite=skip_nonfinite,
        )
        for phase in phases:
            if start_step < phase.stop or phase is phases[-1]:
                self._train_phase(training, phase, max(start_step, phase.start))
        score = best.score() if evaluated and self._writes else None
        if score is None:
            return {}
        return self._write_results(score["step"], score["metrics"], total_steps)

    def watch(self, *, timeout: float) -> dict[str, float]:
        """Evaluates each checkpoint that a training, in another process, writes into the folder.

        Keeps `best/` and the results as `train` does, and ends with the checkpoint of the last
        step; a checkpoint that is replaced while another is evaluated is passed over.

        Args:
            timeout: end, too, when nothing new came for so many seconds.

        Returns:
            The metrics in `eval_results.json`.

        Raises:
            InputError: no checkpoint came, or a record cannot be used.
        """
        total_steps = self._total_steps()
        model = self._make_model()
        evaluation = self._make_evaluation(model)
        best = self._best(model)
        folder = self._folder.path / CHECKPOINTS_NAME
        logging.info("waiting for checkpoints in %s", folder)
        results: dict[str, float] = {}
        for _ in tf.train.checkpoints_iterator(str(folder), timeout=timeout):
            step = self._restore_weights(model)
            log = RunLog(
                self._folder.path,
                start_step=step - 1,
                total_steps=total_steps,
                metrics_name=WATCHED_METRICS_NAME,
            )
            metrics = evaluation()
            log.evaluation(step, metrics)
            best.update(step, metrics)
            score = best.score()
            assert score is not None
            results = self._write_results(score["step"], score["metrics"], step)
            if step >= total_steps:
                break
        if not results:
            raise InputError(f"no checkpoint came into {folder} within {timeout:g} s")
        return results

    def evaluate(self) -> dict[str, float]:
        """Evaluates the best model of the folder, or its newest checkpoint; writes the results.

        Raises:
            InputError: the folder has no model, or a record cannot be used.
        """
        model, step = self._restored()
        self._use_results(self._folder)
        metrics = self._make_evaluation(model)()
        return self._write_results(step, metrics, step)

    def predict(
        self, split: str, output_dir: str | os.PathLike[str], *, others: Sequence[str] = ()
    ) -> list[pathlib.Path]:
        """Writes the task's prediction files for a split of the prepared data, labelled or not.

        Args:
            split: the split.
            output_dir: a folder; made if it is not there.
            others: further model folders, which answer together with this one.

        Returns:
            the files.

        Raises:
            InputError: the folder has no model, the task writes no predictions, or a record cannot
                be used.
        """
        if not self._task.prediction_files:
            raise InputError(f"the task {self._experiment.task} writes no prediction files")
        if others and not self._task.can_ensemble:
            raise InputError(
                f"the task {self._experiment.task} has no ensembles: give one --model_dir"
            )
        model, _ = self._restored()
        if others:
            model = self._ensemble(model, others)
        self._use_results(self._folder, *map(ModelFolder, others))
        with self._pipeline.bad_records_named(split):
            _, collected = self._evaluator(model, split, with_losses=False)()
        folder = pathlib.Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return self._task.write_predictions(
            collected, examples_of(self._data.folder, split), folder
        )

    def _check_metric(self) -> None:
        known = self._task.metrics
        if known and self._metric not in known:
            raise InputError(
                f"evaluation.best_metric is {self._metric!r}: this task has {', '.join(known)}"
            )

    # ---- training ---------------------------------------------------------------------------

    def _train_phase(self, training: loop.TrainingLoop, phase: Phase, start_step: int) -> None:
        with phase.pipeline.bad_records_named(self._experiment.data.train_split):
            try:
                training.run(
                    phase.pipeline.training_dataset(start_step - phase.start),
                    start_step=start_step,
                    stop_step=phase.stop,
                )
            except loop.NonFiniteLossError as error:
                self._report_nonfinite(error, phase)

    def _phases(self, total_steps: int) -> list[Phase]:
        second = self._experiment.second_phase
        if not second.path:
            return [Phase(self._pipeline, 0, total_steps)]
        data = PreparedData(second.path, self._experiment)
        for name in ("vocab_sha256", "labels"):
            if getattr(data.manifest, name) != getattr(self._data.manifest, name):
                raise InputError(
                    f"{second.path} has another {name} than {self._data.folder}: both phases "
                    "train one model"
                )
        pipeline = InputPipeline(
            data,
            self._encoder_config,
            self._experiment,
            batch_size=second.batch_size or self._experiment.train.batch_size,
        )
        switch = round(total_steps * second.start)
        return [Phase(self._pipeline, 0, switch), Phase(pipeline, switch, total_steps)]

    def _make_training_model(self, phases: Sequence[Phase]) -> TrainingModel:
        experiment = self._experiment
        model = self._make_model()
        training_model = TrainingModel(
            model,
            self._task,
            seed=experiment.train.seed,
            accumulate_steps=experiment.train.accumulate_steps,
            max_grad_norm=experiment.optimizer.max_grad_norm,
        )
        config = experiment.optimizer
        optimizer = make_optimizer(
            config.kind,
            learning_rate=learning_rate_schedule(experiment, phases),
            weight_decay=config.weight_decay,
            beta_1=config.beta_1,
            beta_2=config.beta_2,
            epsilon=config.epsilon,
            bias_correction=config.bias_correction,
        )
        if config.layer_decay < 1.0:
            # Before `compile`, which wraps the optimizer where losses are scaled.
            optimizer.set_rate_shares(layer_rate_shares(model.encoder, config.layer_decay))
        training_model.compile(
            optimizer=optimizer,
            steps_per_execution=experiment.train.steps_per_execution,
            jit_compile=experiment.runtime.jit_compile,
        )
        training_model.optimizer.build(training_model.trainable_variables)
        return training_model

    def _total_steps(self) -> int:
        config = self._experiment.train
        if config.steps is not None:
            return config.steps
        return max(1, round(self._num_records() * config.epochs / config.batch_size))

    def _steps_between_evaluations(self) -> float:
        config = self._experiment.evaluation
        if config.every_steps or not config.every_epochs:
            return config.every_steps
        records = self._num_records() * config.every_epochs
        return max(1.0, records / self._experiment.train.batch_size)

    def _num_records(self) -> int:
        return self._data.num_records(self._experiment.data.train_split)

    def _report_nonfinite(self, error: loop.NonFiniteLossError, phase: Phase) -> None:
        """Writes nonfinite.json and raises an InputError that names it."""
        records = [
            {"file": os.path.basename(file), "record": number}
            for file, number in phase.pipeline.record_locations(error.step - phase.start)
        ]
        path = self._folder.write_nonfinite(
            {"step": error.step, "logs": error.logs, "records": records}
        )
        raise InputError(
            f"{error}; the last checkpoint is good; {path} has the records and gradient norms "
            "(a lower learning rate helps, or --on_nonfinite=skip to leave such batches out)"
        ) from error

    # ---- models -----------------------------------------------------------------------------

    def _make_model(self) -> tf_keras.Model:
        with self._strategy.scope():
            model = self._task.make_model(self._encoder_config, self._pretrained)
        if self._experiment.model.frozen_layers is not None:
            freeze_layers(model.encoder, self._experiment.model.frozen_layers)
        return model

    def _best(self, model: tf_keras.Model) -> BestModel:
        return BestModel(
            self._folder.path,
            model,
            metric=self._metric,
            is_better=functools.partial(metric_direction.is_better, self._metric),
            writes=self._writes,
        )

    def _restored(self) -> tuple[tf_keras.Model, int]:
        """The best model of the folder, or its newest one, and its step."""
        model = self._make_model()
        best = self._best(model)
        score = best.score()
        if score is not None:
            best.restore()
            return model, score["step"]
        step = self._restore_weights(model)
        if not step:
            raise InputError(f"{self._folder.path} has no trained model: train it first")
        return model, step

    def _restore_weights(self, model: tf_keras.Model) -> int:
        with self._strategy.scope():
            return restore_weights(self._folder.path, model)

    def _ensemble(self, model: tf_keras.Model, others: Sequence[str]) -> tf_keras.Model:
        """`model` and those of other folders, of the same vocabulary, as one."""
        with self._strategy.scope():
            bundles = [load_pretrained(path) for path in others]
        for path, bundle in zip(others, bundles, strict=True):
            if not bundle.vocab or bundle.vocab.sha256 != self._data.manifest.vocab_sha256:
                raise InputError(
                    f"{path} has another vocabulary than {self._data.folder}: the models of an "
                    "ensemble must read the same records"
                )
        return self._task.ensemble([model, *(bundle.model for bundle in bundles)])

    def _use_results(self, *folders: ModelFolder) -> None:
        """Tells the task what earlier evaluations of these folders found."""
        self._task.use_results([folder.results() or {} for folder in folders])

    # ---- evaluation -------------------------------------------------------------------------

    def _evaluator(self, model: tf_keras.Model, split: str, *, with_losses: bool) -> Evaluator:
        dataset = self._pipeline.evaluation_dataset(split)
        return Evaluator(model, self._task, dataset, self._strategy, with_losses=with_losses)

    def _make_evaluation(self, model: tf_keras.Model) -> Callable[[], dict[str, float]]:
        split = self._experiment.data.eval_split
        evaluator = self._evaluator(model, split, with_losses=True)
        examples = examples_of(self._data.folder, split)

        def evaluate() -> dict[str, float]:
            with self._pipeline.bad_records_named(split):
                values, collected = evaluator()
            return self._task.results(values, collected, examples)

        return evaluate

    def _write_results(
        self, step: int, metrics: dict[str, float], total_steps: int
    ) -> dict[str, float]:
        config = self._experiment.data
        baselines = self._task.baselines(
            self._data.paths(config.train_split),
            self._data.paths(config.eval_split),
            self._encoder_config,
        )
        results: dict[str, Any] = {
            **metrics,
            **baselines,
            "best_metric": self._metric,
            "step": step,
            "total_steps": total_steps,
        }
        self._folder.write_results(results)
        return results


def _check_name(model_dir: pathlib.Path) -> None:
    """TensorFlow removes old checkpoints by pattern: in m[1] it would remove those of m1."""
    absolute = str(model_dir.absolute())
    if any(letter in absolute for letter in "*?[]\\"):
        raise InputError(
            f"--model_dir={model_dir}: TensorFlow takes *, ?, [, ] and \\ in the path of a "
            f"checkpoint for patterns, here in {absolute}: choose a path without them"
        )
