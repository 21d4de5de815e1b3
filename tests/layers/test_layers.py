"""One harness for every layer: build, call, gradient, save and load, config, precision, XLA."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from official_bert.layers.attention import SelfAttention, attention_bias
from official_bert.layers.dense import Dense
from official_bert.layers.dropout import Dropout
from official_bert.layers.embeddings import Embeddings
from official_bert.layers.heads import MaskedLMHead
from official_bert.layers.normalization import LayerNorm
from official_bert.layers.transformer import TransformerLayer

STATES = tf.random.stateless_normal([2, 5, 8], [1, 2])
IDS = tf.constant([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
MASK = tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
BIAS = attention_bias(MASK)
TABLE = tf.random.stateless_normal([20, 6], [3, 4])

# Layer, what it is called on beside `training`, shape of the output, number of its variables.
LAYERS = {
    "dense": (lambda: Dense(7, "gelu_tanh"), (STATES,), [2, 5, 7], 2),
    "layer_norm": (lambda: LayerNorm(1e-6), (STATES,), [2, 5, 8], 2),
    "dropout": (lambda: Dropout(0.3), (STATES,), [2, 5, 8], 0),
    "embeddings": (
        lambda: Embeddings(20, 8, 8, max_positions=6),
        (IDS, MASK),
        [2, 5, 8],
        5,
    ),
    "factorised_embeddings": (
        lambda: Embeddings(20, 4, 8, max_positions=6, type_vocab_size=3),
        (IDS, MASK, IDS % 6),
        [2, 5, 8],
        7,
    ),
    "attention": (lambda: SelfAttention(2, 0.2, 0.3), (STATES, BIAS), [2, 5, 8], 8),
    "transformer": (
        lambda: TransformerLayer(2, 16, "relu", initializer_range=0.3),
        (STATES, BIAS),
        [2, 5, 8],
        16,
    ),
    "masked_lm": (lambda: MaskedLMHead(20, 6), (STATES, TABLE), [2, 5, 20], 5),
}
WITH_TRAINING = ("dropout", "embeddings", "factorised_embeddings", "attention", "transformer")


def call(kind, layer, training=False):
    _, arguments, _, _ = LAYERS[kind]
    further = {"training": training} if kind in WITH_TRAINING else {}
    return layer(*arguments, **further)


@pytest.fixture
def policy(request):
    before = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy(request.param)
    yield request.param
    tf_keras.mixed_precision.set_global_policy(before)


@pytest.mark.parametrize("kind", LAYERS)
def test_build_and_call(kind):
    make, _, shape, variables = LAYERS[kind]
    layer = make()
    output = call(kind, layer)
    assert (output.shape, output.dtype) == (shape, tf.float32)
    assert len(layer.trainable_variables) == len(layer.variables) == variables
    np.testing.assert_array_equal(call(kind, layer), output)
    if kind in WITH_TRAINING:
        assert np.abs(call(kind, layer, training=True) - output).max() > 1e-3


@pytest.mark.parametrize("kind", LAYERS)
def test_every_variable_has_a_gradient(kind):
    layer = LAYERS[kind][0]()
    call(kind, layer)
    if kind == "attention":
        # With zero query biases the gradient of the key bias is 0 anyway: softmax ignores it.
        layer.query.bias.assign(tf.ones([8]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(
            call(kind, layer) * tf.random.stateless_normal(LAYERS[kind][2], [5, 6])
        )
    for variable, gradient in zip(
        layer.trainable_variables, tape.gradient(loss, layer.trainable_variables), strict=True
    ):
        gradient = tf.convert_to_tensor(gradient)
        assert gradient.shape == variable.shape
        # A bias of the keys adds the same to all scores of a query, which softmax takes out again.
        assert "key/bias" in variable.name or np.abs(gradient).max() > 1e-6, variable.name


@pytest.mark.parametrize("kind", LAYERS)
def test_config_round_trip_makes_the_same_layer(kind):
    layer = LAYERS[kind][0]()
    output = call(kind, layer)
    again = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config()
    call(kind, again)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(call(kind, again), output)
    assert [v.name for v in again.variables] == [v.name for v in layer.variables]


@pytest.mark.parametrize("kind", LAYERS)
def test_a_checkpoint_restores_it(kind, tmp_path):
    layer, other = LAYERS[kind][0](), LAYERS[kind][0]()
    output = call(kind, layer)
    path = tf.train.Checkpoint(layer=layer).write(str(tmp_path / "ckpt"))
    call(kind, other)
    tf.train.Checkpoint(layer=other).read(path).assert_consumed()
    np.testing.assert_array_equal(call(kind, other), output)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"], indirect=True)
@pytest.mark.parametrize("kind", LAYERS)
def test_mixed_precision(kind, policy):
    single = LAYERS[kind][0]().__class__.from_config(
        {**LAYERS[kind][0]().get_config(), "dtype": "float32"}
    )
    expected = call(kind, single)
    layer = LAYERS[kind][0]()
    call(kind, layer)
    layer.set_weights(single.get_weights())
    with tf.GradientTape() as tape:
        output = call(kind, layer)
        loss = tf.reduce_sum(tf.cast(output, tf.float32) ** 2)
    half = tf.bfloat16 if policy == "mixed_bfloat16" else tf.float16
    # The logits of the masked LM are float32 in any case.
    assert output.dtype == (tf.float32 if kind == "masked_lm" else half)
    tolerance = 0.04 if half == tf.bfloat16 else 0.005
    np.testing.assert_allclose(
        tf.cast(output, tf.float32), expected, atol=tolerance * np.abs(expected).max()
    )
    for variable in layer.variables:
        assert variable.dtype == tf.float32
    for gradient in tape.gradient(loss, layer.trainable_variables):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


@pytest.mark.parametrize("kind", LAYERS)
def test_xla_gives_the_same(kind):
    layer = LAYERS[kind][0]()
    weights = tf.random.stateless_normal(call(kind, layer).shape, [5, 6])

    def value_and_gradients():
        with tf.GradientTape() as tape:
            output = call(kind, layer)
            loss = tf.reduce_sum(output * weights)
        gradients = tape.gradient(loss, layer.trainable_variables)
        return output, [tf.convert_to_tensor(gradient) for gradient in gradients]

    compiled = tf.function(value_and_gradients, jit_compile=True)()
    for a, b in zip(tf.nest.flatten(compiled), tf.nest.flatten(value_and_gradients()), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * max(1.0, np.abs(b).max()))
    if kind in WITH_TRAINING:
        noisy = tf.function(lambda: call(kind, layer, training=True), jit_compile=True)()
        assert np.isfinite(noisy).all()


def test_in_a_functional_model_saved_and_loaded(tmp_path):
    """The layers in a functional model; the gradients written by hand outlive a SavedModel."""
    ids = tf_keras.Input([None], dtype=tf.int32)
    bias = tf.zeros([1, 1, 1, 1])
    quiet = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.3}
    states = Embeddings(20, 4, 8, max_positions=6, dropout=0.0)(ids, tf.zeros_like(ids))
    states = TransformerLayer(2, 16, "gelu", **quiet)(states, bias)
    states = TransformerLayer(2, 16, "gelu_tanh", **quiet)(states, bias)
    model = tf_keras.Model(ids, states)
    model.save(tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    # Twice: a gradient function that is looked up by name must be there the second time too.
    for _ in range(2):
        gradients = []
        for called in (model, loaded):
            with tf.GradientTape() as tape:
                output = called(IDS, training=True)
                loss = tf.reduce_sum(output * STATES)
            variables = {variable.name: variable for variable in called.variables}
            found = tape.gradient(loss, variables)
            gradients.append({k: tf.convert_to_tensor(v).numpy() for k, v in found.items()})
        assert gradients[0].keys() == gradients[1].keys()
        for name, gradient in gradients[0].items():
            np.testing.assert_allclose(gradients[1][name], gradient, rtol=1e-5, atol=1e-5)


def test_first_values_are_cut_at_two_deviations_or_not():
    # 4.55 % of a normal distribution lie beyond two deviations.
    for truncated, expected in ((True, 0.0), (False, 0.0455)):
        layer = Dense(400, initializer_range=0.02, truncated=truncated)
        layer.build([None, 500])
        beyond = np.mean(np.abs(layer.kernel.numpy()) > 0.04)
        assert beyond == pytest.approx(expected, abs=0.004)
