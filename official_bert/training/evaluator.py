"""Metrics over a whole data set: sums over all batches and replicas, divided once at the end."""

from __future__ import annotations

import collections

import tensorflow as tf
import tf_keras

from official_bert.training.step import Objective, Tensors, select_inputs


class Evaluator:
    """Runs a model over a data set and adds up the objective's sums.

    The graph is made once and serves every call.

    Args:
        model: as for `TrainingModel`.
        objective: see `Objective`.
        dataset: batches, each element a dict of tensors; the last one may be smaller.
        strategy: where the model's variables are.
    """

    def __init__(
        self,
        model: tf_keras.Model,
        objective: Objective,
        dataset: tf.data.Dataset,
        strategy: tf.distribute.Strategy,
    ):
        self._dataset = strategy.experimental_distribute_dataset(dataset)

        def step(batch: Tensors) -> list[dict[str, tf.Tensor]]:
            outputs = model(select_inputs(objective, batch), training=False)
            return tf.distribute.get_replica_context().all_reduce(
                "sum", [objective.sums(outputs, batch), objective.weights(batch)]
            )

        @tf.function(reduce_retracing=True, autograph=False)
        def run(batch: Tensors) -> list[dict[str, tf.Tensor]]:
            # The same on all replicas.
            return tf.nest.map_structure(
                lambda value: strategy.experimental_local_results(value)[0],
                strategy.run(step, args=(batch,)),
            )

        self._run = run

    def __call__(self) -> dict[str, float]:
        """Name -> sum / weight over the data set."""
        sums: dict[str, float] = collections.defaultdict(float)
        weights: dict[str, float] = collections.defaultdict(float)
        for batch in self._dataset:
            batch_sums, batch_weights = self._run(batch)
            for name in batch_sums:
                sums[name] += float(batch_sums[name])
                weights[name] += float(batch_weights[name])
        return {name: sums[name] / weights[name] if weights[name] else 0.0 for name in sums}
