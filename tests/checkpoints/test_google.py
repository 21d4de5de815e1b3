"""TensorFlow 1 checkpoints of google-research/bert: a real one, and there and back."""

import json
import math
import re

import numpy as np
import pytest
import tensorflow as tf

from official_bert import (
    BertClassifier,
    BertEncoder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
    load_pretrained,
)
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints.bundles import bundle_of
from tests.public_data import public_data
from tests.small_models import TINY, inputs


@pytest.fixture(scope="module")
def folder():
    return public_data("checkpoints/keras_bert_tf1_tiny")


def test_every_variable_is_used_or_named_as_dropped(folder):
    bundle = load_pretrained(folder)
    assert (bundle.format, bundle.kind, bundle.missing_heads) == ("google_tf1", "pretrainer", ())
    assert bundle.config.hidden_act == "gelu_tanh"
    assert bundle.tokenizer_config.lower_case is True
    stored = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    names = set(stored.get_variable_to_shape_map())
    dropped = set(bundle.dropped)
    assert all(re.search(r"/adam_[mv]$|^global_step$", name) for name in dropped)
    assert len(names - dropped) == len(bundle.model.variables) == 46
    values = sorted(stored.get_tensor(name).sum() for name in names - dropped)
    ours = sorted(variable.numpy().sum() for variable in bundle.model.variables)
    np.testing.assert_allclose(ours, values, atol=1e-6)


def test_values_of_a_forward_pass_in_plain_numpy(folder):
    bundle = load_pretrained(folder / "bert_model.ckpt")
    batch = {
        "input_word_ids": tf.constant([[2, 5, 6, 7, 3, 8, 3], [2, 9, 3, 10, 3, 0, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]]),
        "input_type_ids": tf.constant([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0]]),
    }
    positions = np.array([[1, 3], [1, 0]])
    outputs = bundle.pretrainer({**batch, "masked_lm_positions": tf.constant(positions)})
    arrays = {name: value.numpy() for name, value in batch.items()}
    states, pooled, logits, pairs = _forward(
        tf.train.load_checkpoint(str(folder / "bert_model.ckpt")).get_tensor, arrays, positions
    )
    np.testing.assert_allclose(outputs["sequence_output"], states, atol=2e-6)
    np.testing.assert_allclose(outputs["pooled_output"], pooled, atol=2e-6)
    np.testing.assert_allclose(outputs["mlm_logits"], logits, atol=2e-6)
    np.testing.assert_allclose(outputs["next_sentence"], pairs, atol=2e-6)


def _forward(get, batch, positions, layers=2, heads=4):
    """google-research/bert's modeling.py in NumPy, float64."""

    def dense(x, scope):
        return x @ get(f"{scope}/kernel").astype(np.float64) + get(f"{scope}/bias")

    def layer_norm(x, scope):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
        return x * get(f"{scope}/gamma") + get(f"{scope}/beta")

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def softmax(x):
        x = np.exp(x - x.max(-1, keepdims=True))
        return x / x.sum(-1, keepdims=True)

    ids, mask, types = (batch[name] for name in ("input_word_ids", "input_mask", "input_type_ids"))
    size, length = ids.shape
    x = get("bert/embeddings/word_embeddings").astype(np.float64)[ids]
    x = x + get("bert/embeddings/token_type_embeddings")[types]
    x = x + get("bert/embeddings/position_embeddings")[:length]
    x = layer_norm(x, "bert/embeddings/LayerNorm")
    width = x.shape[-1]
    for layer in range(layers):
        scope = f"bert/encoder/layer_{layer}"
        query, key, value = (
            dense(x, f"{scope}/attention/self/{part}")
            .reshape(size, length, heads, width // heads)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        scores = scores - 10000.0 * (1 - mask[:, None, None, :])
        context = (softmax(scores) @ value).transpose(0, 2, 1, 3).reshape(size, length, width)
        attended = dense(context, f"{scope}/attention/output/dense")
        x = layer_norm(x + attended, f"{scope}/attention/output/LayerNorm")
        inner = gelu(dense(x, f"{scope}/intermediate/dense"))
        x = layer_norm(x + dense(inner, f"{scope}/output/dense"), f"{scope}/output/LayerNorm")
    pooled = np.tanh(dense(x[:, 0], "bert/pooler/dense"))
    masked = np.take_along_axis(x, positions[..., None], axis=1)
    masked = gelu(dense(masked, "cls/predictions/transform/dense"))
    masked = layer_norm(masked, "cls/predictions/transform/LayerNorm")
    logits = masked @ get("bert/embeddings/word_embeddings").T + get("cls/predictions/output_bias")
    pairs = pooled @ get("cls/seq_relationship/output_weights").T
    return x, pooled, logits, pairs + get("cls/seq_relationship/output_bias")


KINDS = {
    "encoder": lambda config: BertEncoder(config),
    "pretrainer": lambda config: BertPretrainer(config),
    "classifier": lambda config: BertClassifier(config, 3),
    "token_classifier": lambda config: BertTokenClassifier(config, 5),
    "multiple_choice": lambda config: BertMultipleChoice(config),
    "span_labeler": lambda config: BertSpanLabeler(config),
}


@pytest.mark.parametrize("act", ["gelu", "gelu_tanh"])
@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back_bit_for_bit(kind, act, tmp_path):
    model = KINDS[kind](TINY.replace(hidden_act=act))
    labels = ("no", "yes", "maybe") if kind == "classifier" else ()
    write_pretrained(bundle_of(model, kind, labels), tmp_path / "out", "google_tf1")
    again = load_pretrained(tmp_path / "out")
    assert (again.kind, again.config, again.labels) == (kind, model.config, labels)
    assert again.tokenizer_config.lower_case is False
    for before, after in zip(model.variables, again.model.variables, strict=True):
        np.testing.assert_array_equal(before, after)


def test_published_names_and_layouts(tmp_path):
    """Names and shapes that google-research/bert's own code asks for."""
    model = BertPretrainer(TINY)
    write_pretrained(bundle_of(model, "pretrainer"), tmp_path / "out", "google_tf1")
    stored = tf.train.load_checkpoint(str(tmp_path / "out" / "bert_model.ckpt"))
    shapes = stored.get_variable_to_shape_map()
    assert {name: shapes[name] for name in shapes if "layer_" not in name} == {
        "bert/embeddings/word_embeddings": [50, 16],
        "bert/embeddings/position_embeddings": [24, 16],
        "bert/embeddings/token_type_embeddings": [2, 16],
        "bert/embeddings/LayerNorm/gamma": [16],
        "bert/embeddings/LayerNorm/beta": [16],
        "bert/pooler/dense/kernel": [16, 16],
        "bert/pooler/dense/bias": [16],
        "cls/predictions/transform/dense/kernel": [16, 16],
        "cls/predictions/transform/dense/bias": [16],
        "cls/predictions/transform/LayerNorm/gamma": [16],
        "cls/predictions/transform/LayerNorm/beta": [16],
        "cls/predictions/output_bias": [50],
        "cls/seq_relationship/output_weights": [2, 16],
        "cls/seq_relationship/output_bias": [2],
    }
    assert shapes["bert/encoder/layer_1/attention/self/query/kernel"] == [16, 16]
    np.testing.assert_array_equal(
        stored.get_tensor("cls/seq_relationship/output_weights"),
        model.next_sentence.kernel.numpy().T,
    )
    config = json.loads((tmp_path / "out" / "bert_config.json").read_text())
    assert config["hidden_act"] == "gelu"


def test_a_tf_hub_prefix_is_stripped(tmp_path):
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), tmp_path / "out", "google_tf1")
    prefix = str(tmp_path / "out" / "bert_model.ckpt")
    stored = tf.train.load_checkpoint(prefix)
    names = list(stored.get_variable_to_shape_map())
    tensors = [stored.get_tensor(name) for name in names]
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=[f"module/{name}" for name in names],
        shape_and_slices=[""] * len(names),
        tensors=tensors,
    )
    assert load_pretrained(prefix).config == TINY
    assert load_pretrained(prefix + ".index").config == TINY


def test_a_truncated_data_file_is_an_error_with_its_name(tmp_path):
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), tmp_path / "out", "google_tf1")
    data = tmp_path / "out" / "bert_model.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"bert_model.ckpt.data-00000-of-00001 is truncated, or "):
        load_pretrained(tmp_path / "out")


def test_no_config(tmp_path):
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), tmp_path / "out", "google_tf1")
    (tmp_path / "out" / "bert_config.json").unlink()
    with pytest.raises(InputError, match="bert_config.json is missing: it says how many heads"):
        load_pretrained(tmp_path / "out")


def test_our_own_folder_bit_for_bit(tmp_path):
    for kind, make in KINDS.items():
        model = make(TINY)
        write_pretrained(bundle_of(model, kind), tmp_path / kind, "official_bert")
        again = load_pretrained(tmp_path / kind)
        assert (again.kind, again.config) == (kind, TINY)
        for before, after in zip(model.variables, again.model.variables, strict=True):
            np.testing.assert_array_equal(before, after)
    assert again.encoder(inputs(4))["sequence_output"].shape == [1, 4, 16]
