"""A run from its config to its model folder: what `official_bert.train` and `evaluate` do."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from official_bert.checkpoints.load import Pretrained, load_pretrained
from official_bert.checkpoints.official import checkpoint_of_step
from official_bert.config import BertConfig
from official_bert.data import batching, diagnosis, packing, pipeline
from official_bert.data.manifest import VOCAB_NAME, Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.models.inputs import check_packing
from official_bert.tasks import task_class
from official_bert.tasks.examples import examples_of
from official_bert.tasks.layer_rates import freeze_layers, layer_rate_shares
from official_bert.tasks.model_folder import ModelFolder
from official_bert.text.vocab import Vocab
from official_bert.training import loop
from official_bert.training.checkpointing import BestModel, Checkpoints
from official_bert.training.evaluator import Evaluator
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
        self._folder = ModelFolder(model_dir)
        if not experiment.data.path:
            raise InputError("data.path is not set: name a folder of prepared data")
        self._data_dir = pathlib.Path(experiment.data.path)
        self._manifest = Manifest.load(self._data_dir)
        task = task_class(experiment.task)
        if self._manifest.task != task.record_kind:
            raise InputError(
                f"{self._data_dir} holds {self._manifest.task} records; the task "
                f"{experiment.task} reads {task.record_kind} records"
            )
        self._task = task(self._manifest, self._load_vocab(), experiment)
        runtime = experiment.runtime
        set_runtime(
            seed=experiment.train.seed,
            precision=runtime.precision,
            deterministic=runtime.deterministic,
        )
        self._batching = self._checked_batching(task)
        self._strategy = make_strategy(runtime.strategy, num_gpus=runtime.num_gpus, tpu=tpu)
        self._writes = is_chief(self._strategy)
        self._pretrained = self._load_pretrained()
        self._encoder_config = self._resolve_encoder_config()
        if self._batching == "packed":
            check_packing(self._encoder_config, pooled=True)
        if hasattr(self._task, "check_encoder"):
            self._task.check_encoder(self._encoder_config)

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
        if self._writes:
            self._folder.prepare(
                self._experiment, self._encoder_config, self._manifest, self._data_dir
            )
        finished = self._folder.results()
        if finished is not None and finished["total_steps"] == total_steps:
            logging.info("%s is finished: %d steps", self._folder.path, total_steps)
            return finished
        paths = self._paths(self._experiment.data.train_split)
        with self._strategy.scope():
            training_model = self._make_training_model(total_steps)
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
        metric = self._experiment.evaluation.best_metric or self._task.best_metric
        best = BestModel(
            self._folder.path,
            training_model.model,
            metric=metric,
            lower=self._task.best_is_lower if metric == self._task.best_metric else False,
            writes=self._writes,
        )
        evaluated = evaluate and self._experiment.data.eval_split in self._manifest.splits
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
        with self._bad_records_named(paths):
            try:
                training.run(
                    self._training_dataset(paths, start_step),
                    start_step=start_step,
                    total_steps=total_steps,
                )
            except loop.NonFiniteLossError as error:
                self._report_nonfinite(error, paths)
        score = best.score() if evaluated and self._writes else None
        if score is None:
            return {}
        return self._write_results(score["step"], score["metrics"], total_steps)

    def evaluate(self) -> dict[str, float]:
        """Evaluates the best model of the folder, or its newest checkpoint; writes the results.

        Raises:
            InputError: the folder has no model, or a record cannot be used.
        """
        model, step = self._restored()
        self._use_results(self._folder)
        with self._bad_records_named(self._paths(self._experiment.data.eval_split)):
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
        paths = self._paths(split)
        with self._bad_records_named(paths):
            _, collected = self._evaluator(model, paths, with_losses=False)()
        folder = pathlib.Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return self._task.write_predictions(collected, examples_of(self._data_dir, split), folder)

    def _ensemble(self, model: tf.Module, others: Sequence[str]) -> tf.Module:
        """`model` and those of other folders, of the same vocabulary, as one."""
        if not hasattr(self._task, "ensemble"):
            raise InputError(
                f"the task {self._experiment.task} has no ensembles: give one --model_dir"
            )
        with self._strategy.scope():
            bundles = [load_pretrained(path) for path in others]
        for path, bundle in zip(others, bundles, strict=True):
            if not bundle.vocab or bundle.vocab.sha256 != self._manifest.vocab_sha256:
                raise InputError(
                    f"{path} has another vocabulary than {self._data_dir}: the models of an "
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
            training_model = self._make_training_model(total_steps=1)
        best = BestModel(self._folder.path, training_model.model, metric="", lower=True)
        score = best.score()
        if score is not None:
            best.restore()
            step = score["step"]
        else:
            step = Checkpoints(
                self._folder.path, training_model, keep=1, every_steps=0, every_seconds=0
            ).restore()
        if not step:
            raise InputError(f"{self._folder.path} has no trained model: train it first")
        return training_model.model, step

    def _load_vocab(self) -> Vocab:
        vocab = Vocab.from_file(self._data_dir / VOCAB_NAME)
        if vocab.sha256 != self._manifest.vocab_sha256:
            raise InputError(
                f"{self._data_dir / VOCAB_NAME} has sha256 {vocab.sha256}, the manifest beside it "
                f"says {self._manifest.vocab_sha256}: prepare the data again"
            )
        return vocab

    def _checked_batching(self, task: Any) -> str:
        runtime = self._experiment.runtime
        batching = self._experiment.data.batching or task.batching
        if batching == "packed" and not task.can_pack:
            raise InputError(
                f"data.batching is packed: the records of {self._experiment.task} cannot be packed "
                "while training; use bucketed"
            )
        if batching == "packed" and (runtime.strategy == "tpu" or runtime.jit_compile):
            raise InputError(
                "data.batching is packed, which gives batches of different numbers of rows; "
                "compiled steps need one shape: use padded"
            )
        return batching

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
        if sha256 != self._manifest.vocab_sha256:
            raise InputError(
                f"the vocabulary of {path} has sha256 {sha256}, that of {self._data_dir} "
                f"{self._manifest.vocab_sha256}: prepare the data with the checkpoint's vocab.txt"
            )
        self._experiment.model.encoder.override(pretrained.config.to_dict())
        return pretrained

    def _resolve_encoder_config(self) -> BertConfig:
        values = self._experiment.model.encoder.as_dict()
        size = self._manifest.vocab_size
        if values["vocab_size"] is None:
            values["vocab_size"] = self._experiment.model.encoder.vocab_size = size
        config = BertConfig.from_dict(values)
        if config.vocab_size != size:
            raise InputError(
                f"model.encoder.vocab_size is {config.vocab_size}, but the vocabulary of "
                f"{self._data_dir} has {size} entries: leave vocab_size out to take that"
            )
        if self._manifest.max_seq_length > config.max_position_embeddings:
            raise InputError(
                f"{self._data_dir} has sequences of {self._manifest.max_seq_length} tokens, above "
                f"model.encoder.max_position_embeddings {config.max_position_embeddings}"
            )
        return config

    def _make_training_model(self, total_steps: int) -> TrainingModel:
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
        warmup_steps = optimizer.warmup_steps
        if warmup_steps is None:
            warmup_steps = round(total_steps * optimizer.warmup_proportion)
        training_model.compile(
            optimizer=make_optimizer(
                learning_rate=optimizer.learning_rate,
                warmup_steps=min(warmup_steps, total_steps),
                total_steps=total_steps,
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

    def _total_steps(self) -> int:
        config = self._experiment.train
        if config.steps is not None:
            return config.steps
        return max(1, round(self._num_records() * config.epochs / config.batch_size))

    def _steps_between_evaluations(self) -> int:
        config = self._experiment.evaluation
        if config.every_steps or not config.every_epochs:
            return config.every_steps
        records = self._num_records() * config.every_epochs
        return max(1, round(records / self._experiment.train.batch_size))

    def _num_records(self) -> int:
        split = self._experiment.data.train_split
        self._paths(split)
        count = self._manifest.splits[split]["num_records"]
        if not count:
            raise InputError(f"the split {split!r} of {self._data_dir} has no records")
        return count

    def _paths(self, split: str) -> list[str]:
        return self._manifest.shard_paths(self._data_dir, split)

    def _parser(self, paths: list[str]) -> pipeline.Parser:
        return pipeline.make_parser(
            pipeline.present_features(self._task.record_kind, paths),
            sizes=self._task.sizes(self._encoder_config),
            pad_to_max=self._experiment.runtime.strategy == "tpu"
            or self._experiment.runtime.jit_compile,
        )

    def _training_dataset(self, paths: list[str], start_step: int) -> tf.data.Dataset:
        batch_size = self._experiment.train.batch_size
        dataset = self._complete_batches(
            self._serialized_batches(paths, start_step), paths, batch_size, start_step * batch_size
        )
        options = tf.data.Options()
        # Each worker takes its part of every global batch, so all together see one order.
        options.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.DATA
        )
        return dataset.with_options(options)

    def _complete_batches(
        self, serialized: tf.data.Dataset, paths: list[str], batch_size: int, start_record: int
    ) -> tf.data.Dataset:
        """Serialized batches -> what the model and the losses take."""
        parse = self._parser(paths)
        complete = self._task.completion(self._experiment.train.seed)
        packed = self._batching == "packed"

        def make(index: tf.Tensor, records: tf.Tensor) -> dict[str, tf.Tensor]:
            first = start_record + index * batch_size
            batch = complete(parse(records), first + tf.range(tf.size(records, tf.int64)))
            return packing.pack_batch(batch, self._manifest.max_seq_length) if packed else batch

        dataset = serialized.enumerate().map(make, num_parallel_calls=tf.data.AUTOTUNE)
        return dataset.prefetch(tf.data.AUTOTUNE)

    def _serialized_batches(
        self, paths: list[str], start_step: int, *, with_places: bool = False
    ) -> tf.data.Dataset:
        config = self._experiment.train
        settings: dict[str, Any] = {
            "num_records": self._num_records(),
            "batch_size": config.batch_size,
            "seed": config.seed,
            "shuffle_buffer": self._experiment.data.shuffle_buffer,
            "with_places": with_places,
        }
        # With less than a batch in an epoch there is nothing to sort.
        if self._batching == "bucketed" and self._num_records() >= config.batch_size:
            return batching.bucketed_training_batches(paths, start_batch=start_step, **settings)
        return pipeline.training_batches(
            paths, start_record=start_step * config.batch_size, **settings
        )

    def _evaluator(self, model: tf.Module, paths: list[str], *, with_losses: bool) -> Evaluator:
        batch_size = self._experiment.evaluation.batch_size
        if self._batching == "bucketed":
            serialized = batching.bucketed_evaluation_batches(paths, batch_size=batch_size)
        else:
            serialized = pipeline.evaluation_batches(paths, batch_size=batch_size)
        dataset = self._complete_batches(serialized, paths, batch_size, start_record=0)
        return Evaluator(model, self._task, dataset, self._strategy, with_losses=with_losses)

    def _make_evaluation(self, model: tf.Module) -> Callable[[], dict[str, float]]:
        split = self._experiment.data.eval_split
        evaluator = self._evaluator(model, self._paths(split), with_losses=True)
        examples = examples_of(self._data_dir, split)
        return lambda: self._task.results(*evaluator(), examples)

    @contextlib.contextmanager
    def _bad_records_named(self, paths: list[str]) -> Iterator[None]:
        """Turns TensorFlow's complaint about some record into one that says which."""
        try:
            yield
        except (tf.errors.InvalidArgumentError, tf.errors.DataLossError):
            sizes = self._task.sizes(self._encoder_config)
            diagnosis.check_files(self._task.record_kind, paths, sizes)
            raise

    def _write_results(
        self, step: int, metrics: dict[str, float], total_steps: int
    ) -> dict[str, float]:
        config = self._experiment.data
        baselines = self._task.baselines(
            self._paths(config.train_split), self._paths(config.eval_split), self._encoder_config
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

    def _report_nonfinite(self, error: loop.NonFiniteLossError, paths: list[str]) -> None:
        """Writes nonfinite.json and raises an InputError that names it."""
        batches = self._serialized_batches(paths, error.step, with_places=True)
        _, files, numbers = next(iter(batches))
        records = [
            {"file": os.path.basename(file.decode()), "record": int(number)}
            for file, number in zip(files.numpy(), numbers.numpy(), strict=True)
        ]
        path = self._folder.write_nonfinite(
            {"step": error.step, "logs": error.logs, "records": records}
        )
        raise InputError(
            f"{error}; the last checkpoint is good; {path} has the records and gradient norms "
            "(a lower learning rate helps, or --on_nonfinite=skip to leave such batches out)"
        ) from error
