"""AdamW, linear warm-up and linear decay (Devlin et al. 2019, A.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
import tf_keras
from official.modeling import optimization

# Variables without weight decay, by a part of their names (google-research/bert `optimization.py`).
NO_WEIGHT_DECAY = ("bias", "layer_norm")


class AdamW(tf_keras.optimizers.AdamW):
    """AdamW of tf_keras with TensorFlow's one-pass update kernel, and bias correction by choice.

    The update is that of `tf_keras.optimizers.AdamW` (weights, then moments, then step, all in
    dense form); the kernel reads and writes each array once instead of ten times.

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
        key = self._var_key(variable)
        slot = self._index_dict[key]
        dtype = variable.dtype
        rate = tf.cast(self.learning_rate, dtype) * self._rate_shares.get(key, 1.0)
        if self.weight_decay and self._use_weight_decay(variable):
            # One number first: each product with the variable is a pass over memory.
            variable.assign_sub(variable * (tf.cast(self.weight_decay, dtype) * rate))
        beta_1, beta_2 = (tf.constant(b, dtype) for b in (self.beta_1, self.beta_2))
        step = tf.cast(self.iterations + 1, dtype)
        zero = tf.zeros((), dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[slot].handle,
            v=self._velocities[slot].handle,
            # The kernel divides by 1 - beta^t: powers of 0 mean no correction.
            beta1_power=tf.pow(beta_1, step) if self._bias_correction else zero,
            beta2_power=tf.pow(beta_2, step) if self._bias_correction else zero,
            lr=rate,
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=tf.convert_to_tensor(gradient),
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bias_correction": self._bias_correction}


def learning_rate_schedule(
    learning_rate: float, warmup_steps: int, total_steps: int
) -> tf_keras.optimizers.schedules.LearningRateSchedule:
    """0 -> `learning_rate` in `warmup_steps`, then -> 0 at `total_steps`, both linear.

    The rate at step t (the first update is t = 0) is
    `learning_rate * min(t / warmup, (total - t) / (total - warmup))`.
    """
    decay = optimization.PolynomialDecayWithOffset(
        offset=warmup_steps,
        initial_learning_rate=learning_rate,
        decay_steps=max(1, total_steps - warmup_steps),
        end_learning_rate=0.0,
    )
    if warmup_steps == 0:
        return decay
    return optimization.LinearWarmup(decay, warmup_steps, warmup_learning_rate=0.0)


def make_optimizer(
    *,
    learning_rate: float,
    warmup_steps: int,
    total_steps: int,
    weight_decay: float,
    beta_1: float,
    beta_2: float,
    epsilon: float,
    bias_correction: bool,
) -> AdamW:
    """The optimizer of pretraining and fine-tuning. Clipping is the training step's part."""
    optimizer = AdamW(
        learning_rate=learning_rate_schedule(learning_rate, warmup_steps, total_steps),
        weight_decay=weight_decay,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        bias_correction=bias_correction,
        jit_compile=False,
    )
    optimizer.exclude_from_weight_decay(var_names=list(NO_WEIGHT_DECAY))
    return optimizer
