"""Prepared data -> the batches that training and evaluation run on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.data import batching, diagnosis, filling, packing, pipeline, static_packing
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig, RuntimeConfig
from official_bert.models.inputs import can_pack, check_packing
from official_bert.runs.prepared_data import PreparedData
from official_bert.tasks.base import Task, Tensors


def chosen_batching(experiment: ExperimentConfig, task: Task, config: BertConfig) -> str:
    """`data.batching`; where it is not set, what suits the task, the encoder and the runtime.

    Raises:
        InputError: one of them cannot do it.
    """
    runtime = experiment.runtime
    chosen = experiment.data.batching
    if not chosen:
        if _packs_in_one_shape(runtime):
            # Such batches have the same records on any devices; packed ones have not.
            return "padded"
        return task.batching if can_pack(config) or task.batching != "packed" else "bucketed"
    if chosen != "packed":
        return chosen
    if not task.can_pack:
        raise InputError(
            f"data.batching is packed: the records of {experiment.task} cannot be packed "
            "while training; use bucketed"
        )
    check_packing(config, pooled=True)
    return chosen


def _needs_one_shape(runtime: RuntimeConfig) -> bool:
    return runtime.strategy == "tpu" or runtime.jit_compile


def _packs_in_one_shape(runtime: RuntimeConfig) -> bool:
    """Whether packed batches all have the same rows: their number must divide among replicas."""
    return _needs_one_shape(runtime) or runtime.strategy != "one_device"


class InputPipeline:
    """Batches of one folder of prepared data.

    Args:
        data: the folder.
        config: of the encoder that reads the batches.
        experiment: the run.
        batch_size: global batch of training, in records.
        num_replicas: among which batches are split.
    """

    def __init__(
        self,
        data: PreparedData,
        config: BertConfig,
        experiment: ExperimentConfig,
        *,
        batch_size: int,
        num_replicas: int = 1,
    ):
        data.check_fits(config)
        self._data = data
        self._config = config
        self._experiment = experiment
        self._batching = chosen_batching(experiment, data.task, config)
        self._batch_size = batch_size
        self._num_replicas = num_replicas
        self._static_rows: static_packing.BatchShape | None = None
        if self._batching == "packed" and _packs_in_one_shape(experiment.runtime):
            self._static_rows = self._shape_of_rows()

    @property
    def _train_paths(self) -> list[str]:
        return self._data.paths(self._experiment.data.train_split)

    @property
    def records_per_batch(self) -> float:
        """Records of a training batch, on average."""
        return self._static_rows.num_records if self._static_rows else self._batch_size

    def _shape_of_rows(self) -> static_packing.BatchShape:
        split = self._experiment.data.train_split
        num_records = self._data.num_records(split)
        counts = self._data.manifest.splits[split]
        max_seq_length = self._data.manifest.max_seq_length
        if not counts.get("num_tokens"):
            raise InputError(
                "data.batching is packed, but the manifest does not say how many tokens the "
                f"records of {split} have: prepare the data again, or use padded"
            )
        return static_packing.batch_shape(
            batch_size=self._batch_size,
            mean_length=counts["num_tokens"] / num_records,
            longest=counts.get("longest_record", max_seq_length),
            max_seq_length=max_seq_length,
            multiple=self._num_replicas * self._experiment.train.accumulate_steps,
        )

    def training_dataset(self, start_step: int) -> tf.data.Dataset:
        """Endless batches, beginning with that of a step."""
        serialized = self._serialized_batches(start_step)
        if self._static_rows:
            dataset = self._static_batches(serialized, self._static_rows)
        else:
            dataset = self._complete_batches(
                serialized,
                self._train_paths,
                self._batch_size,
                start_step * self._batch_size,
            )
            if self._batching == "packed":
                token_features = self._data.task.token_features
                dataset = dataset.map(
                    lambda batch: packing.pack_batch(batch, token_features),
                    num_parallel_calls=tf.data.AUTOTUNE,
                )
        options = tf.data.Options()
        # Each worker takes its part of every global batch, so all together see one order.
        options.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.DATA
        )
        return dataset.prefetch(tf.data.AUTOTUNE).with_options(options)

    def evaluation_dataset(self, split: str) -> tf.data.Dataset:
        """Each record of a split once.

        For several replicas, and where steps are compiled, all batches have the same number of
        rows, see `fill_batch`.
        """
        batch_size = self._experiment.evaluation.batch_size
        filled = self._num_replicas > 1 or _needs_one_shape(self._experiment.runtime)
        if filled:
            batch_size = -(-batch_size // self._num_replicas) * self._num_replicas
        paths = self._data.paths(split)
        make_batches = (
            pipeline.evaluation_batches
            if self._batching == "padded"
            else batching.bucketed_evaluation_batches
        )
        serialized = make_batches(
            paths, batch_size=batch_size, num_records=self._data.num_records(split)
        )
        dataset = self._complete_batches(serialized, paths, batch_size, start_record=0)
        if filled:
            dataset = dataset.map(
                lambda batch: filling.fill_batch(batch, batch_size),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
        return dataset.prefetch(tf.data.AUTOTUNE)

    def record_locations(self, step: int) -> list[tuple[str, int]]:
        """File, and number in the file, of each record of a training batch."""
        batch = next(iter(self._serialized_batches(step, with_locations=True)))
        if self._static_rows:
            columns, starts = batch
            is_there = starts >= 0
            files = tf.boolean_mask(columns["files"], is_there)
            numbers = tf.boolean_mask(columns["file_numbers"], is_there)
        else:
            _, files, numbers = batch
        return [
            (file.decode(), int(number))
            for file, number in zip(files.numpy(), numbers.numpy(), strict=True)
        ]

    @contextlib.contextmanager
    def bad_records_named(self, split: str) -> Iterator[None]:
        """Turns TensorFlow's complaint about some record of a split into one that says which."""
        try:
            yield
        except (
            tf.errors.InvalidArgumentError,
            tf.errors.DataLossError,
            tf.errors.FailedPreconditionError,
        ):
            task, paths = self._data.task, self._data.paths(split)
            diagnosis.check_files(
                task.record_kind,
                paths,
                task.sizes(self._config),
                self._data.num_records(split),
                parse=tf.function(
                    self._parser(paths), input_signature=[tf.TensorSpec([None], tf.string)]
                ),
            )
            raise

    def _complete_batches(
        self, serialized: tf.data.Dataset, paths: list[str], batch_size: int, start_record: int
    ) -> tf.data.Dataset:
        """Serialized batches -> what the model and the losses take."""
        parse = self._parser(paths)
        complete = self._data.task.completion(self._experiment.train.seed)

        def make(index: tf.Tensor, records: tf.Tensor) -> Tensors:
            first = start_record + index * batch_size
            return complete(parse(records), first + tf.range(tf.size(records, tf.int64)))

        return serialized.enumerate().map(make, num_parallel_calls=tf.data.AUTOTUNE)

    def _static_batches(
        self, serialized: tf.data.Dataset, shape: static_packing.BatchShape
    ) -> tf.data.Dataset:
        """Serialized records in rows -> what the model and the losses take."""
        task = self._data.task
        parse = self._parser(self._train_paths)
        complete = task.completion(self._experiment.train.seed)

        def make(columns: Tensors, starts: tf.Tensor) -> Tensors:
            is_there = starts >= 0
            records = tf.boolean_mask(columns["serialized"], is_there)
            batch = complete(parse(records), tf.boolean_mask(columns["numbers"], is_there))
            return static_packing.pack_parsed(batch, starts, shape, task.token_features)

        return serialized.map(make, num_parallel_calls=tf.data.AUTOTUNE)

    def _parser(self, paths: list[str]) -> pipeline.Parser:
        task = self._data.task
        return pipeline.make_parser(
            pipeline.present_features(task.record_kind, paths),
            sizes=task.sizes(self._config),
            pad_to_max=_needs_one_shape(self._experiment.runtime),
        )

    def _serialized_batches(
        self, start_step: int, *, with_locations: bool = False
    ) -> tf.data.Dataset:
        num_records = self._data.num_records(self._experiment.data.train_split)
        settings: dict[str, Any] = {
            "num_records": num_records,
            "batch_size": self._batch_size,
            "seed": self._experiment.train.seed,
            "shuffle_buffer": self._experiment.data.shuffle_buffer,
            "with_locations": with_locations,
        }
        if self._static_rows:
            return static_packing.packed_training_batches(
                self._train_paths, shape=self._static_rows, start_batch=start_step, **settings
            )
        # With less than a batch in an epoch there is nothing to sort.
        if self._batching == "bucketed" and num_records >= self._batch_size:
            return batching.bucketed_training_batches(
                self._train_paths, start_batch=start_step, **settings
            )
        return pipeline.training_batches(
            self._train_paths, start_record=start_step * self._batch_size, **settings
        )
