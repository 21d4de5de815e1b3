"""A LiteRT file beside the model that it was made of."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from export.litert_saving import export_litert
from official_bert.errors import InputError
from official_bert.inference import litert
from official_bert.inference.litert import LiteAnswerer
from official_bert.inference.load import open_model
from official_bert.models.classifier import BertClassifier
from official_bert.models.span_labeler import BertSpanLabeler
from tests.public_data import ROOT
from tests.small_models import tiny_bundle, write_model_folder

TEXTS = ["the capital of france", "", "w1 w2 w3 w4 " * 20, "paris is w1 . 😀", "w2"]


def _write(folder, model):
    bundle = dataclasses.replace(tiny_bundle(), model=model, kind="")
    for variable in model.variables:
        if "classifier" in variable.name or "span" in variable.name:
            variable.assign(tf.random.Generator.from_seed(3).normal(variable.shape))
    return write_model_folder(folder, bundle)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier") / "model"
    _write(folder, BertClassifier(tiny_bundle().encoder, 3))
    (folder / "labels.txt").write_text("yes\nno\nmaybe\n")
    return folder


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("int8", 0.1)])
def test_texts_of_every_length_get_the_label_of_the_model(
    classifier, tmp_path, precision, tolerance
):
    lite = export_litert(classifier, tmp_path / "lite", precision=precision, lengths=[4, 8])
    (module,) = open_model(classifier).modules.values()
    answerer = LiteAnswerer(lite, num_threads=1)
    # The longest row that the model takes is always there.
    assert answerer.model.lengths == (4, 8, 24)
    wanted = module.answer({"text": tf.constant(TEXTS)})
    given = answerer(text=tf.constant(TEXTS))
    assert given["label"].numpy().tolist() == wanted["label"].numpy().tolist()
    np.testing.assert_allclose(given["probabilities"], wanted["probabilities"], atol=tolerance)


def test_many_texts_share_rows_and_keep_their_order(classifier, tmp_path, monkeypatch):
    lite = export_litert(classifier, tmp_path / "lite", precision="float32", lengths=[8])
    (module,) = open_model(classifier).modules.values()
    # 1 to 21 words, and more texts than are computed at once.
    texts = [" ".join(f"w{1 + n % 4}" for n in range(i * 8 % 21 + 1)) for i in range(45)]
    wanted = module.answer({"text": tf.constant(texts)})["probabilities"].numpy()
    assert (wanted.max(axis=0) > 2 * wanted.min(axis=0)).any()  # Rows do differ.
    answerer = LiteAnswerer(lite)
    np.testing.assert_allclose(
        answerer(text=tf.constant(texts))["probabilities"], wanted, rtol=1e-3
    )
    assert answerer(text=tf.constant([], tf.string))["probabilities"].shape == [0, 3]
    monkeypatch.setattr(litert, "SHARED_LENGTH", 8)  # Long texts have rows of their own.
    np.testing.assert_allclose(
        answerer(text=tf.constant(texts))["probabilities"], wanted, rtol=1e-3
    )


def test_answers_of_questions_are_those_of_the_model(tmp_path):
    folder = _write(tmp_path / "model", BertSpanLabeler(tiny_bundle().encoder))
    lite = export_litert(folder, tmp_path / "lite", precision="float32", lengths=[16])
    (module,) = open_model(folder).modules.values()
    texts = {
        "question": tf.constant(["capital", "w1 w2"]),
        "context": tf.constant(["the capital of france is paris . " * 6, "w3"]),
    }
    wanted, given = module.answer(texts), LiteAnswerer(lite)(**texts)
    for name in ("answer", "answer_start", "answer_end"):
        assert given[name].numpy().tolist() == wanted[name].numpy().tolist()
    np.testing.assert_allclose(given["score"], wanted["score"], atol=1e-4)


def test_predict_reads_it(classifier, tmp_path):
    lite = export_litert(classifier, tmp_path / "lite", lengths=[8])
    assert sorted(path.name for path in lite.iterdir()) == [
        "export.json", "labels.txt", "model.tflite", "tokenizer_config.json", "vocab.txt"
    ]  # fmt: skip
    command = [sys.executable, "-m", "official_bert.predict"]
    answers = [
        subprocess.run(
            [*command, source], input="the capital\n", capture_output=True, text=True, cwd=ROOT
        )
        for source in (f"--litert={lite}", f"--model_dir={classifier}")
    ]
    assert answers[0].returncode == 0, answers[0].stderr
    assert answers[0].stdout.split()[0] == answers[1].stdout.split()[0]
    (lite / "model.tflite").write_bytes((lite / "model.tflite").read_bytes()[:1000])
    with pytest.raises(InputError, match=r"model.tflite has 1000 bytes, \d+ were written: copy"):
        LiteAnswerer(lite)


def test_what_litert_cannot_do_is_told(tmp_path):
    folder = write_model_folder(tmp_path / "model", tiny_bundle())
    with pytest.raises(InputError, match="fill_mask: the size of what the model gives depends"):
        export_litert(folder, tmp_path / "lite", answer="fill_mask")
    with pytest.raises(InputError, match="no export of this project"):
        LiteAnswerer(folder)
    assert not (tmp_path / "lite").exists()
