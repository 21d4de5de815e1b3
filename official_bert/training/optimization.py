"""AdamW or LAMB, linear warm-up and linear or other decay (Devlin et al. 2019, A.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
import tf_keras
from official.modeling import optimization

from official_bert.class_path import load_class

# Variables without weight decay, by a part of their names (google-research/bert `optimization.py`).
NO_WEIGHT_DECAY = ("bias", "layer_norm")


class AdamW(tf_keras.optimizers.AdamW):
    """AdamW of tf_keras with TensorFlow's one-pass update kernel, and bias correction by choice.

    The update is that of `tf_keras.optimizers.AdamW` (weights, then moments, then step, all in
    dense form); the kernel reads and writes each array once instead of ten times.

    An optimizer of another rule is a subclass with its own `update_step`, made of `moments`, `rate`
    and `decays`; docs/add_a_task.md has one.

    Args:
        bias_correction: false leaves out the correction of the moments' start at zero, as
            google-research/bert does.
    """

    def __init__(self, *args: Any, bias_correction: bool = True, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._bias_correction = bias_correction
        self._rate_shares: dict[str, float] = {}

    def set_rate_shares(self, shares: Iterable[tuple[tf.Variable, float]]) -> None:
        """Lets variables learn, and decay, at a share of the learning rate; others at all of it.

        Args:
            shares: variable, share; before the first step.
        """
        self._rate_shares = {self._var_key(variable): share for variable, share in shares}

    def _apply_weight_decay(self, variables: Any) -> None:
        """Nothing: `update_step` does it, variable by variable."""

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
        dtype = variable.dtype
        rate = self.rate(variable)
        if self.decays(variable):
            # One number first: each product with the variable is a pass over memory.
            variable.assign_sub(variable * (tf.cast(self.weight_decay, dtype) * rate))
        beta_1, beta_2 = (tf.constant(b, dtype) for b in (self.beta_1, self.beta_2))
        beta_1_power, beta_2_power = self._beta_powers(dtype)
        momentum, velocity = self.moments(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=momentum.handle,
            v=velocity.handle,
            beta1_power=beta_1_power,
            beta2_power=beta_2_power,
            lr=rate,
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=tf.convert_to_tensor(gradient),
        )

    def rate(self, variable: tf.Variable) -> tf.Tensor:
        """The learning rate of this step, or the variable's share of it; a scalar of its dtype."""
        share = self._rate_shares.get(self._var_key(variable), 1.0)
        return tf.cast(self.learning_rate, variable.dtype) * share

    def decays(self, variable: tf.Variable) -> bool:
        """Whether the variable has weight decay."""
        return bool(self.weight_decay) and self._use_weight_decay(variable)

    def moments(self, variable: tf.Variable) -> tuple[tf.Variable, tf.Variable]:
        """The two variables beside it, of its shape, from zeros; checkpoints hold them."""
        slot = self._index_dict[self._var_key(variable)]
        return self._momentums[slot], self._velocities[slot]

    def _beta_powers(self, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
        """beta^t of both moments, which are divided by 1 - beta^t: 0 is no correction."""
        if not self._bias_correction:
            return tf.zeros((), dtype), tf.zeros((), dtype)
        step = tf.cast(self.iterations + 1, dtype)
        return (
            tf.pow(tf.constant(self.beta_1, dtype), step),
            tf.pow(tf.constant(self.beta_2, dtype), step),
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bias_correction": self._bias_correction}


class Lamb(AdamW):
    """Adam whose step on each variable is as long as the variable itself, times the rate.

    For batches of tens of thousands (You et al. 2020, algorithm 2). Variables without weight decay
    (biases, layer norms) take plain Adam steps, as in the LAMB of
    `official.modeling.optimization`; that one is a legacy optimizer, which knows no `build` and no
    shares of the rate.
    """

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
        momentum, velocity = self.moments(variable)
        momentum.assign(momentum * self.beta_1 + gradient * (1.0 - self.beta_1))
        velocity.assign(velocity * self.beta_2 + tf.square(gradient) * (1.0 - self.beta_2))
        beta_1_power, beta_2_power = self._beta_powers(variable.dtype)
        scale = tf.sqrt(velocity / (1.0 - beta_2_power)) + self.epsilon
        update = momentum / (1.0 - beta_1_power) / scale
        rate = self.rate(variable)
        if self._use_weight_decay(variable):
            update += variable * self.weight_decay
            length, step_length = tf.norm(variable), tf.norm(update)
            # A variable of zeros has to get away from there.
            both = (length > 0) & (step_length > 0)
            rate *= tf.where(both, tf.math.divide_no_nan(length, step_length), 1.0)
        variable.assign_sub(update * rate)


OPTIMIZERS = {"adamw": AdamW, "lamb": Lamb}


def warm_up_and_decay(
    learning_rate: float,
    warmup_steps: int,
    total_steps: int,
    *,
    schedule: str = "linear",
    end_learning_rate: float = 0.0,
    power: float = 1.0,
) -> tf_keras.optimizers.schedules.LearningRateSchedule:
    """0 -> `learning_rate` in `warmup_steps`, linear, then -> `end_learning_rate` at `total_steps`.

    The rate at step t (the first update is t = 0) is `learning_rate * t / warmup` before the end of
    the warm-up. After it, where x goes from 0 to 1 between there and `total_steps`, it is

        linear      end + (learning_rate - end) * (1 - x)
        polynomial  end + (learning_rate - end) * (1 - x)**power
        cosine      end + (learning_rate - end) * (1 + cos(pi * x)) / 2
        constant    learning_rate

    Args:
        schedule: one of these four.
    """
    warmup_steps = min(warmup_steps, total_steps)
    decay_steps = max(1, total_steps - warmup_steps)
    if schedule == "cosine":
        decay = optimization.CosineDecayWithOffset(
            offset=warmup_steps,
            initial_learning_rate=learning_rate,
            decay_steps=decay_steps,
            alpha=end_learning_rate / learning_rate,
        )
    else:
        decay = optimization.PolynomialDecayWithOffset(
            offset=warmup_steps,
            initial_learning_rate=learning_rate,
            decay_steps=decay_steps,
            end_learning_rate=learning_rate if schedule == "constant" else end_learning_rate,
            power=power if schedule == "polynomial" else 1.0,
        )
    if warmup_steps == 0:
        return decay
    return optimization.LinearWarmup(decay, warmup_steps, warmup_learning_rate=0.0)


class PhasedSchedule(tf_keras.optimizers.schedules.LearningRateSchedule):
    """`first` before `switch_step`, then `second`, which counts its steps from there."""

    def __init__(
        self,
        first: tf_keras.optimizers.schedules.LearningRateSchedule,
        second: tf_keras.optimizers.schedules.LearningRateSchedule,
        *,
        switch_step: int,
    ):
        super().__init__()
        self._first, self._second, self._switch_step = first, second, switch_step

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        step = tf.convert_to_tensor(step)
        switch = tf.cast(self._switch_step, step.dtype)
        later = self._second(tf.maximum(step - switch, 0))
        return tf.where(step < switch, self._first(step), later)

    def get_config(self) -> dict[str, Any]:
        return {"first": self._first, "second": self._second, "switch_step": self._switch_step}


class CountedSchedule(tf_keras.optimizers.schedules.LearningRateSchedule):
    """A schedule by the steps that are done, those that changed nothing included.

    The optimizer counts its updates, and would be behind after each step that was left out.

    Args:
        schedule: the rate at a step.
        steps: int64 variable, the steps that are done.
    """

    def __init__(
        self, schedule: tf_keras.optimizers.schedules.LearningRateSchedule, steps: tf.Variable
    ):
        super().__init__()
        self._schedule, self._steps = schedule, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        return self._schedule(self._steps.read_value())

    def get_config(self) -> dict[str, Any]:
        return {"schedule": self._schedule, "steps": self._steps}


def make_optimizer(
    kind: str,
    *,
    learning_rate: float | tf_keras.optimizers.schedules.LearningRateSchedule,
    weight_decay: float,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    bias_correction: bool,
) -> AdamW:
    """The optimizer of pretraining and fine-tuning. Clipping is the training step's part.

    Args:
        kind: a key of `OPTIMIZERS`, or "package.module:Class" for a subclass of `AdamW`.

    Raises:
        InputError: there is no such class.
    """
    optimizer_class = OPTIMIZERS[kind] if kind in OPTIMIZERS else load_class(kind, AdamW)
    optimizer: AdamW = optimizer_class(
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        bias_correction=bias_correction,
        jit_compile=False,
    )
    optimizer.exclude_from_weight_decay(var_names=list(NO_WEIGHT_DECAY))
    return optimizer
