"""The BiLSTM over frozen states: what is trained, and that padding changes nothing."""

import numpy as np
import pytest
import tensorflow as tf

from official_bert.checkpoints import official
from official_bert.checkpoints.load import load_pretrained
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.models.feature_tagger import BertFeatureTagger
from official_bert.models.states import all_states, chosen_states

CONFIG = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=4,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=16,
)


def _inputs(rows):
    ids = np.array(rows, np.int32)
    mask = (ids > 0).astype(np.int32)
    return {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}


INPUTS = _inputs([[2, 7, 8, 3, 0, 0], [2, 5, 6, 7, 8, 3]])


@pytest.mark.parametrize(
    ("features", "width"),
    [("embeddings", 16), ("-2", 16), ("sum_last_four", 16), ("sum_all", 16)]
    + [("concat_last_four", 64)],
)
def test_sizes_and_what_is_trained(features, width):
    model = BertFeatureTagger(CONFIG, 3, features=features, lstm_size=8)
    assert model(INPUTS).shape == [2, 6, 3]
    assert model.lstms[0].forward_layer.cell.kernel.shape == [width, 32]
    assert model.lstms[1].forward_layer.cell.kernel.shape == [16, 32]
    trained = {variable.ref() for variable in model.trainable_variables}
    assert not trained & {variable.ref() for variable in model.encoder.variables}
    assert len(trained) == 2 * 6 + 2 + ("sum" in features)


def test_sums_are_weighted_and_begin_as_plain_ones():
    model = BertFeatureTagger(CONFIG, 3, features="sum_last_four", lstm_size=8, dropout=0.0)
    states = all_states(model.encoder, INPUTS)
    mask = INPUTS["input_mask"] > 0

    def expected(features):
        for lstm in model.lstms:
            features = lstm(features, mask=mask)
        return model.classifier(features)

    summed = chosen_states(states, "sum_last_four")
    np.testing.assert_allclose(model(INPUTS), expected(summed), atol=1e-5)
    model.layer_weights.assign([2.0, 0.0, 0.0, -1.0])  # Of the last layer first.
    np.testing.assert_allclose(model(INPUTS), expected(2 * states[4] - states[1]), atol=1e-5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(INPUTS, training=True) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)


def test_padding_and_dropout_of_the_encoder_change_nothing():
    model = BertFeatureTagger(CONFIG, 3, lstm_size=8, dropout=0.0)
    alone = model(_inputs([[2, 7, 8, 3]]))
    np.testing.assert_allclose(model(INPUTS)[0, :4], alone[0], atol=1e-6)
    np.testing.assert_allclose(model(INPUTS, training=True), model(INPUTS), atol=1e-6)


def test_it_is_no_checkpoint_for_others(tmp_path):
    model = BertFeatureTagger(CONFIG, 3, features="-1", lstm_size=8, lstm_layers=1)
    official.write(tmp_path, model)
    with pytest.raises(InputError, match="holds a tagger on frozen features: official_bert.eval"):
        load_pretrained(tmp_path)


def test_config_and_mistakes():
    model = BertFeatureTagger(CONFIG, 3, features="-1", lstm_size=8, lstm_layers=1)
    again = BertFeatureTagger.from_config(model.get_config())
    assert again.get_config() == model.get_config()
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(INPUTS), model(INPUTS))
    with pytest.raises(InputError, match="layer 4 is not there: the encoder has 4"):
        BertFeatureTagger(CONFIG, 3, features="4")
