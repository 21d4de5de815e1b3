"""Factorised embeddings and shared layers on real weights: an ALBERT (Lan et al. 2020) is both."""

import json

import numpy as np
import tensorflow as tf

from official_bert import BertConfig, BertPretrainer
from official_bert.checkpoints.torch_file import read_torch_file
from official_bert.checkpoints.variables import named_variables
from tests.public_data import peer, weights

torch = peer("torch")
transformers = peer("transformers")

_LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0."
NAMES = {
    "encoder/embeddings/word_embeddings": "albert.embeddings.word_embeddings",
    "encoder/embeddings/position_embeddings": "albert.embeddings.position_embeddings",
    "encoder/embeddings/type_embeddings": "albert.embeddings.token_type_embeddings",
    "encoder/embeddings/layer_norm": "albert.embeddings.LayerNorm",
    "encoder/embeddings/projection": "albert.encoder.embedding_hidden_mapping_in",
    "encoder/layer_0/attention/query": _LAYER + "attention.query",
    "encoder/layer_0/attention/key": _LAYER + "attention.key",
    "encoder/layer_0/attention/value": _LAYER + "attention.value",
    "encoder/layer_0/attention/output": _LAYER + "attention.dense",
    "encoder/layer_0/attention_layer_norm": _LAYER + "attention.LayerNorm",
    "encoder/layer_0/intermediate": _LAYER + "ffn",
    "encoder/layer_0/output": _LAYER + "ffn_output",
    "encoder/layer_0/output_layer_norm": _LAYER + "full_layer_layer_norm",
    "encoder/pooler": "albert.pooler",
    "masked_lm/transform": "predictions.dense",
    "masked_lm/layer_norm": "predictions.LayerNorm",
}


def test_logits_of_a_real_albert():
    folder = weights("rxnmapper") / "models/transformers/albert_heads_8_uspto_all_1310k"
    fields = json.loads((folder / "config.json").read_text())
    config = BertConfig(
        **{name: fields[name] for name in BertConfig().to_dict() if name in fields},
        embedding_size=fields["embedding_size"],
        share_layers=True,
    )
    assert (config.embedding_size, config.hidden_size, config.num_hidden_layers) == (128, 256, 12)
    model = BertPretrainer(config, use_next_sentence=False)
    stored = read_torch_file(folder / "pytorch_model.bin")
    for ours, variable in named_variables(model).items():
        name, _, part = ours.rpartition("/")
        if ours == "masked_lm/output_bias":
            array = stored["predictions.bias"].read()
        elif ours in NAMES:
            array = stored[NAMES[ours] + ".weight"].read()
        else:
            theirs = {"kernel": "weight", "gamma": "weight", "bias": "bias", "beta": "bias"}[part]
            array = stored[f"{NAMES[name]}.{theirs}"].read()
        variable.assign(array.T if part == "kernel" else array)

    theirs = transformers.AlbertForMaskedLM.from_pretrained(
        folder, attn_implementation="eager"
    ).eval()
    rng = np.random.default_rng(0)
    mask = (np.arange(40) < np.array([[40], [23]])).astype(np.int64)
    ids = rng.integers(12, 591, mask.shape) * mask
    positions = np.array([[1, 7, 39], [2, 9, 22]])
    outputs = model(
        {
            "input_word_ids": tf.constant(ids, tf.int32),
            "input_mask": tf.constant(mask, tf.int32),
            "input_type_ids": tf.zeros(ids.shape, tf.int32),
            "masked_lm_positions": tf.constant(positions, tf.int32),
        }
    )
    with torch.inference_mode():
        logits = theirs(torch.tensor(ids), attention_mask=torch.tensor(mask)).logits.numpy()
    expected = np.take_along_axis(logits, positions[..., None], axis=1)
    assert np.abs(expected).max() > 5
    np.testing.assert_allclose(outputs["mlm_logits"], expected, atol=1e-4)
