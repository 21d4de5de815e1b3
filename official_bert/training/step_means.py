"""Means of what the steps reported, added up on the device until a report asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

# Losses, metrics and counts that a task may have; the rest of the row stays 0.
_MOST_VALUES = 63


class StepMeans:
    """Sums over steps in one variable, so that a report costs one copy to the host.

    Reading a value after each step would let the device wait for the host; with several steps in
    one call of the device, Keras shows the values of the last of them alone.
    """

    def __init__(self) -> None:
        # How many steps are in it, then a sum for each name.
        self._sums = tf.Variable(
            tf.zeros([1 + _MOST_VALUES]),
            trainable=False,
            name="step_means",
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        self._names: tuple[str, ...] = ()

    def add(self, values: Mapping[str, tf.Tensor], counts: tf.Tensor) -> None:
        """Adds what a step reported; called within the step.

        Args:
            values: float32 scalars, the same on all replicas; the same names in each step.
            counts: whether they are to be counted: bool, false for a step that was not finite.
        """
        self._names = tuple(values)
        if len(values) > _MOST_VALUES:
            raise ValueError(f"a step reports at most {_MOST_VALUES} values, not {len(values)}")
        row = tf.stack([tf.ones(()), *(tf.cast(value, tf.float32) for value in values.values())])
        row = tf.pad(row, [[0, _MOST_VALUES - len(values)]])
        # NaN times 0 is NaN.
        self._sums.assign_add(tf.where(counts, row, tf.zeros_like(row)))

    def take(self, others: Sequence[tf.Tensor]) -> tuple[dict[str, float], list[float]]:
        """The means since the last call, and further scalars, in one copy to the host.

        Returns:
            name -> mean, {} where no step counted; and the numbers of `others`.
        """
        values = [tf.cast(self._sums, tf.float64), *(tf.cast([x], tf.float64) for x in others)]
        row = tf.concat(values, axis=0).numpy().tolist()
        self._sums.assign(tf.zeros_like(self._sums))
        steps, sums, further = row[0], row[1 : 1 + len(self._names)], row[1 + _MOST_VALUES :]
        if not steps:
            return {}, further
        return {n: total / steps for n, total in zip(self._names, sums, strict=True)}, further
