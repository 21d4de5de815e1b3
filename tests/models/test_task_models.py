"""The four task heads: shapes, closed forms from the encoder's outputs, training, saving."""

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from official_bert import (
    BertClassifier,
    BertEncoder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
)
from official_bert.errors import InputError
from tests.small_models import TINY, inputs


def _stacked(choices):
    rows = [inputs(6, 4, width=6, seed=choice) for choice in range(choices)]
    return {key: tf.stack([row[key] for row in rows], axis=1) for key in rows[0]}


MODELS = {
    "classifier": (lambda: BertClassifier(TINY, num_classes=3), lambda: inputs(6, 4), [2, 3]),
    "span_labeler": (lambda: BertSpanLabeler(TINY), lambda: inputs(6, 4), [2, 6]),
    "token_classifier": (
        lambda: BertTokenClassifier(TINY, num_classes=5),
        lambda: inputs(6, 4),
        [2, 6, 5],
    ),
    "multiple_choice": (lambda: BertMultipleChoice(TINY), lambda: _stacked(4), [2, 4]),
}


@pytest.mark.parametrize("kind", MODELS)
def test_shape_type_config_and_training_mode(kind):
    make, batch, shape = MODELS[kind]
    model = make()
    outputs = model(batch())
    for logits in tf.nest.flatten(outputs):
        assert (logits.shape, logits.dtype) == (shape, tf.float32)
    again = type(model).from_config(model.get_config())
    assert again.get_config() == model.get_config()
    again.set_weights(model.get_weights())
    tf.nest.map_structure(np.testing.assert_array_equal, again(batch()), outputs)
    noisy = tf.nest.flatten(model(batch(), training=True))[0]
    assert np.abs(noisy - tf.nest.flatten(outputs)[0]).max() > 1e-3


# The two with inputs or outputs of their own form; a SavedModel takes seconds to write.
@pytest.mark.parametrize("kind", ["span_labeler", "multiple_choice"])
def test_saved_before_the_first_call_and_loaded(kind, tmp_path):
    make, batch, _ = MODELS[kind]
    model = make()
    model.save(tmp_path / "model")
    loaded = tf_keras.models.load_model(tmp_path / "model")
    for ours, theirs in zip(
        tf.nest.flatten(model(batch())), tf.nest.flatten(loaded(batch())), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_heads_are_products_with_the_encoders_outputs():
    encoder = BertEncoder(TINY)
    outputs = encoder(inputs(6, 4))
    classifier = BertClassifier(encoder, num_classes=3)
    kernel, bias = classifier.classifier.kernel, classifier.classifier.bias
    bias.assign([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        classifier(inputs(6, 4)), outputs["pooled_output"] @ kernel + bias, atol=2e-6
    )
    span = BertSpanLabeler(encoder)
    start, end = span(inputs(6, 4))
    expected = np.einsum("bsh,hk->kbs", outputs["sequence_output"], span.span.kernel)
    np.testing.assert_allclose([start, end], expected, atol=2e-6)
    choice = BertMultipleChoice(encoder)
    scores = choice({key: value[None] for key, value in inputs(6, 4).items()})
    np.testing.assert_allclose(
        scores[0], (outputs["pooled_output"] @ choice.classifier.kernel)[:, 0], atol=2e-6
    )


def test_the_variables_of_a_head_have_its_name():
    model = BertTokenClassifier(TINY, num_classes=5, name="tagger")
    assert [variable.name for variable in model.variables[-2:]] == [
        "tagger/classifier/kernel:0",
        "tagger/classifier/bias:0",
    ]


def test_a_packed_row_has_logits_for_each_sequence():
    model = BertClassifier(TINY, num_classes=3)
    first, second = inputs(5, seed=1), inputs(3, seed=2)
    packed = {key: tf.concat([first[key], second[key]], axis=1) for key in first}
    packed |= {
        "position_ids": tf.constant([[0, 1, 2, 3, 4, 0, 1, 2]]),
        "pack_ids": tf.constant([[1, 1, 1, 1, 1, 2, 2, 2]]),
        "cls_positions": tf.constant([[0, 5]]),
    }
    logits = model(packed)
    assert logits.shape == [1, 2, 3]
    np.testing.assert_allclose(logits[0, 0], model(first)[0], atol=2e-6)
    np.testing.assert_allclose(logits[0, 1], model(second)[0], atol=2e-6)


def test_a_dropout_of_the_head_alone():
    quiet = TINY.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertClassifier(quiet, num_classes=3, dropout=0.5)
    still = model(inputs(6, 4))
    assert np.abs(model(inputs(6, 4), training=True) - still).max() > 1e-3
    none = BertClassifier(quiet, num_classes=3)
    np.testing.assert_allclose(none(inputs(6)), none(inputs(6), training=True), atol=1e-6)


def test_heads_on_the_pooled_output_need_a_pooler():
    config = TINY.replace(use_pooler=False)
    for make in (lambda: BertClassifier(config, 2), lambda: BertMultipleChoice(config)):
        with pytest.raises(InputError, match="reads the pooled output: set use_pooler"):
            make()
    assert BertSpanLabeler(config)(inputs(6)).start_logits.shape == [1, 6]


def test_multiple_choice_reads_three_axes():
    with pytest.raises(InputError, match="input_word_ids must have 3 axes, got shape"):
        BertMultipleChoice(TINY)(inputs(4))


def test_a_missing_input_is_named():
    batch = inputs(4)
    del batch["input_mask"]
    for model in (BertClassifier(TINY, 2), BertPretrainer(TINY)):
        with pytest.raises(InputError, match="missing model input input_mask"):
            model({**batch, "masked_lm_positions": tf.constant([[1]])})
