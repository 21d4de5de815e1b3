"""Encoders that other programs have no place for, and a BiLSTM put on a checkpoint."""

import numpy as np
import pytest

from official_bert import BertClassifier, BertEncoder, BertPretrainer, load_pretrained
from official_bert.checkpoints.official import checkpoint_of_step
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints.bundles import bundle_of
from tests.small_models import TINY, inputs


@pytest.mark.parametrize("output_format", ["huggingface", "google_tf1", "model_garden"])
@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"bilstm": True}, "BiLSTM on top"),
        ({"attention": "causal"}, "causal attention"),
        ({"share_layers": True}, "shared layers"),
    ],
)
def test_it_is_not_written_as_if_it_were_without(tmp_path, output_format, change, what):
    bundle = bundle_of(BertEncoder(TINY.replace(**change)), "encoder")
    with pytest.raises(InputError, match=f"has no {what}: write another format"):
        write_pretrained(bundle, tmp_path / "out", output_format)
    assert not (tmp_path / "out").exists()


def test_factorised_embeddings_are_known_to_the_model_garden_alone(tmp_path):
    bundle = bundle_of(BertEncoder(TINY.replace(embedding_size=4)), "encoder")
    for output_format in ("huggingface", "google_tf1"):
        with pytest.raises(InputError, match="has no factorised embeddings"):
            write_pretrained(bundle, tmp_path / "out", output_format)
    write_pretrained(bundle, tmp_path / "out", "model_garden")
    assert load_pretrained(tmp_path / "out").config.embedding_size == 4


def test_a_bilstm_is_put_on_once_and_kept(tmp_path):
    pretrainer = BertPretrainer(TINY)
    write_pretrained(bundle_of(pretrainer, "pretrainer"), tmp_path / "a", "official_bert")
    new = load_pretrained(tmp_path / "a", new_heads=True, add_bilstm=True)
    assert len(new.new_variables) == 6
    assert all(name.startswith("encoder/bilstm/") for name in new.new_variables)
    np.testing.assert_allclose(
        new.encoder(inputs(5))["encoder_outputs"][-1],
        pretrainer.encoder(inputs(5))["sequence_output"],
        atol=1e-6,
    )
    classifier = BertClassifier(new.encoder, 3)
    write_pretrained(bundle_of(classifier, "classifier"), tmp_path / "b", "official_bert")
    again = load_pretrained(tmp_path / "b", new_heads=True, add_bilstm=True)
    assert again.new_variables == ()
    np.testing.assert_allclose(again.model(inputs(5)), classifier(inputs(5)), atol=1e-6)
    with pytest.raises(InputError, match=r"variables without an array \(6\): encoder/bilstm/"):
        load_pretrained(tmp_path / "a", add_bilstm=True)


def test_the_checkpoint_of_a_step(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for step in (1000, 200):
        (folder / f"ckpt-{step}.index").touch()
    assert checkpoint_of_step(str(tmp_path), None) == str(tmp_path)
    assert checkpoint_of_step(str(tmp_path), 200) == str(folder / "ckpt-200")
    with pytest.raises(InputError, match=r"no checkpoint of step 100: it has \[200, 1000\]; a run"):
        checkpoint_of_step(str(tmp_path), 100)
