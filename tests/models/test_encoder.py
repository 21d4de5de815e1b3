import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.framework import op_callbacks

from official_bert import BertEncoder
from official_bert.errors import InputError
from tests.small_models import TINY, inputs


def test_shapes_names_and_order_of_the_variables():
    encoder = BertEncoder(TINY.replace(num_hidden_layers=1))
    assert [variable.name for variable in encoder.trainable_variables] == [
        "bert_encoder/embeddings/word_embeddings:0",
        "bert_encoder/embeddings/position_embeddings:0",
        "bert_encoder/embeddings/type_embeddings:0",
        "bert_encoder/embeddings/layer_norm/gamma:0",
        "bert_encoder/embeddings/layer_norm/beta:0",
        *(
            f"bert_encoder/layer_0/attention/{part}/{variable}:0"
            for part in ("query", "key", "value", "output")
            for variable in ("kernel", "bias")
        ),
        "bert_encoder/layer_0/attention_layer_norm/gamma:0",
        "bert_encoder/layer_0/attention_layer_norm/beta:0",
        "bert_encoder/layer_0/intermediate/kernel:0",
        "bert_encoder/layer_0/intermediate/bias:0",
        "bert_encoder/layer_0/output/kernel:0",
        "bert_encoder/layer_0/output/bias:0",
        "bert_encoder/layer_0/output_layer_norm/gamma:0",
        "bert_encoder/layer_0/output_layer_norm/beta:0",
        "bert_encoder/pooler/kernel:0",
        "bert_encoder/pooler/bias:0",
    ]
    outputs = encoder(inputs(5, 3))
    assert outputs["sequence_output"].shape == [2, 5, 16]
    assert outputs["pooled_output"].shape == [2, 16]
    assert [states.shape for states in outputs["encoder_outputs"]] == [[2, 5, 16]]


def test_initial_values_are_truncated_normal_and_differ_between_variables():
    encoder = BertEncoder(TINY.replace(initializer_range=0.02, vocab_size=2000, hidden_size=128))
    words = encoder.embeddings.word_embeddings.numpy()
    # Cut at two standard deviations, which leaves 0.88 of the standard deviation.
    assert np.abs(words).max() <= 0.04
    assert abs(words.std() - 0.0176) < 0.0002
    attention = encoder.transformer_layers[0].attention
    assert not np.allclose(attention.query.kernel, attention.key.kernel)
    assert not np.allclose(
        attention.query.kernel[0], encoder.transformer_layers[1].attention.query.kernel[0]
    )
    np.testing.assert_array_equal(attention.query.bias, np.zeros(128))


def test_padding_changes_nothing_and_a_wholly_masked_row_is_finite():
    encoder = BertEncoder(TINY)
    batch = inputs(7, 4, 1, width=7)
    together = encoder(batch)["sequence_output"].numpy()
    alone = encoder({key: value[1:2, :4] for key, value in batch.items()})["sequence_output"]
    np.testing.assert_allclose(together[1, :4], alone[0], atol=2e-6)
    batch["input_mask"] = tf.zeros_like(batch["input_mask"])
    assert np.isfinite(encoder(batch)["sequence_output"]).all()


def test_a_packed_row_equals_its_sequences_one_by_one():
    encoder = BertEncoder(TINY)
    first, second = inputs(5, seed=1), inputs(3, seed=2)
    packed = {
        key: tf.concat([first[key], second[key], tf.zeros([1, 2], tf.int32)], axis=1)
        for key in first
    }
    packed["position_ids"] = tf.constant([[0, 1, 2, 3, 4, 0, 1, 2, 0, 0]])
    packed["pack_ids"] = tf.constant([[1, 1, 1, 1, 1, 2, 2, 2, 0, 0]])
    states = encoder(packed)["sequence_output"]
    np.testing.assert_allclose(states[:, :5], encoder(first)["sequence_output"], atol=2e-6)
    np.testing.assert_allclose(states[:, 5:8], encoder(second)["sequence_output"], atol=2e-6)
    np.testing.assert_allclose(
        encoder.pooled(packed, tf.constant([[0, 5]]))[0, 1],
        encoder(second)["pooled_output"][0],
        atol=2e-6,
    )


@pytest.mark.parametrize(
    "changes", [{}, {"attention": "causal"}, {"bilstm": True}, {"share_layers": True}]
)
def test_states_at_positions_are_those_of_the_whole_output(changes):
    encoder = BertEncoder(TINY.replace(**changes))
    batch = inputs(6, 4, width=6)
    positions = tf.constant([[5, 0, 2], [1, 1, 3]])
    outputs = encoder(batch, positions=positions)
    expected = tf.gather(outputs["sequence_output"], positions, batch_dims=1)
    np.testing.assert_allclose(outputs["states_at_positions"], expected, atol=2e-6)
    np.testing.assert_allclose(encoder.states_at(batch, positions), expected, atol=2e-6)
    in_graph = tf.function(lambda: encoder(batch, positions=positions)["states_at_positions"])
    np.testing.assert_allclose(in_graph(), expected, atol=2e-6)
    np.testing.assert_allclose(encoder.pooled(batch), outputs["pooled_output"], atol=2e-6)


def test_gradients_are_those_of_the_whole_output():
    config = TINY.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    encoder = BertEncoder(config)
    batch = inputs(6, 4, width=6)
    gradients = []
    for pooled in (encoder.pooled, lambda batch, training: encoder(batch)["pooled_output"]):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(pooled(batch, training=True)[:, :3]))
        gradients.append(tape.gradient(loss, encoder.trainable_variables))
    for short, whole in zip(*gradients, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(short), tf.convert_to_tensor(whole), atol=1e-5
        )


def _products_eagerly(run) -> list[list[int]]:
    """The shapes of what the matrix products of a call give, in order."""
    shapes = []

    def note(op_type, inputs, attributes, outputs, *_):
        if op_type == "MatMul":
            shapes.append(outputs[0].shape.as_list())

    op_callbacks.add_op_callback(note)
    try:
        run()
    finally:
        op_callbacks.remove_op_callback(note)
    return shapes


def test_the_pooled_output_alone_needs_no_other_state_of_the_last_layer():
    """No product of the graph is left to TensorFlow to prune, nor computed eagerly."""
    encoder = BertEncoder(TINY)
    batch = inputs(6, 4)  # B 2, S 6
    function = tf.function(encoder.pooled, autograph=False)
    graph = function.get_concrete_function(batch).graph
    products = [op.name for op in graph.get_operations() if op.type == "MatMul"]
    assert len(products) == 2 * 6 + 1  # six of each layer, once, and the pooler's
    whole = [[12, 16]] * 4 + [[12, 32], [12, 16]]
    # Keys and values are those of all tokens, the rest is that of [CLS].
    last = [[2, 16], [12, 16], [12, 16], [2, 16], [2, 32], [2, 16]]
    assert _products_eagerly(lambda: encoder.pooled(batch)) == [*whole, *last, [2, 16]]


def test_states_at_positions_beside_the_rest_cost_no_second_layer_eagerly():
    encoder = BertEncoder(TINY)
    batch = inputs(6, 4)
    positions = tf.constant([[5, 0, 2], [1, 1, 3]])
    shapes = _products_eagerly(lambda: encoder(batch, positions=positions))
    assert shapes == 2 * [*[[12, 16]] * 4, [12, 32], [12, 16]] + [[2, 16]]


def test_causal_attention_sees_nothing_to_the_right():
    encoder = BertEncoder(TINY.replace(attention="causal"))
    batch = inputs(8)
    changed = dict(batch)
    changed["input_word_ids"] = batch["input_word_ids"] + tf.constant([[0, 0, 0, 0, 0, 1, 1, 1]])
    before, after = (encoder(given)["sequence_output"].numpy() for given in (batch, changed))
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert np.abs(before[:, 5:] - after[:, 5:]).min(axis=-1).max() > 1e-3


def test_a_causal_encoder_is_pooled_at_its_last_token():
    """What [CLS] has seen is [CLS]: pooled there, all texts would be alike."""
    encoder = BertEncoder(TINY.replace(attention="causal"))
    batch = inputs(6, 4, width=6)
    outputs = encoder(batch)
    for row, last in ((0, 5), (1, 3)):
        expected = encoder.pooler(outputs["sequence_output"][row : row + 1, last])
        np.testing.assert_allclose(outputs["pooled_output"][row], expected[0], atol=1e-6)
    alone = encoder({key: value[1:, :4] for key, value in batch.items()})
    np.testing.assert_allclose(outputs["pooled_output"][1:], alone["pooled_output"], atol=2e-6)
    batch["input_word_ids"] += tf.constant([[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1]])
    moved = np.abs(encoder(batch)["pooled_output"] - outputs["pooled_output"]).max(axis=1)
    assert moved[0] > 1e-2 and moved[1] == 0.0  # the last token of row 0; padding of row 1


def test_packed_sequences_of_a_causal_encoder_have_no_pooled_output():
    encoder = BertEncoder(TINY.replace(attention="causal"))
    with pytest.raises(InputError, match="packed rows have no pooled output where attention is ca"):
        encoder.pooled(inputs(8), tf.constant([[0, 5]]))


def _lstm(states, cell):
    """By hand: [S, H] -> [S, U], with Keras's order of the gates."""
    hidden = carry = np.zeros(cell.units, np.float32)
    outputs = []
    for state in states:
        gates = state @ cell.kernel.numpy() + hidden @ cell.recurrent_kernel.numpy()
        i, f, c, o = np.split(gates + cell.bias.numpy(), 4)
        carry = _sigmoid(f) * carry + _sigmoid(i) * np.tanh(c)
        hidden = _sigmoid(o) * np.tanh(carry)
        outputs.append(hidden)
    return np.array(outputs)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("attention", ["bidirectional", "causal"])
def test_a_bilstm_reads_the_last_layer_without_its_padding(attention):
    encoder = BertEncoder(TINY.replace(attention=attention, bilstm=True))
    outputs = encoder(inputs(6, 4, width=6))
    assert len(outputs["encoder_outputs"]) == 2
    last = outputs["encoder_outputs"][-1][1, :4].numpy()  # the row with padding
    lstm = encoder.bilstm
    expected = np.concatenate(
        [_lstm(last, lstm.forward_layer.cell), _lstm(last[::-1], lstm.backward_layer.cell)[::-1]],
        axis=1,
    )
    assert expected.shape == (4, 16)
    np.testing.assert_allclose(outputs["sequence_output"][1, :4], expected, atol=1e-5)
    pooled = encoder.pooler(expected[:1])
    np.testing.assert_allclose(outputs["pooled_output"][1], pooled[0], atol=1e-5)


def test_a_bilstm_changes_nothing_below_it_and_refuses_packed_rows():
    plain, topped = BertEncoder(TINY), BertEncoder(TINY.replace(bilstm=True))
    for ours, theirs in zip(
        topped.transformer_layers + [topped.embeddings],
        plain.transformer_layers + [plain.embeddings],
        strict=True,
    ):
        ours.set_weights(theirs.get_weights())
    batch = inputs(6, 4)
    for ours, theirs in zip(
        topped(batch)["encoder_outputs"], plain(batch)["encoder_outputs"], strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    ones = tf.ones_like(batch["input_mask"])
    with pytest.raises(InputError, match="packed rows: a BiLSTM reads from one sequence into the"):
        topped({**batch, "pack_ids": ones, "position_ids": ones})


def test_factorised_embeddings_and_shared_layers():
    encoder = BertEncoder(TINY.replace(embedding_size=4, share_layers=True, use_pooler=False))
    assert encoder.embeddings.word_embeddings.shape == [50, 4]
    assert encoder.embeddings.projection.kernel.shape == [4, 16]
    assert len(encoder.transformer_layers) == 1
    outputs = encoder(inputs(4))
    assert set(outputs) == {"sequence_output", "encoder_outputs"}
    once, twice = outputs["encoder_outputs"]
    bias = tf.zeros([1, 1, 1, 4])
    np.testing.assert_allclose(encoder.transformer_layers[0](once, bias), twice, atol=1e-6)


def test_dropout_only_in_training():
    encoder = BertEncoder(TINY)
    batch = inputs(6)
    still = encoder(batch)["sequence_output"]
    np.testing.assert_array_equal(still, encoder(batch, training=False)["sequence_output"])
    assert np.abs(encoder(batch, training=True)["sequence_output"] - still).max() > 0.1


def test_a_checkpoint_restores_a_new_model_without_a_call(tmp_path):
    encoder, other = BertEncoder(TINY), BertEncoder(TINY)
    path = tf.train.Checkpoint(model=encoder).write(str(tmp_path / "ckpt"))
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    for ours, theirs in zip(encoder.variables, other.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    names = {
        name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")
        for name, _ in tf.train.list_variables(path)
    }
    assert "model/transformer_layers/1/attention/query/kernel" in names
    assert len(names) == len(encoder.variables) + 1  # the object graph


@pytest.mark.parametrize("form", ["model", "model.keras"])
def test_saved_before_the_first_call_and_loaded(tmp_path, form):
    encoder = BertEncoder(TINY)
    encoder.save(tmp_path / form)
    loaded = tf_keras.models.load_model(tmp_path / form)
    batch = inputs(5, 2)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(loaded(batch)[name], encoder(batch)[name], atol=1e-6)


def test_config_round_trip():
    encoder = BertEncoder(TINY, name="reader")
    again = BertEncoder.from_config(encoder.get_config())
    assert again.config == TINY
    assert again.variables[0].name == "reader/embeddings/word_embeddings:0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input_mask": None}, "missing model input input_mask; given: input_mask, input_type_ids"),
        ({"segment_ids": tf.zeros([1, 4], tf.int32)}, "unknown model input segment_ids; known: "),
        (
            {"input_word_ids": tf.zeros([4], tf.int32)},
            r"input_word_ids must have 2 axes, got shape \(4,",
        ),
        ({"pack_ids": tf.zeros([1, 4], tf.int32)}, "pack_ids needs position_ids"),
    ],
)
def test_wrong_inputs(change, message):
    with pytest.raises(InputError, match=message):
        BertEncoder(TINY)({**inputs(4), **change})


def test_too_long_a_sequence_and_no_dict():
    encoder = BertEncoder(TINY)
    with pytest.raises(InputError, match="sequence length of 25, above max_position_embeddings 24"):
        encoder(inputs(25))
    with pytest.raises(InputError, match="called on a dict with the keys input_word_ids, "):
        encoder(tf.zeros([1, 4], tf.int32))
