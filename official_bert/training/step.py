"""One optimizer step, the same on one replica and on many, whole or in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import tensorflow as tf
import tf_keras

from official_bert.layers.dropout import dropout_seed
from official_bert.training.step_means import StepMeans

Tensors = Mapping[str, tf.Tensor]


class Objective(Protocol):
    """What a task wants of its model: losses and metrics as sums, so that they add up.

    `weights` and `sums` have the same keys; sum / weight over all replicas is the value. `losses`
    names the keys whose values are added up to the loss, `model_inputs` the entries of a batch that
    the model is called on.
    """

    losses: tuple[str, ...]
    model_inputs: tuple[str, ...]

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        """Float32 scalars: what each sum is divided by, known before the model is run."""

    def sums(self, outputs: Tensors, batch: Tensors) -> dict[str, tf.Tensor]:
        """Float32 scalars."""

    def collect(self, outputs: Tensors, batch: Tensors) -> dict[str, tf.Tensor]:
        """Tensors [B, …] that metrics or predictions need of each record; {} for none."""


class TrainingModel(tf_keras.Model):
    """A model with the training step of all tasks, for `compile(optimizer)` and `fit`.

    The loss is the sum over the *global* batch divided by the global weight, so that the gradient
    does not depend on how many replicas or parts compute it. Gradients are summed over replicas,
    clipped by their global norm and applied; a step whose loss or gradient is not finite changes
    neither weights nor moments and is counted. With mixed_float16 the loss is scaled up while it is
    differentiated: a gradient that then overflows lowers the scale, and only where the scale is 1
    already is the step counted (Micikevicius et al. 2018, section 3.2).

    Args:
        model: called on the `model_inputs` of a batch, gives a dict of tensors.
        objective: see `Objective`.
        seed: of dropout.
        accumulate_steps: parts in which a batch is computed, one after the other.
        max_grad_norm: 0 for no clipping.
    """

    def __init__(
        self,
        model: tf_keras.Model,
        objective: Objective,
        *,
        seed: int,
        accumulate_steps: int,
        max_grad_norm: float,
    ):
        super().__init__(name="training")
        self.model = model
        # What `train_step` returns is summed over the replicas already.
        self.distribute_reduction_method = "first"
        self._objective = objective
        self._seed = seed
        self._accumulate_steps = accumulate_steps
        self._max_grad_norm = max_grad_norm
        self.global_step = _counter("global_step", 0)
        self.nonfinite_steps = _counter("nonfinite_steps", 0)
        self.first_nonfinite_step = _counter("first_nonfinite_step", -1)
        self.means = StepMeans()

    def call(self, inputs: Tensors, training: bool = False) -> Tensors:
        return self.model(inputs, training=training)

    def keep_step_count_on_host(self) -> None:
        """Moves what Keras reads before each step out of the device's memory.

        It is `steps_per_execution`; reading it there would wait for the step before. To be called
        after `compile`, outside of the strategy's scope.
        """
        with tf.device("CPU:0"):
            steps = tf.Variable(self._steps_per_execution.numpy(), dtype=tf.int64, trainable=False)
        # Past Keras, which tracks the variables of a model.
        object.__setattr__(self, "_steps_per_execution", steps)

    def train_step(self, batch: Tensors) -> dict[str, tf.Tensor]:
        replica = tf.distribute.get_replica_context()
        weights = replica.all_reduce("sum", self._objective.weights(batch))
        sums, gradients = self._sums_and_gradients(batch, weights)
        sums, gradients = replica.all_reduce("sum", (sums, gradients))
        values = {name: tf.math.divide_no_nan(sums[name], weights[name]) for name in sums}
        loss = tf.add_n([values[name] for name in self._objective.losses])

        can_lower_scale = tf.constant(False)
        if isinstance(self.optimizer, tf_keras.mixed_precision.LossScaleOptimizer):
            gradients = self.optimizer.get_unscaled_gradients(gradients)
            # The optimizer then leaves out a step that overflows, and lowers the scale, by itself.
            can_lower_scale = self.optimizer.loss_scale > 1.0
        norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(loss) & (tf.math.is_finite(norm) | can_lower_scale)
        if self._max_grad_norm > 0:
            scale = self._max_grad_norm / tf.maximum(norm, self._max_grad_norm)
            gradients = [gradient * tf.cast(scale, gradient.dtype) for gradient in gradients]
        self._apply_if(finite, gradients)
        self._count(finite)
        used, size = _token_counts(batch)
        reported = {
            "loss": loss,
            **values,
            "gradient_norm": norm,
            "tokens": replica.all_reduce("sum", used),
            "positions": replica.all_reduce("sum", size),
        }
        # Where losses are scaled, a step with an overflow has a norm without meaning.
        self.means.add(reported, tf.math.is_finite(loss) & tf.math.is_finite(norm))
        return reported

    def _sums_and_gradients(
        self, batch: Tensors, weights: Tensors
    ) -> tuple[dict[str, tf.Tensor], list[tf.Tensor]]:
        """Sums of the batch on this replica, and the gradient of its share of the global loss."""
        if self._accumulate_steps == 1:
            return self._part(batch, weights, tf.constant(0))
        part_of = _split(batch, self._accumulate_steps)

        def add_part(index, sums, gradients):
            part_sums, part_gradients = self._part(part_of(index), weights, index)
            return (
                index + 1,
                {name: sums[name] + part_sums[name] for name in sums},
                [a + b for a, b in zip(gradients, part_gradients, strict=True)],
            )

        zeros = (
            tf.constant(0),
            {name: tf.zeros(()) for name in weights},
            [tf.zeros_like(variable) for variable in self.trainable_variables],
        )
        _, sums, gradients = tf.while_loop(
            lambda index, *_: index < self._accumulate_steps,
            add_part,
            zeros,
            # One part in memory at a time is what this is for.
            parallel_iterations=1,
        )
        return sums, gradients

    def _part(
        self, part: Tensors, weights: Tensors, index: tf.Tensor
    ) -> tuple[dict[str, tf.Tensor], list[tf.Tensor]]:
        replica_id = tf.distribute.get_replica_context().replica_id_in_sync_group
        seed = tf.stack([tf.constant(self._seed, tf.int64), self.global_step.read_value()])
        for number in (replica_id, index):
            seed = tf.random.experimental.stateless_fold_in(seed, number)
        with tf.GradientTape() as tape, dropout_seed(seed):
            outputs = self.model(select_inputs(self._objective, part), training=True)
            sums = self._objective.sums(outputs, part)
            loss = tf.add_n(
                [tf.math.divide_no_nan(sums[k], weights[k]) for k in self._objective.losses]
            )
            if isinstance(self.optimizer, tf_keras.mixed_precision.LossScaleOptimizer):
                loss = self.optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(loss, self.trainable_variables)
        # Dense: the norm of an embedding's gradient is wrong while its rows are listed twice.
        return sums, [
            tf.zeros_like(variable) if gradient is None else tf.convert_to_tensor(gradient)
            for gradient, variable in zip(gradients, self.trainable_variables, strict=True)
        ]

    def _apply_if(self, finite: tf.Tensor, gradients: list[tf.Tensor]) -> None:
        """Applies gradients that are already summed over replicas, or leaves all as it was."""
        variables = self.trainable_variables
        with tf.init_scope():
            self.optimizer.build(variables)

        def apply(gradients: list[tf.Tensor]) -> None:
            self.optimizer.apply_gradients(
                zip(gradients, variables, strict=True), skip_gradients_aggregation=True
            )

        if tf.__internal__.distribute.strategy_supports_no_merge_call():
            tf.cond(finite, lambda: apply(gradients), lambda: None)
            return

        # A condition may not stand around the merge of the replicas: merge first, then branch.
        def apply_on_all(strategy: tf.distribute.Strategy, finite, gradients) -> None:
            tf.cond(
                strategy.experimental_local_results(finite)[0],  # The same on all of them.
                lambda: strategy.extended.call_for_each_replica(apply, args=(gradients,)),
                lambda: None,
            )

        tf.distribute.get_replica_context().merge_call(apply_on_all, args=(finite, gradients))

    def _count(self, finite: tf.Tensor) -> None:
        first = self.first_nonfinite_step
        first.assign(tf.where(finite | (first >= 0), first, self.global_step))
        self.nonfinite_steps.assign_add(tf.cast(~finite, tf.int64))
        self.global_step.assign_add(1)


def select_inputs(objective: Objective, batch: Tensors) -> dict[str, tf.Tensor]:
    """The entries of a batch that the model is called on; labels and the like stay behind."""
    return {name: batch[name] for name in objective.model_inputs if name in batch}


def _split(batch: Tensors, parts: int) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """A function from the number of a part, an int32 scalar, to its rows of the batch [B, …]."""
    rows = batch["input_word_ids"].shape[0]
    if rows is None or rows % parts:
        size = tf.shape(batch["input_word_ids"])[0]

        def sliced(index: tf.Tensor) -> dict[str, tf.Tensor]:
            start, stop = index * size // parts, (index + 1) * size // parts
            return {name: tensor[start:stop] for name, tensor in batch.items()}

        return sliced
    # XLA would compute slices that begin at a number of its own at the size of the whole batch.
    stacked = {
        name: tf.reshape(tensor, tf.concat([[parts, rows // parts], tf.shape(tensor)[1:]], axis=0))
        for name, tensor in batch.items()
    }  # [parts, B / parts, …]
    return lambda index: {name: tensor[index] for name, tensor in stacked.items()}


def _counter(name: str, start: int) -> tf.Variable:
    return tf.Variable(
        tf.constant(start, tf.int64),
        trainable=False,
        name=name,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def _token_counts(batch: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
    """Real tokens and positions of the batch on this replica; float32 scalars."""
    mask = batch["input_mask"]
    return tf.cast(tf.reduce_sum(mask), tf.float32), tf.cast(tf.size(mask), tf.float32)
