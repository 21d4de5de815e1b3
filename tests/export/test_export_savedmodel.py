"""An export is run in a fresh process, moved, and its model deleted."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from export import litert_saving, saving, verify
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from official_bert.inference.export_info import SAVED_MODEL_FILE, ExportInfo, newest_version
from official_bert.inference.fill_mask import FillMask
from official_bert.inference.runner import Answerer, answer_function
from official_bert.models.token_classifier import BertTokenClassifier
from tests.inference.heads import LABELS
from tests.public_data import ROOT
from tests.small_models import (
    TOKENS,
    bundle_of,
    options,
    tiny_bundle,
    tiny_config,
    write_model_folder,
)

ANSWERS = ("fill_mask", "next_sentence", "embed")


def test_it_carries_what_explains_it(exported):
    info = ExportInfo.load(newest_version(exported) / SAVED_MODEL_FILE)
    assert info.task == "pretraining" and info.answers == list(ANSWERS)
    assert info.options["candidates"] == 3
    assert info.metrics == {"masked_lm_accuracy": 0.5}
    assert info.vocab_sha256 == tiny_bundle().vocab.sha256
    assert info.signatures["next_sentence"]["inputs"] == {
        "text_a": ["string", [None]],
        "text_b": ["string", [None]],
    }
    assert info.signatures["examples"]["inputs"] == {"examples": ["string", [None]]}
    assert list(info.signatures) == ["serving_default", "examples", "encoded", *ANSWERS]
    assert "MatMul" in info.ops["tensorflow"]
    assert "FastWordpieceTokenizeWithOffsets" in info.ops["tensorflow_text"]
    assert info.least_tensorflow_serving == "2.10"
    assert info.options["task_options"]["objective"] == "bert"
    maker = str(exported.parent).encode()
    for path in exported.rglob("*"):
        assert not path.is_file() or maker not in path.read_bytes(), path
    assets = exported / "1" / "assets"
    assert (assets / "vocab.txt").read_text().split("\n")[:-1] == list(TOKENS)
    assert len(list(assets.iterdir())) == 2


def test_examples_answer_as_texts(signatures):
    serialized = verify.serialized_example({"text": b"w1 [MASK]"})
    by_example = signatures["examples"](examples=tf.constant([serialized]))
    by_text = signatures["serving_default"](text=tf.constant(["w1 [MASK]"]))
    assert by_text["tokens"].shape == [1, 1, 3]
    for name, value in by_text.items():
        assert (by_example[name].numpy() == value.numpy()).all()


def test_a_server_finds_its_files(exported):
    assert 'base_path: "/models/tiny"' in (exported / "models.config").read_text()
    assert "max_batch_size { value: 32 }" in (exported / "batching.config").read_text()
    command = (exported / "serve.sh").read_text()
    assert "--model_config_file=/models/tiny/models.config" in command
    assert '"instances": [{"text": "some text"}]' in command
    for name in ("batching.config", "models.config"):  # they are text protos
        lines = (exported / name).read_text().splitlines()
        text = "\n".join(line for line in lines if not line.startswith("#"))
        assert text.count("{") == text.count("}") > 0
    subprocess.run(["sh", "-n", exported / "serve.sh"], check=True)


def test_predict_answers_alike_from_model_and_export(exported):
    lines = [b"the [MASK] of france is [MASK].", b"w1 [MASK]"]
    command = [sys.executable, "-m", "official_bert.predict", f"--saved_model={exported}"]
    process = subprocess.run(
        [*command, "--output_format=jsonl", "--top_k=2"],
        input=b"\n".join(lines),
        capture_output=True,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr.decode()
    in_memory = Answerer.from_module(FillMask(tiny_bundle(), options()))
    for line, answer in zip(
        process.stdout.splitlines(), in_memory([(r,) for r in lines]), strict=True
    ):
        given, wanted = json.loads(line), FillMask.tidy(answer, 2)
        assert given["token_ids"] == wanted["token_ids"] and len(given["token_ids"][0]) == 2
        np.testing.assert_allclose(given["probabilities"], wanted["probabilities"], atol=1e-6)


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
        variables = signatures["embed"].graph.variables
        variables[0].assign(variables[0] * 1.01)
        return signatures

    monkeypatch.setattr(saving, "make_signatures", broken)
    real = verify.cases

    def of_the_real_model(modules):
        variables = answer_function(modules["embed"]).graph.variables
        variables[0].assign(variables[0] / 1.01)
        return real(modules)

    monkeypatch.setattr(verify, "cases", of_the_real_model)
    with pytest.raises(verify.VerificationError, match="differs by"):
        saving.export_savedmodel(model_dir, tmp_path / "export", names=("embed",))
    assert not (tmp_path / "export").exists()


def test_a_left_to_right_model_with_a_bilstm(tmp_path):
    """Reloaded from its folder, run in a fresh process, and refused where it cannot be computed."""
    config = tiny_config(attention="causal", bilstm=True)
    model = BertTokenClassifier(config, len(LABELS))
    bundle = bundle_of("token_classifier", model, labels=LABELS)
    write_pretrained(bundle, tmp_path / "model", "official_bert")
    version = saving.export_savedmodel(tmp_path / "model", tmp_path / "export")
    assert ExportInfo.load(version / SAVED_MODEL_FILE).answers == ["tagging"]
    encoded = tf.saved_model.load(str(version)).signatures["encoded"]
    inputs = {
        "input_word_ids": tf.constant([[2, 13, 14, 3, 0, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 0, 0]]),
        "input_type_ids": tf.zeros([1, 6], tf.int32),
    }
    (logits,) = encoded(**inputs).values()
    expected = model({name: value[:, :4] for name, value in inputs.items()})
    np.testing.assert_allclose(logits[:, :4], expected, atol=1e-5)
    with pytest.raises(InputError, match="has a BiLSTM, which LiteRT cannot compute"):
        litert_saving.export_litert(tmp_path / "model", tmp_path / "lite")
