"""Metrics over a whole data set: sums over all batches and replicas, divided once at the end."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from official_bert.training.step import Objective, Tensors, select_inputs

# One record: name -> what `Objective.collect` gave for it.
Collected = list[dict[str, np.ndarray]]
# What tells rows apart that are only there to fill a batch.
_WEIGHTS = "record_weights"


class EvaluationStopped(Exception):  # noqa: N818 (a request, not an error)
    """An evaluation was asked to stop before its end."""


class Evaluator:
    """Runs a model over a data set, adds up the objective's sums and collects what it asks for.

    The graph is made once and serves every call.

    Args:
        model: as for `TrainingModel`.
        objective: see `Objective`.
        dataset: batches, each element a dict of tensors; the last one may be smaller. Records
            whose `record_weights` are 0 are not collected.
        strategy: where the model's variables are.
        with_losses: false for data without labels: no sums.
    """

    def __init__(
        self,
        model: tf_keras.Model,
        objective: Objective,
        dataset: tf.data.Dataset,
        strategy: tf.distribute.Strategy,
        *,
        with_losses: bool = True,
    ):
        self._dataset = strategy.experimental_distribute_dataset(dataset)

        def step(batch: Tensors) -> Any:
            outputs = model(select_inputs(objective, batch), training=False)
            collected = objective.collect(outputs, batch)
            if collected and _WEIGHTS in batch:
                # Left out on the host: here shapes are to stay what they are.
                collected = {**collected, _WEIGHTS: batch[_WEIGHTS]}
            if not with_losses:
                return [{}, {}], collected
            sums = [objective.sums(outputs, batch), objective.weights(batch)]
            if not sums[0]:
                return sums, collected
            return tf.distribute.get_replica_context().all_reduce("sum", sums), collected

        @tf.function(reduce_retracing=True, autograph=False)
        def run(batch: Tensors) -> Any:
            sums, collected = strategy.run(step, args=(batch,))
            # The same on all replicas.
            sums = tf.nest.map_structure(
                lambda value: strategy.experimental_local_results(value)[0], sums
            )
            return sums, {name: strategy.gather(rows, axis=0) for name, rows in collected.items()}

        self._run = run

    def __call__(
        self, stop: Callable[[], bool] = lambda: False
    ) -> tuple[dict[str, float], Collected]:
        """Runs over the data set.

        Args:
            stop: asked before each batch.

        Returns:
            name -> sum / weight; and the records, in no particular order.

        Raises:
            EvaluationStopped: `stop` said so.
        """
        # In float64, and on the device: reading them would wait for it after each batch.
        sums: dict[str, Any] = collections.defaultdict(float)
        weights: dict[str, Any] = collections.defaultdict(float)
        records: Collected = []
        for batch in self._dataset:
            if stop():
                raise EvaluationStopped
            (batch_sums, batch_weights), collected = self._run(batch)
            for name in batch_sums:
                sums[name] += tf.cast(batch_sums[name], tf.float64)
                weights[name] += tf.cast(batch_weights[name], tf.float64)
            arrays = {name: tensor.numpy() for name, tensor in collected.items()}
            if _WEIGHTS in arrays:
                is_there = arrays.pop(_WEIGHTS) > 0
                arrays = {name: array[is_there] for name, array in arrays.items()}
            rows = zip(*arrays.values(), strict=True)
            records.extend(dict(zip(arrays, row, strict=True)) for row in rows)
        values = {name: float(tf.math.divide_no_nan(sums[name], weights[name])) for name in sums}
        return values, records
