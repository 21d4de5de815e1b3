import math

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from official.modeling.optimization.lamb import LAMB

from official_bert.errors import InputError
from official_bert.training.optimization import (
    AdamW,
    Lamb,
    PhasedSchedule,
    make_optimizer,
    warm_up_and_decay,
)


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.0), (5, 0.5), (10, 1.0), (55, 0.5), (100, 0.0), (120, 0.0)]
)
def test_schedule_is_linear_up_and_down(step, expected):
    schedule = warm_up_and_decay(1.0, warmup_steps=10, total_steps=100)
    assert float(schedule(step)) == pytest.approx(expected, abs=1e-6)


def test_schedule_is_continuous_at_the_hand_over():
    schedule = warm_up_and_decay(1.0, warmup_steps=50, total_steps=100)
    assert float(schedule(49)) == pytest.approx(0.98)
    assert float(schedule(50)) == pytest.approx(1.0)
    assert float(schedule(51)) == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("linear", [0.0, 1.0, 0.775, 0.55, 0.1]),
        ("polynomial", [0.0, 1.0, 0.1 + 0.9 * 0.75**3, 0.1 + 0.9 * 0.5**3, 0.1]),
        ("cosine", [0.0, 1.0, 0.1 + 0.45 * (1 + math.cos(math.pi / 4)), 0.55, 0.1]),
        ("constant", [0.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_schedules_follow_their_formula(schedule, rates):
    made = warm_up_and_decay(1.0, 10, 50, schedule=schedule, end_learning_rate=0.1, power=3.0)
    assert [float(made(step)) for step in (0, 10, 20, 30, 50)] == pytest.approx(rates, abs=1e-6)


def test_schedule_without_warm_up_starts_at_the_top():
    schedule = warm_up_and_decay(2.0, warmup_steps=0, total_steps=10)
    assert [float(schedule(t)) for t in (0, 5, 10)] == pytest.approx([2.0, 1.0, 0.0])


def _run(optimizer, steps=5):
    random = np.random.default_rng(0)
    kernel = tf.Variable(random.normal(size=(3, 4)).astype("float32"), name="layer/kernel")
    bias = tf.Variable(random.normal(size=(4,)).astype("float32"), name="layer/bias")
    for _ in range(steps):
        gradients = [tf.constant(random.normal(size=v.shape), tf.float32) for v in (kernel, bias)]
        optimizer.apply_gradients(zip(gradients, (kernel, bias), strict=True))
    return kernel.numpy(), bias.numpy()


def test_updates_equal_those_of_tf_keras():
    settings = {"learning_rate": 0.1, "weight_decay": 0.05, "epsilon": 1e-6, "jit_compile": False}
    ours, theirs = AdamW(**settings), tf_keras.optimizers.AdamW(**settings)
    for optimizer in (ours, theirs):
        optimizer.exclude_from_weight_decay(var_names=["bias"])
    for our, their in zip(_run(ours), _run(theirs), strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-6)


def test_without_bias_correction_the_first_step_is_that_of_google_research_bert():
    optimizer = AdamW(
        learning_rate=0.1, weight_decay=0.0, epsilon=1e-6, bias_correction=False, jit_compile=False
    )
    variable = tf.Variable([1.0])
    optimizer.apply_gradients([(tf.constant([0.5]), variable)])
    # m = 0.1 * 0.5, v = 0.001 * 0.25; the step is lr * m / (sqrt(v) + epsilon).
    expected = 1.0 - 0.1 * 0.05 / (np.sqrt(0.00025) + 1e-6)
    assert variable.numpy() == pytest.approx([expected], rel=1e-5)


def _made(kind, *, learning_rate, weight_decay):
    return make_optimizer(
        kind,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=True,
    )


def test_biases_and_layer_norms_do_not_decay():
    optimizer = _made("adamw", learning_rate=1.0, weight_decay=0.1)
    variables = [
        tf.Variable([1.0], name=name)
        for name in ("layer_0/kernel", "layer_0/bias", "layer_0/layer_norm/gamma")
    ]
    optimizer.apply_gradients([(tf.constant([0.0]), variable) for variable in variables])
    assert [float(v[0]) for v in variables] == pytest.approx([0.9, 1.0, 1.0])


def test_shares_of_the_rate_scale_update_and_decay():
    updates = {}
    for share in (1.0, 0.25):
        optimizer = AdamW(learning_rate=0.1, weight_decay=0.5, epsilon=1e-6, jit_compile=False)
        whole, part = (
            tf.Variable([1.0], name="whole/kernel"),
            tf.Variable([1.0], name="part/kernel"),
        )
        optimizer.set_rate_shares([(part, share)])
        optimizer.apply_gradients([(tf.constant([2.0]), whole), (tf.constant([2.0]), part)])
        updates[share] = (1.0 - float(whole[0]), 1.0 - float(part[0]))
    # Decay 0.1 * 0.5 and a first step of Adam of 0.1.
    assert updates[1.0] == pytest.approx((0.15, 0.15), rel=1e-4)
    assert updates[0.25] == pytest.approx((0.15, 0.0375), rel=1e-4)


def test_lamb_equals_that_of_the_model_garden():
    ours = Lamb(learning_rate=0.1, weight_decay=0.05, epsilon=1e-6, jit_compile=False)
    ours.exclude_from_weight_decay(var_names=["bias"])
    theirs = LAMB(learning_rate=0.1, weight_decay_rate=0.05, exclude_from_weight_decay=["bias"])
    for our, their in zip(_run(ours), _run(theirs), strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-6)


def test_the_first_step_of_lamb_is_as_long_as_the_variable():
    optimizer = _made("lamb", learning_rate=0.5, weight_decay=0.0)
    variable = tf.Variable([3.0, 4.0], name="layer/kernel")
    optimizer.apply_gradients([(tf.constant([7.0, 7.0]), variable)])
    # Adam's first step is the sign of the gradient, here (1, 1): 0.5 * 5 / sqrt(2) of it.
    moved = 2.5 / np.sqrt(2.0)
    assert variable.numpy() == pytest.approx([3.0 - moved, 4.0 - moved], rel=1e-5)


def test_a_phase_of_its_own_warms_up_again():
    schedule = PhasedSchedule(
        warm_up_and_decay(1.0, warmup_steps=2, total_steps=10),
        warm_up_and_decay(0.4, warmup_steps=2, total_steps=6),
        switch_step=10,
    )
    steps = (0, 2, 6, 9, 10, 11, 12, 14, 16)
    expected = [0.0, 1.0, 0.5, 0.125, 0.0, 0.2, 0.4, 0.2, 0.0]
    assert [float(schedule(tf.constant(t, tf.int64))) for t in steps] == pytest.approx(
        expected, abs=1e-6
    )


def test_an_optimizer_of_ones_own_is_a_subclass_of_adamw():
    rates = {"learning_rate": 1.0, "weight_decay": 0.0}
    assert type(_made("official_bert.training.optimization:Lamb", **rates)) is Lamb
    with pytest.raises(InputError, match="is no subclass of .*AdamW"):
        _made("official_bert.config:BertConfig", **rates)
