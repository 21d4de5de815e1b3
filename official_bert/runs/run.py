"""A run from its config to its model folder: what `official_bert.train` and `evaluate` do."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence

import tensorflow as tf
from absl import logging

from official_bert.checkpoints.load import Pretrained, load_pretrained
from official_bert.checkpoints.official import checkpoint_of_step
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.model_folder import CHECKPOINTS_NAME, WATCHED_METRICS_NAME, ModelFolder
from official_bert.runs.input_pipeline import Feed
from official_bert.runs.phases import Phase, learning_rate_schedule
from official_bert.runs.prepared_data import PreparedData
from official_bert.runs.run_folder import RunFolder
from official_bert.tasks.examples import examples_of
from official_bert.training import loop
from official_bert.training.checkpointing import BestModel, Checkpoints
from official_bert.training.evaluator import Evaluator
from official_bert.training.layer_rates import freeze_layers, layer_rate_shares
from official_bert.training.optimization import make_optimizer
from official_bert.training.run_log import RunLog
from official_bert.training.step import TrainingModel
from official_bert.training.strategy import is_chief, make_strategy, set_runtime


class Run:
    """One training or evaluation: the config, the data and the model that belong together.

    Args:
        experiment: see `load_experiment`.
        model_dir: the model folder; made if it is not there.
        tpu: address of the TPU, for `runtime.strategy: tpu`.

    Raises:
        InputError: config, prepared data and model folder do not go together.
    """

    def __init__(self, experiment: ExperimentConfig, model_dir: str, *, tpu: str | None = None):
        self._experiment = experiment
        self._folder = RunFolder(model_dir)
        if not experiment.data.path:
            raise InputError("data.path is not set: name a folder of prepared data")
        self._data = PreparedData(experiment.data.path, experiment)
        self._task = self._data.task
        runtime = experiment.runtime
        set_runtime(
            seed=experiment.train.seed,
            precision=runtime.precision,
            deterministic=runtime.deterministic,
        )
        self._strategy = make_strategy(runtime.strategy, num_gpus=runtime.num_gpus, tpu=tpu)
        self._writes = is_chief(self._strategy)
        self._pretrained = self._load_pretrained()
        self._encoder_config = self._resolve_encoder_config()
        if hasattr(self._task, "check_encoder"):
            self._task.check_encoder(self._encoder_config)
        self._feed = Feed(
            self._data, self._encoder_config, experiment, batch_size=experiment.train.batch_size
        )

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
        checkpoints = self._checkpoints(training_model)
        start_step = checkpoints.restore()
        if start_step:
            logging.info("going on from step %d of %s", start_step, self._folder.path)
        best = self._best(training_model)
        evaluated = evaluate and self._experiment.data.eval_split in self._data.manifest.splits
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

    def _train_phase(self, training: loop.TrainingLoop, phase: Phase, start_step: int) -> None:
        with phase.feed.bad_records_named(self._experiment.data.train_split):
            try:
                training.run(
                    phase.feed.training_dataset(start_step - phase.start),
                    start_step=start_step,
                    stop_step=phase.stop,
                )
            except loop.NonFiniteLossError as error:
                self._report_nonfinite(error, phase)

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
        with self._strategy.scope():
            training_model = self._make_training_model([Phase(self._feed, 0, 1)])
        evaluation = self._make_evaluation(training_model.model)
        best = self._best(training_model)
        folder = self._folder.path / CHECKPOINTS_NAME
        logging.info("waiting for checkpoints in %s", folder)
        results: dict[str, float] = {}
        for _ in tf.train.checkpoints_iterator(str(folder), timeout=timeout):
            step = self._checkpoints(training_model).restore()
            log = RunLog(
                self._folder.path,
                start_step=step - 1,
                total_steps=total_steps,
                metrics_name=WATCHED_METRICS_NAME,
            )
            with self._feed.bad_records_named(self._experiment.data.eval_split):
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
        with self._feed.bad_records_named(self._experiment.data.eval_split):
            metrics = self._make_evaluation(model)()
        return self._write_results(step, metrics, step)

    def predict(
        self, split: str, output_dir: str, *, others: Sequence[str] = ()
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
        if not hasattr(self._task, "write_predictions"):
            raise InputError(f"the task {self._experiment.task} writes no prediction files")
        model, _ = self._restored()
        if others:
            model = self._ensemble(model, others)
        self._use_results(self._folder, *map(ModelFolder, others))
        with self._feed.bad_records_named(split):
            _, collected = self._evaluator(model, split, with_losses=False)()
        folder = pathlib.Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return self._task.write_predictions(
            collected, examples_of(self._data.folder, split), folder
        )

    def _ensemble(self, model: tf.Module, others: Sequence[str]) -> tf.Module:
        """`model` and those of other folders, of the same vocabulary, as one."""
        if not hasattr(self._task, "ensemble"):
            raise InputError(
                f"the task {self._experiment.task} has no ensembles: give one --model_dir"
            )
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
        """Tells the task what earlier evaluations of these folders found, if it wants to know."""
        if hasattr(self._task, "use_results"):
            self._task.use_results([folder.results() or {} for folder in folders])

    def _restored(self) -> tuple[tf.Module, int]:
        """The best model of the folder, or its newest one, and its step."""
        with self._strategy.scope():
            training_model = self._make_training_model([Phase(self._feed, 0, 1)])
        best = self._best(training_model)
        score = best.score()
        if score is not None:
            best.restore()
            step = score["step"]
        else:
            step = self._checkpoints(training_model).restore()
        if not step:
            raise InputError(f"{self._folder.path} has no trained model: train it first")
        return training_model.model, step

    def _load_pretrained(self) -> Pretrained | None:
        model = self._experiment.model
        if not model.pretrained:
            if model.add_bilstm or model.pretrained_step is not None:
                raise InputError(
                    "model.add_bilstm and model.pretrained_step say what to do with a checkpoint: "
                    "set model.pretrained too (model.encoder.bilstm is for random weights)"
                )
            return None
        path = checkpoint_of_step(model.pretrained, model.pretrained_step)
        with self._strategy.scope():
            pretrained = load_pretrained(path, new_heads=True, add_bilstm=model.add_bilstm)
        sha256 = pretrained.vocab.sha256 if pretrained.vocab else "(it has none)"
        if sha256 != self._data.manifest.vocab_sha256:
            raise InputError(
                f"the vocabulary of {path} has sha256 {sha256}, that of {self._data.folder} "
                f"{self._data.manifest.vocab_sha256}: prepare the data with the checkpoint's "
                "vocab.txt"
            )
        self._experiment.model.encoder.override(pretrained.config.to_dict())
        return pretrained

    def _resolve_encoder_config(self) -> BertConfig:
        values = self._experiment.model.encoder.as_dict()
        size = self._data.manifest.vocab_size
        if values["vocab_size"] is None:
            values["vocab_size"] = self._experiment.model.encoder.vocab_size = size
        return BertConfig.from_dict(values)

    def _phases(self, total_steps: int) -> list[Phase]:
        second = self._experiment.second_phase
        if not second.path:
            return [Phase(self._feed, 0, total_steps)]
        data = PreparedData(second.path, self._experiment)
        for name in ("vocab_sha256", "labels"):
            if getattr(data.manifest, name) != getattr(self._data.manifest, name):
                raise InputError(
                    f"{second.path} has another {name} than {self._data.folder}: both phases "
                    "train one model"
                )
        feed = Feed(
            data,
            self._encoder_config,
            self._experiment,
            batch_size=second.batch_size or self._experiment.train.batch_size,
        )
        switch = round(total_steps * second.start)
        return [Phase(self._feed, 0, switch), Phase(feed, switch, total_steps)]

    def _make_training_model(self, phases: Sequence[Phase]) -> TrainingModel:
        experiment = self._experiment
        model = self._task.make_model(self._encoder_config, self._pretrained)
        if experiment.model.frozen_layers is not None:
            freeze_layers(model.encoder, experiment.model.frozen_layers)
        training_model = TrainingModel(
            model,
            self._task,
            seed=experiment.train.seed,
            accumulate_steps=experiment.train.accumulate_steps,
            max_grad_norm=experiment.optimizer.max_grad_norm,
        )
        optimizer = experiment.optimizer
        training_model.compile(
            optimizer=make_optimizer(
                optimizer.kind,
                learning_rate=learning_rate_schedule(experiment, phases),
                weight_decay=optimizer.weight_decay,
                beta_1=optimizer.beta_1,
                beta_2=optimizer.beta_2,
                epsilon=optimizer.epsilon,
                bias_correction=optimizer.bias_correction,
            ),
            steps_per_execution=experiment.train.steps_per_execution,
            jit_compile=experiment.runtime.jit_compile,
        )
        training_model.optimizer.build(training_model.trainable_variables)
        if optimizer.layer_decay < 1.0:
            shares = layer_rate_shares(model.encoder, optimizer.layer_decay)
            training_model.optimizer.set_rate_shares(shares)
        return training_model

    def _checkpoints(self, training_model: TrainingModel) -> Checkpoints:
        config = self._experiment.train
        return Checkpoints(
            self._folder.path,
            training_model,
            keep=config.keep_checkpoints,
            every_steps=config.checkpoint_every_steps,
            every_seconds=config.checkpoint_every_seconds,
            writes=self._writes,
        )

    def _best(self, training_model: TrainingModel) -> BestModel:
        metric = self._experiment.evaluation.best_metric or self._task.best_metric
        return BestModel(
            self._folder.path,
            training_model.model,
            metric=metric,
            lower=self._task.best_is_lower if metric == self._task.best_metric else False,
            writes=self._writes,
        )

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

    def _evaluator(self, model: tf.Module, split: str, *, with_losses: bool) -> Evaluator:
        dataset = self._feed.evaluation_dataset(split)
        return Evaluator(model, self._task, dataset, self._strategy, with_losses=with_losses)

    def _make_evaluation(self, model: tf.Module) -> Callable[[], dict[str, float]]:
        split = self._experiment.data.eval_split
        evaluator = self._evaluator(model, split, with_losses=True)
        examples = examples_of(self._data.folder, split)
        return lambda: self._task.results(*evaluator(), examples)

    def _write_results(
        self, step: int, metrics: dict[str, float], total_steps: int
    ) -> dict[str, float]:
        config = self._experiment.data
        baselines = self._task.baselines(
            self._data.paths(config.train_split),
            self._data.paths(config.eval_split),
            self._encoder_config,
        )
        results = {
            **metrics,
            **baselines,
            "best_metric": self._experiment.evaluation.best_metric or self._task.best_metric,
            "step": step,
            "total_steps": total_steps,
        }
        self._folder.write_results(results)
        return results

    def _report_nonfinite(self, error: loop.NonFiniteLossError, phase: Phase) -> None:
        """Writes nonfinite.json and raises an InputError that names it."""
        records = [
            {"file": os.path.basename(file), "record": number}
            for file, number in phase.feed.places(error.step - phase.start)
        ]
        path = self._folder.write_nonfinite(
            {"step": error.step, "logs": error.logs, "records": records}
        )
        raise InputError(
            f"{error}; the last checkpoint is good; {path} has the records and gradient norms "
            "(a lower learning rate helps, or --on_nonfinite=skip to leave such batches out)"
        ) from error
