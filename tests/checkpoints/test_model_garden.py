"""Checkpoints and TF Hub exports that official.nlp makes here, and what it reads of ours."""

import numpy as np
import pytest
import tensorflow as tf
from official.legacy.bert import configs
from official.nlp.modeling import layers, models, networks
from official.nlp.tools import export_tfhub_lib

from official_bert import BertClassifier, BertEncoder, BertPretrainer, load_pretrained
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints.bundles import VOCAB, bundle_of
from tests.small_models import TINY, inputs

SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_layers": 2,
    "num_attention_heads": 2,
    "inner_dim": 32,
    "max_sequence_length": 24,
    "type_vocab_size": 2,
}
POSITIONS = {"masked_lm_positions": tf.constant([[1, 2], [3, 0]])}


def shaken(model):
    """All variables random, so that no bias is zero and none of two is taken for the other."""
    for index, variable in enumerate(model.variables):
        variable.assign(tf.random.stateless_normal(variable.shape, [index, 7], stddev=0.3))
    return model


def encoder(**changes):
    made = networks.BertEncoderV2(**{**SIZES, **changes})
    made(made.inputs)
    return shaken(made)


def pretrainer(heads=True, **changes):
    head = layers.ClassificationHead(inner_dim=16, num_classes=2, name="next_sentence")
    made = models.BertPretrainerV2(
        encoder_network=encoder(**changes),
        mlm_activation=lambda x: tf.nn.gelu(x, approximate=True),
        classification_heads=[head] if heads else [],
    )
    made(made.inputs)
    return shaken(made)


def assert_same_encoder(ours, theirs, atol=1e-5):
    batch = inputs(7, 4)
    a, b = ours(batch), theirs(batch)
    np.testing.assert_allclose(a["sequence_output"], b["sequence_output"], atol=atol)
    for x, y in zip(a["encoder_outputs"], b["encoder_outputs"], strict=True):
        np.testing.assert_allclose(x, y, atol=atol)
    return a, b


@pytest.mark.parametrize("item", ["encoder", "model"])
@pytest.mark.parametrize("functional", [False, True])
@pytest.mark.parametrize("width", [None, 8])
def test_an_encoder(item, functional, width, tmp_path):
    if functional:
        theirs = shaken(networks.BertEncoder(**SIZES, embedding_width=width, dict_outputs=True))
    else:
        theirs = encoder(embedding_width=width)
    prefix = tf.train.Checkpoint(**{item: theirs}).save(str(tmp_path / "ckpt"))
    bundle = load_pretrained(tmp_path)
    assert (bundle.format, bundle.kind) == ("model_garden", "encoder")
    assert bundle.config.to_dict() == {
        **TINY.to_dict(),
        "hidden_act": "gelu_tanh",
        "initializer_range": 0.02,
        **({"embedding_size": width} if width else {}),
    }
    a, b = assert_same_encoder(bundle.encoder, theirs)
    np.testing.assert_allclose(a["pooled_output"], b["pooled_output"], atol=1e-5)
    assert load_pretrained(prefix).config == bundle.config


def test_a_pretrainer(tmp_path):
    theirs = pretrainer()
    tf.train.Checkpoint(model=theirs).write(str(tmp_path / "ckpt"))
    bundle = load_pretrained(tmp_path)
    assert (bundle.kind, bundle.missing_heads) == ("pretrainer", ())
    assert set(bundle.dropped.values()) == {"the head has a pooler of its own, which was trained"}
    assert len(bundle.dropped) == 2
    batch = {**inputs(7, 4), **POSITIONS}
    a, b = bundle.pretrainer(batch), theirs(batch)
    for name in ("sequence_output", "mlm_logits", "next_sentence"):
        np.testing.assert_allclose(a[name], b[name], atol=1e-5)


def test_the_items_of_a_pretrainer(tmp_path):
    theirs = pretrainer()
    tf.train.Checkpoint(**theirs.checkpoint_items).write(str(tmp_path / "ckpt"))
    bundle = load_pretrained(tmp_path)
    # The head's last layer is not among the items.
    assert bundle.missing_heads == ("next_sentence",)
    np.testing.assert_array_equal(
        bundle.encoder.pooler.kernel, theirs.classification_heads[0].dense.kernel
    )
    batch = {**inputs(7, 4), **POSITIONS}
    np.testing.assert_allclose(
        bundle.pretrainer(batch)["mlm_logits"], theirs(batch)["mlm_logits"], atol=1e-5
    )


def test_optimizer_state_is_dropped_and_a_classifier_is_one(tmp_path):
    network = shaken(networks.BertEncoder(**SIZES, dict_outputs=True))
    theirs = models.BertClassifier(network, num_classes=3)
    optimizer = tf.train.Checkpoint(rate=tf.Variable(1.0, name="learning_rate"))
    tf.train.Checkpoint(model=theirs, optimizer=optimizer).write(str(tmp_path / "ckpt"))
    bundle = load_pretrained(tmp_path)
    assert (bundle.kind, dict(bundle.dropped)) == ("classifier", {"learning_rate": "no weight"})
    np.testing.assert_allclose(bundle.model(inputs(7, 4)), theirs(inputs(7, 4)), atol=1e-5)


@pytest.mark.parametrize("with_mlm", [True, False])
def test_a_tf_hub_export(with_mlm, tmp_path):
    config = configs.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        type_vocab_size=2,
    )
    theirs = shaken(export_tfhub_lib.get_bert_encoder(config))
    items = {"encoder": theirs}
    if with_mlm:
        mlm = models.BertPretrainerV2(
            encoder_network=theirs, mlm_activation=lambda x: tf.nn.gelu(x, approximate=True)
        )
        mlm({**inputs(7, 4), **POSITIONS})
        items = shaken(mlm).checkpoint_items
    VOCAB.save(tmp_path / "words.txt")
    export_tfhub_lib.export_model(
        str(tmp_path / "hub"),
        bert_config=config,
        model_checkpoint_path=tf.train.Checkpoint(**items).save(str(tmp_path / "ckpt")),
        with_mlm=with_mlm,
        vocab_file=str(tmp_path / "words.txt"),
        do_lower_case=with_mlm,
    )
    bundle = load_pretrained(tmp_path / "hub")
    assert (bundle.format, bundle.vocab) == ("tf_hub", VOCAB)
    assert bundle.tokenizer_config.lower_case is with_mlm
    assert bundle.kind == ("pretrainer" if with_mlm else "encoder")
    exported = tf.saved_model.load(str(tmp_path / "hub"))
    a, b = assert_same_encoder(bundle.encoder, exported)
    np.testing.assert_allclose(a["pooled_output"], b["pooled_output"], atol=1e-5)
    if with_mlm:
        batch = {**inputs(7, 4), **POSITIONS}
        np.testing.assert_allclose(
            bundle.pretrainer(batch)["mlm_logits"], exported.mlm(batch)["mlm_logits"], atol=1e-5
        )


def test_official_nlp_restores_what_we_write(tmp_path):
    model = shaken(BertPretrainer(TINY.replace(hidden_act="gelu_tanh")))
    write_pretrained(bundle_of(model, "pretrainer"), tmp_path / "out", "model_garden")
    prefix = str(tmp_path / "out" / "bert_model.ckpt")
    batch = {**inputs(7, 4), **POSITIONS}
    expected = model(batch)

    theirs = pretrainer()
    tf.train.Checkpoint(model=theirs).read(prefix).assert_existing_objects_matched()
    outputs = theirs(batch)
    for name in ("sequence_output", "pooled_output", "mlm_logits", "next_sentence"):
        np.testing.assert_allclose(outputs[name], expected[name], atol=1e-5)

    theirs = pretrainer()
    status = tf.train.Checkpoint(**theirs.checkpoint_items).read(prefix)
    status.expect_partial().assert_existing_objects_matched()
    np.testing.assert_allclose(theirs(batch)["mlm_logits"], expected["mlm_logits"], atol=1e-5)

    theirs = encoder()
    status = tf.train.Checkpoint(encoder=theirs).read(prefix)
    status.expect_partial().assert_existing_objects_matched()
    assert_same_encoder(model.encoder, theirs)


@pytest.mark.parametrize("act", ["gelu", "gelu_tanh"])
def test_there_and_back_bit_for_bit(act, tmp_path):
    for kind, make in (("encoder", BertEncoder), ("pretrainer", BertPretrainer)):
        model = make(TINY.replace(hidden_act=act, embedding_size=8))
        write_pretrained(bundle_of(model, kind), tmp_path / kind, "model_garden")
        again = load_pretrained(tmp_path / kind)
        assert (again.kind, again.config, again.vocab) == (kind, model.config, VOCAB)
        for before, after in zip(model.variables, again.model.variables, strict=True):
            np.testing.assert_array_equal(before, after)


def test_a_task_head_is_left_out_and_named(tmp_path):
    model = BertClassifier(TINY, 3)
    dropped = write_pretrained(bundle_of(model, "classifier"), tmp_path / "out", "model_garden")
    assert set(dropped) == {"classifier/kernel", "classifier/bias"}
    assert load_pretrained(tmp_path / "out").kind == "encoder"


def test_another_saved_model_and_another_checkpoint(tmp_path):
    module = tf.Module()
    module.weight = tf.Variable([1.0], name="weight")
    tf.saved_model.save(module, str(tmp_path / "saved"))
    with pytest.raises(InputError, match="is a SavedModel, but no BERT encoder of TF Hub: it has"):
        load_pretrained(tmp_path / "saved")
    tf.train.Checkpoint(module=module).write(str(tmp_path / "ckpt"))
    with pytest.raises(InputError, match="TensorFlow 2 checkpoint of another model: it has weight"):
        load_pretrained(tmp_path / "ckpt")
