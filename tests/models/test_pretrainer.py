import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from official_bert import BertEncoder, BertPretrainer
from official_bert.errors import InputError
from tests.small_models import TINY, inputs


def test_outputs_and_head_variables():
    model = BertPretrainer(TINY)
    batch = {**inputs(6, 4), "masked_lm_positions": tf.constant([[1, 4, 0], [2, 0, 0]])}
    outputs = model(batch)
    assert outputs["mlm_logits"].shape == [2, 3, 50]
    assert outputs["next_sentence"].shape == [2, 2]
    assert {outputs[name].dtype for name in ("mlm_logits", "next_sentence")} == {tf.float32}
    encoder_outputs = model.encoder(inputs(6, 4))
    np.testing.assert_allclose(
        outputs["pooled_output"], encoder_outputs["pooled_output"], atol=1e-6
    )
    assert [variable.name for variable in model.variables[len(model.encoder.variables) :]] == [
        "bert_pretrainer/masked_lm/output_bias:0",
        "bert_pretrainer/masked_lm/transform/kernel:0",
        "bert_pretrainer/masked_lm/transform/bias:0",
        "bert_pretrainer/masked_lm/layer_norm/gamma:0",
        "bert_pretrainer/masked_lm/layer_norm/beta:0",
        "bert_pretrainer/next_sentence/kernel:0",
        "bert_pretrainer/next_sentence/bias:0",
    ]


def test_logits_are_those_of_the_masked_positions():
    model = BertPretrainer(TINY)
    batch = inputs(6, 4)
    several = model({**batch, "masked_lm_positions": tf.constant([[1, 4, 0], [2, 3, 2]])})
    for row, positions in enumerate([[1, 4, 0], [2, 3, 2]]):
        for place, position in enumerate(positions):
            single = {key: value[row : row + 1] for key, value in batch.items()}
            one = model({**single, "masked_lm_positions": tf.constant([[position]])})
            np.testing.assert_allclose(
                several["mlm_logits"][row, place], one["mlm_logits"][0, 0], atol=3e-6
            )


def test_the_output_matrix_is_tied_to_the_word_embeddings():
    model = BertPretrainer(TINY)
    batch = {**inputs(6), "masked_lm_positions": tf.constant([[1, 4]])}
    before = model(batch)["mlm_logits"].numpy()
    unused = next(i for i in range(50) if i not in set(batch["input_word_ids"].numpy().ravel()))
    table = model.encoder.embeddings.word_embeddings
    table.assign(tf.tensor_scatter_nd_add(table, [[unused]], tf.random.normal([1, 16])))
    change = model(batch)["mlm_logits"].numpy() - before
    assert np.abs(change[0, :, unused]).min() > 1e-4
    np.testing.assert_allclose(np.delete(change, unused, axis=-1), 0.0, atol=1e-6)


def test_packed_rows_have_a_next_sentence_answer_for_each_sequence():
    model = BertPretrainer(TINY)
    first, second = inputs(5, seed=1), inputs(3, seed=2)
    packed = {key: tf.concat([first[key], second[key]], axis=1) for key in first}
    packed |= {
        "position_ids": tf.constant([[0, 1, 2, 3, 4, 0, 1, 2]]),
        "pack_ids": tf.constant([[1, 1, 1, 1, 1, 2, 2, 2]]),
        "cls_positions": tf.constant([[0, 5]]),
        "masked_lm_positions": tf.constant([[1, 6]]),
    }
    outputs = model(packed)
    assert outputs["next_sentence"].shape == [1, 2, 2]
    alone = model({**second, "masked_lm_positions": tf.constant([[1]])})
    np.testing.assert_allclose(outputs["next_sentence"][0, 1], alone["next_sentence"][0], atol=2e-6)
    np.testing.assert_allclose(outputs["mlm_logits"][0, 1], alone["mlm_logits"][0, 0], atol=5e-6)


def test_fit_lowers_the_loss_and_moves_every_variable():
    tf_keras.utils.set_random_seed(1)
    model = BertPretrainer(TINY.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    before = [variable.numpy() for variable in model.trainable_variables]
    features = {**inputs(6, 4, 5, 6), "masked_lm_positions": tf.constant([[1, 2]] * 4)}
    labels = {"mlm_logits": tf.constant([[7, 8]] * 4), "next_sentence": tf.constant([0, 1, 0, 1])}
    loss = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    class Trained(tf_keras.Model):
        def __init__(self):
            super().__init__()
            self.pretrainer = model

        def call(self, inputs, training=None):
            outputs = self.pretrainer(inputs, training=training)
            return {name: outputs[name] for name in labels}

    trained = Trained()
    trained.compile("adam", loss=dict.fromkeys(labels, loss))
    history = trained.fit(
        tf.data.Dataset.from_tensors((features, labels)).repeat(30), epochs=2, verbose=0
    )
    assert history.history["loss"][1] < 0.7 * history.history["loss"][0]
    for old, variable in zip(before, model.trainable_variables, strict=True):
        assert np.abs(old - variable.numpy()).max() > 0, variable.name


def test_without_pooler_there_is_no_next_sentence():
    model = BertPretrainer(BertEncoder(TINY.replace(use_pooler=False)))
    outputs = model({**inputs(4), "masked_lm_positions": tf.constant([[1]])})
    assert "next_sentence" not in outputs
    assert outputs["mlm_logits"].shape == [1, 1, 50]


def test_factorised_embeddings_have_a_narrow_transform():
    model = BertPretrainer(TINY.replace(embedding_size=8))
    assert model.masked_lm.transform.kernel.shape == [16, 8]
    outputs = model({**inputs(4), "masked_lm_positions": tf.constant([[1, 2]])})
    assert outputs["mlm_logits"].shape == [1, 2, 50]


def test_missing_positions_are_an_error():
    with pytest.raises(InputError, match="missing model input masked_lm_positions"):
        BertPretrainer(TINY)(inputs(4))


@pytest.mark.parametrize("form", ["model", "model.keras"])
def test_saved_before_the_first_call_and_loaded(tmp_path, form):
    model = BertPretrainer(TINY)
    model.save(tmp_path / form)
    loaded = tf_keras.models.load_model(tmp_path / form)
    batch = {**inputs(5, 2), "masked_lm_positions": tf.constant([[1, 2], [1, 0]])}
    for name in ("mlm_logits", "next_sentence"):
        np.testing.assert_allclose(loaded(batch)[name], model(batch)[name], atol=3e-6)
