import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from official_bert.training.optimization import AdamW, Lamb
from official_bert.training.step import TrainingModel
from tests.public_data import ROOT


class Doubler(tf_keras.Model):
    """y = w * x, with x and its label in the batch."""

    def __init__(self):
        super().__init__()
        self.w = self.add_weight(name="w", shape=[], initializer="ones")

    def call(self, inputs, training=False):
        return {"y": self.w * inputs["input_word_ids"]}


class SquaredError:
    losses = ("loss_part",)
    model_inputs = ("input_word_ids",)

    def weights(self, batch):
        return {"loss_part": tf.reduce_sum(batch["weight"])}

    def sums(self, outputs, batch):
        errors = tf.square(outputs["y"] - batch["label"]) * batch["weight"]
        return {"loss_part": tf.reduce_sum(errors)}


def _batch(size=6):
    random = np.random.default_rng(1)
    return {
        "input_word_ids": tf.constant(random.normal(size=size), tf.float32),
        "label": tf.constant(random.normal(size=size), tf.float32),
        "weight": tf.constant(([1.0, 0.0, 1.0, 1.0, 1.0, 1.0] * 2)[:size]),
        "input_mask": tf.ones([size], tf.int32),
    }


def _adamw(kind=AdamW, weight_decay=0.0):
    return kind(learning_rate=0.1, weight_decay=weight_decay, epsilon=1e-6, jit_compile=False)


def _scaled(optimizer, initial_scale, growth_steps):
    return tf_keras.mixed_precision.LossScaleOptimizer(
        optimizer, initial_scale=initial_scale, dynamic_growth_steps=growth_steps
    )


def _trained(
    batch,
    *,
    accumulate_steps=1,
    max_grad_norm=0.0,
    steps=3,
    optimizer=None,
    jit_compile=False,
):
    training_model = TrainingModel(
        Doubler(),
        SquaredError(),
        seed=0,
        accumulate_steps=accumulate_steps,
        max_grad_norm=max_grad_norm,
    )
    training_model.compile(optimizer=optimizer or _adamw(), jit_compile=jit_compile)
    dataset = tf.data.Dataset.from_tensors(batch).repeat(steps)
    history = training_model.fit(dataset, epochs=1, verbose=0)
    return training_model, history.history


def test_loss_is_the_weighted_mean_of_the_batch():
    batch = {
        "input_word_ids": tf.constant([1.0, 2.0]),
        "label": tf.constant([3.0, 7.0]),
        "weight": tf.constant([1.0, 0.0]),
        "input_mask": tf.constant([1, 0]),
    }
    training_model, history = _trained(batch, steps=1)
    # Only the first example counts: (1 * 1 - 3)^2 = 4, its gradient 2 * (1 - 3) * 1 = -4.
    assert history["loss"] == [4.0]
    assert history["gradient_norm"] == [4.0]
    assert history["tokens"] == [1.0]
    assert history["positions"] == [2.0]
    # The first step of Adam is as long as the learning rate.
    assert float(training_model.model.w) == pytest.approx(1.1, abs=1e-5)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_parts_give_the_update_of_the_whole_batch(parts):
    whole, whole_history = _trained(_batch())
    divided, divided_history = _trained(_batch(), accumulate_steps=parts)
    assert float(divided.model.w) == pytest.approx(float(whole.model.w), rel=1e-6)
    assert divided_history["loss"] == pytest.approx(whole_history["loss"], rel=1e-6)


def test_gradient_is_scaled_down_to_the_norm():
    _, history = _trained(_batch(), max_grad_norm=1e-3, steps=1)
    assert history["gradient_norm"][0] > 1e-3  # The norm before clipping is reported.


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_step_that_is_not_finite_changes_nothing_and_is_counted(bad):
    batch = _batch()
    batch["label"] = tf.constant([bad, 0, 0, 0, 0, 0], tf.float32)
    training_model, _ = _trained(batch, steps=2)
    assert float(training_model.model.w) == 1.0
    assert int(training_model.nonfinite_steps) == 2
    assert int(training_model.first_nonfinite_step) == 0
    assert int(training_model.global_step) == 2
    assert int(training_model.optimizer.iterations) == 0


@pytest.mark.parametrize("parts", [1, 3])
def test_compiled_with_xla_it_is_the_same_update(parts):
    plain, _ = _trained(_batch())
    compiled, _ = _trained(_batch(), accumulate_steps=parts, jit_compile=True)
    assert float(compiled.model.w) == pytest.approx(float(plain.model.w), rel=1e-6)


def _single(gradient):
    """A batch for which the weight, 1, has this gradient: 2 (w - label)."""
    return {
        "input_word_ids": tf.constant([1.0]),
        "label": tf.constant([1.0 - gradient / 2]),
        "weight": tf.constant([1.0]),
        "input_mask": tf.constant([1]),
    }


def test_moments_are_those_of_the_gradient_without_its_scale():
    training_model, _ = _trained(
        _single(1.25), steps=1, optimizer=_scaled(_adamw(), 2.0**15, growth_steps=2000)
    )
    momentum, velocity = training_model.optimizer.inner_optimizer.moments(training_model.model.w)
    assert float(momentum) == pytest.approx(0.125)  # 0.1 of it
    assert float(velocity) == pytest.approx(0.001 * 1.25**2, rel=1e-4)


@pytest.mark.parametrize("max_grad_norm", [0.0, 0.5])
@pytest.mark.parametrize("kind", [AdamW, Lamb])
def test_changes_of_the_scale_change_nothing(kind, max_grad_norm):
    """A scale is a power of two: products with it round as those without."""
    results = []
    for optimizer in (_adamw(kind, 0.01), _scaled(_adamw(kind, 0.01), 2.0**15, growth_steps=20)):
        training_model, _ = _trained(
            _batch(), steps=50, optimizer=optimizer, max_grad_norm=max_grad_norm
        )
        inner = getattr(optimizer, "inner_optimizer", optimizer)
        variable = training_model.model.w
        results.append([float(v) for v in (variable, *inner.moments(variable))])
    assert float(optimizer.loss_scale) == 2.0**17
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)


def test_an_overflow_lowers_the_scale_and_is_no_fault_of_the_run():
    # 4 * 2**127 and 4 * 2**126 are above what float32 holds.
    optimizer = _scaled(_adamw(), 2.0**127, growth_steps=2000)
    training_model, _ = _trained(_single(4.0), steps=4, optimizer=optimizer, max_grad_norm=1.0)
    assert float(optimizer.loss_scale) == 2.0**125
    assert 0.8 < float(training_model.model.w) < 0.9  # Two steps of at most 0.1.
    assert int(training_model.nonfinite_steps) == 0
    assert int(optimizer.iterations) == 4  # The schedule goes on.


def test_a_gradient_that_is_not_finite_without_a_scale_is_counted():
    optimizer = _scaled(_adamw(), 1.0, growth_steps=2000)
    training_model, _ = _trained(_single(1e30), steps=2, optimizer=optimizer)
    assert float(training_model.model.w) == 1.0
    assert int(training_model.nonfinite_steps) == 2


_ON_TWO_REPLICAS = """
import json, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from official_bert.training.strategy import Devices, make_strategy
from tests.training.test_step import _adamw, _batch, _scaled, _trained
results = {}
for name in ("one_device", "mirrored"):
    strategy = make_strategy(Devices(name, 0, "CPUs"))
    with strategy.scope():
        model, history = _trained(_batch())
        accumulated, _ = _trained(_batch(8), accumulate_steps=2)
        scaled, _ = _trained(_batch(), optimizer=_scaled(_adamw(), 2.0**127, growth_steps=2))
    results[name] = {
        "replicas": strategy.num_replicas_in_sync,
        "w": float(model.model.w.numpy()), "accumulated": float(accumulated.model.w.numpy()),
        "scaled": float(scaled.model.w.numpy()),
        "loss": history["loss"][0], "gradient_norm": history["gradient_norm"][0],
    }
print(json.dumps(results))
"""


def test_two_replicas_give_the_update_of_one():
    # Of six examples, one replica has two that count and the other three: a mean of the replicas'
    # means would be another gradient.
    output = subprocess.run(
        [sys.executable, "-c", _ON_TWO_REPLICAS], cwd=ROOT, capture_output=True, text=True
    )
    assert output.returncode == 0, output.stderr[-2000:]
    results = json.loads(output.stdout.splitlines()[-1])
    one, two = results["one_device"], results["mirrored"]
    assert (one.pop("replicas"), two.pop("replicas")) == (1, 2)
    assert two == pytest.approx(one, rel=1e-5)
