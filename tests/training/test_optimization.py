import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from official_bert.training.optimization import AdamW, learning_rate_schedule, make_optimizer


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 0.0), (5, 0.5), (10, 1.0), (55, 0.5), (100, 0.0), (120, 0.0)]
)
def test_schedule_is_linear_up_and_down(step, expected):
    schedule = learning_rate_schedule(1.0, warmup_steps=10, total_steps=100)
    assert float(schedule(step)) == pytest.approx(expected, abs=1e-6)


def test_schedule_is_continuous_at_the_hand_over():
    schedule = learning_rate_schedule(1.0, warmup_steps=50, total_steps=100)
    assert float(schedule(49)) == pytest.approx(0.98)
    assert float(schedule(50)) == pytest.approx(1.0)
    assert float(schedule(51)) == pytest.approx(0.98)


def test_schedule_without_warm_up_starts_at_the_top():
    schedule = learning_rate_schedule(2.0, warmup_steps=0, total_steps=10)
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


def test_biases_and_layer_norms_do_not_decay():
    optimizer = make_optimizer(
        learning_rate=1.0,
        warmup_steps=0,
        total_steps=10,
        weight_decay=0.1,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=True,
    )
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
