"""A model sees a packed instance as it sees it alone: the same outputs, the same losses."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining.instances import InstanceRule
from data_prep.pretraining.job import prepare
from data_prep.pretraining.records import RecordRule
from data_prep.pretraining.settings import PretrainingSettings
from official_bert.config import BertConfig
from official_bert.data import pipeline
from official_bert.models.pretrainer import BertPretrainer
from official_bert.text.masking import MaskingRule

LENGTH = 64
NUM_WORDS = 200


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """The same instances as unpacked and as packed batches of the model's inputs."""
    folder = tmp_path_factory.mktemp("data")
    words = [f"w{i}" for i in range(NUM_WORDS)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    rng = np.random.default_rng(5)
    with open(folder / "text.txt", "w") as file:
        for _ in range(40):  # documents shorter than a row
            for _ in range(rng.integers(1, 6)):
                file.write(" ".join(rng.choice(words, rng.integers(2, 14))) + "\n")
            file.write("\n")
    result = {}
    for pack in (False, True):
        rule = RecordRule(InstanceRule(LENGTH), MaskingRule(max_predictions_per_seq=9), pack=pack)
        settings = PretrainingSettings(
            inputs=(f"{folder}/text.txt",),
            vocab_file=f"{folder}/vocab.txt",
            lower_case=True,
            records=rule,
            dupe_factor=1,
            num_shards=1,
        )
        output = folder / f"data_{pack}"
        manifest = prepare(settings, str(output))
        paths = manifest.shard_paths(output, "train")
        sizes = {
            "S": LENGTH,
            "P": manifest.options["max_predictions_per_record"],
            "N": manifest.options["max_instances_per_record"],
            "vocab_size": len(tokens),
            "type_vocab_size": 2,
        }
        parse = pipeline.make_parser(
            pipeline.present_features("pretraining", paths), sizes=sizes, pad_to_max=False
        )
        (serialized,) = pipeline.evaluation_batches(paths, batch_size=1000)
        result[pack] = parse(serialized)
    return result


@pytest.fixture(scope="module")
def model():
    config = BertConfig(
        vocab_size=NUM_WORDS + 5,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        initializer_range=0.3,  # weights that make a difference
    )
    return BertPretrainer(config)


def _instances(model, batch) -> dict[tuple, dict[str, np.ndarray]]:
    """Outputs and losses of each instance, by its tokens."""
    names = ("input_word_ids", "input_mask", "input_type_ids", "masked_lm_positions")
    packed = [name for name in ("position_ids", "pack_ids", "cls_positions") if name in batch]
    outputs = model({name: batch[name] for name in (*names, *packed)}, training=False)
    batch = {name: tensor.numpy() for name, tensor in batch.items()}
    states = outputs["sequence_output"].numpy()
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        batch["masked_lm_ids"], outputs["mlm_logits"]
    ).numpy()
    labels = batch["next_sentence_labels"]
    next_logits = tf.reshape(outputs["next_sentence"], [*labels.shape, 2])
    next_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, next_logits).numpy()
    found = {}
    for row, mask in enumerate(batch["input_mask"]):
        packs = batch["pack_ids"][row] if packed else mask
        for number in range(1, packs.max() + 1):
            (places,) = np.nonzero(packs == number)
            predicted = (batch["masked_lm_weights"][row] > 0) & np.isin(
                batch["masked_lm_positions"][row], places
            )
            key = tuple(batch["input_word_ids"][row, places])
            found[key] = {
                "states": states[row, places],
                "masked_lm_loss": losses[row, predicted],
                "next_sentence_loss": next_losses[row, number - 1],
            }
    return found


def test_packed_outputs_and_losses_equal_unpacked_ones(model, batches):
    alone, packed = _instances(model, batches[False]), _instances(model, batches[True])
    assert alone.keys() == packed.keys()
    assert len(alone) > 60
    assert len(batches[True]["input_mask"]) < 0.8 * len(batches[False]["input_mask"])
    for key, expected in alone.items():
        for name, values in expected.items():
            np.testing.assert_allclose(packed[key][name], values, atol=1e-5, err_msg=name)
