"""What training, evaluation and prediction have in common: config, data, devices, model."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import tf_keras

from official_bert.errors import InputError
from official_bert.evaluation import metric_direction
from official_bert.experiment import ExperimentConfig
from official_bert.runs.input_pipeline import InputPipeline
from official_bert.runs.prepared_data import PreparedData
from official_bert.runs.run_folder import RunFolder
from official_bert.runs.start import load_start, resolve
from official_bert.tasks.examples import examples_of
from official_bert.training.checkpointing import BestModel, restore_weights
from official_bert.training.evaluator import Evaluator
from official_bert.training.layer_rates import freeze_layers
from official_bert.training.strategy import (
    choose_devices,
    make_strategy,
    set_runtime,
    visible_devices,
)
from official_bert.training.workers import Workers


class RunSetup:
    """The config, the data, the devices and the model folder that belong together.

    Args:
        experiment: see `load_experiment`; it is not changed.
        model_dir: the model folder; it need not be there yet.
        tpu: address of the TPU to train on.
        trained: the experiment is that of a model folder whose own weights are used: the checkpoint
            that it started from is not read, and may be gone.

    Attributes:
        experiment: the resolved config.
        encoder_config: the shape of the encoder.
        folder: the model folder.
        data: the prepared data.
        task: the config's.
        metric: the one that decides which model is the best.
        pipeline: from the data to batches.
        strategy: where the variables are.
        workers: those who train together, of whom the chief alone writes files.

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
        self.folder = RunFolder(model_dir)
        self.data = PreparedData(experiment.data.path, experiment)
        self.task = self.data.task
        self.metric = experiment.evaluation.best_metric or self.task.best_metric
        self._check_metric()
        runtime = experiment.runtime
        set_runtime(
            seed=experiment.train.seed,
            precision=runtime.precision,
            deterministic=runtime.deterministic,
        )
        devices = choose_devices(runtime.strategy, runtime.num_gpus, visible_devices(), tpu=tpu)
        self.strategy = make_strategy(devices, tpu=tpu)
        self.workers = Workers(self.strategy)
        self._pretrained = None if trained else load_start(experiment, self.data, self.strategy)
        self.experiment, self.encoder_config = resolve(
            experiment,
            self._pretrained,
            vocab_size=self.data.manifest.vocab_size,
            strategy=devices.strategy,
        )
        self.task.check_encoder(self.encoder_config)
        self.pipeline = InputPipeline(
            self.data,
            self.encoder_config,
            self.experiment,
            batch_size=experiment.train.batch_size,
            num_replicas=self.strategy.num_replicas_in_sync,
        )

    def make_model(self) -> tf_keras.Model:
        """The model of the task, with the weights that the run starts from."""
        with self.strategy.scope():
            model = self.task.make_model(self.encoder_config, self._pretrained)
        if self.experiment.model.frozen_layers is not None:
            freeze_layers(model.encoder, self.experiment.model.frozen_layers)
        return model

    def best_model(self, model: tf_keras.Model) -> BestModel:
        """What keeps the best weights of `model`."""
        return BestModel(
            self.folder.path,
            model,
            metric=self.metric,
            is_better=functools.partial(metric_direction.is_better, self.metric),
            writes=self.workers.is_chief,
        )

    def restore_weights(self, model: tf_keras.Model) -> int:
        """Puts the newest checkpoint into `model`; returns its step, 0 without one."""
        with self.strategy.scope():
            return restore_weights(self.folder.path, model)

    def evaluator(self, model: tf_keras.Model, split: str, *, with_losses: bool) -> Evaluator:
        """Runs `model` over a split."""
        dataset = self.pipeline.evaluation_dataset(split)
        return Evaluator(model, self.task, dataset, self.strategy, with_losses=with_losses)

    def make_evaluation(
        self, model: tf_keras.Model
    ) -> Callable[[Callable[[], bool]], dict[str, float]]:
        """Gives the metrics of the evaluation split each time that it is called.

        Its argument is asked before each batch whether to stop; see `EvaluationStopped`.
        """
        split = self.experiment.data.eval_split
        evaluator = self.evaluator(model, split, with_losses=True)
        examples = examples_of(self.data.folder, split)

        def evaluate(stop: Callable[[], bool]) -> dict[str, float]:
            with self.pipeline.bad_records_named(split), self.workers.losses_named():
                values, collected = evaluator(stop)
            return self.task.results(values, collected, examples)

        return evaluate

    def write_results(
        self, step: int, metrics: dict[str, float], total_steps: int
    ) -> dict[str, float]:
        """Writes `eval_results.json`: metrics of `step`, the task's baselines, what was chosen."""
        config = self.experiment.data
        baselines = self.task.baselines(
            self.data.paths(config.train_split),
            self.data.paths(config.eval_split),
            self.encoder_config,
        )
        results: dict[str, Any] = {
            **metrics,
            **baselines,
            "best_metric": self.metric,
            "step": step,
            "total_steps": total_steps,
        }
        self.folder.write_results(results)
        return results

    def total_steps(self) -> int:
        """Optimizer steps of the whole run."""
        config = self.experiment.train
        if config.steps is not None:
            return config.steps
        return max(1, round(self.num_records() * config.epochs / self.pipeline.records_per_batch))

    def num_records(self) -> int:
        """Records of the training split."""
        return self.data.num_records(self.experiment.data.train_split)

    def _check_metric(self) -> None:
        known = self.task.metrics
        if known and self.metric not in known:
            raise InputError(
                f"evaluation.best_metric is {self.metric!r}: this task has {', '.join(known)}"
            )
