"""An export is run in a fresh process, moved, and its model deleted."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from export import saving, verify
from official_bert.answering.export_info import ExportInfo, newest_version
from official_bert.errors import InputError
from tests.answering.tiny import TOKENS, tiny_bundle, write_model_folder
from tests.public_data import ROOT

ANSWERS = ("fill_mask", "next_sentence", "embed")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """An export that was moved after its model folder was deleted."""
    folder = tmp_path_factory.mktemp("export")
    model_dir = write_model_folder(folder / "model", tiny_bundle())
    written = saving.export_savedmodel(model_dir, folder / "first", candidates=3)
    assert written == folder / "first" / "1"
    shutil.rmtree(model_dir)
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(str(exported / "1"))


def test_it_carries_what_explains_it(exported):
    info = ExportInfo.load(newest_version(exported))
    assert info.task == "pretraining" and info.answers == list(ANSWERS)
    assert info.options["candidates"] == 3
    assert info.metrics == {"masked_lm_accuracy": 0.5}
    assert info.vocab_sha256 == tiny_bundle().vocab.sha256
    assert info.signatures["next_sentence"]["inputs"] == {
        "text_a": ["string", [None]],
        "text_b": ["string", [None]],
    }
    assert info.signatures["examples"]["inputs"] == {"examples": ["string", [None]]}
    assert "MatMul" in info.ops["tensorflow"]
    assert "FastWordpieceTokenizeWithOffsets" in info.ops["tensorflow_text"]
    assets = exported / "1" / "assets"
    assert (assets / "vocab.txt").read_text().split("\n")[:-1] == list(TOKENS)
    assert len(list(assets.iterdir())) == 2


def test_signatures(loaded):
    assert sorted(loaded.signatures) == sorted([*ANSWERS, "serving_default", "examples", "encoded"])
    serialized = verify.serialized_example({"text": b"w1 [MASK]"})
    by_example = loaded.signatures["examples"](examples=tf.constant([serialized]))
    by_text = loaded.signatures["serving_default"](text=tf.constant(["w1 [MASK]"]))
    assert by_text["tokens"].shape == [1, 1, 3]
    for name, value in by_text.items():
        assert (by_example[name].numpy() == value.numpy()).all()


def test_training_behaviour_does_not_leak(loaded):
    # The model's dropout rate is one half: a mask would show at once.
    inputs = {"text": tf.constant(["w1 [MASK] of france", ""])}
    for name in ("fill_mask", "embed"):
        first, second = (loaded.signatures[name](**inputs) for _ in range(2))
        for output, value in first.items():
            assert (second[output].numpy() == value.numpy()).all()


def test_merged_requests_give_what_each_gives_alone(loaded):
    a = tf.constant(["w1 w2", "the capital of france is paris ."])
    b = tf.constant(["w3", "w4 w4 w4 w4 w4"])
    merged = loaded.signatures["next_sentence"](text_a=a, text_b=b)["is_next_probability"]
    alone = [
        loaded.signatures["next_sentence"](text_a=a[i : i + 1], text_b=b[i : i + 1])
        for i in range(2)
    ]
    np.testing.assert_allclose(
        merged, np.concatenate([one["is_next_probability"] for one in alone]), atol=1e-6
    )


def test_predict_answers_alike_from_model_and_export(exported, tmp_path):
    model_dir = write_model_folder(tmp_path / "model", tiny_bundle())
    lines = b"the [MASK] of france is [MASK].\nw1 [MASK]\n"
    outputs = []
    for source in (f"--model_dir={model_dir}", f"--saved_model={exported}"):
        command = [sys.executable, "-m", "official_bert.predict", source, "--top_k=2"]
        process = subprocess.run(
            [*command, "--output_format=jsonl"], input=lines, capture_output=True, cwd=ROOT
        )
        assert process.returncode == 0, process.stderr.decode()
        outputs.append([json.loads(line) for line in process.stdout.splitlines()])
    for one, other in zip(*outputs, strict=True):
        assert one["token_ids"] == other["token_ids"] and len(one["token_ids"][0]) == 2
        np.testing.assert_allclose(one["probabilities"], other["probabilities"], atol=1e-6)


def test_a_version_that_is_there_is_not_replaced_unasked(exported, tmp_path):
    model_dir = write_model_folder(tmp_path / "model", tiny_bundle())
    with pytest.raises(InputError, match="is there already"):
        saving.export_savedmodel(model_dir, exported, version=1)
    assert saving.next_version(exported) == 2


def test_an_export_that_answers_otherwise_is_not_left(tmp_path, monkeypatch):
    model_dir = write_model_folder(tmp_path / "model", tiny_bundle())
    made = saving.make_signatures

    def broken(modules):
        signatures = made(modules)
        modules["embed"].model.embeddings.layer_norm.gamma.assign_add(tf.fill([16], 0.01))
        return signatures

    monkeypatch.setattr(saving, "make_signatures", broken)
    real = verify.cases

    def of_the_real_model(modules):
        modules["embed"].model.embeddings.layer_norm.gamma.assign_sub(tf.fill([16], 0.01))
        return real(modules)

    monkeypatch.setattr(verify, "cases", of_the_real_model)
    with pytest.raises(verify.VerificationError, match="differs by"):
        saving.export_savedmodel(model_dir, tmp_path / "export")
    assert not (tmp_path / "export" / "1").exists()
    assert list((tmp_path / "export").iterdir()) == []
