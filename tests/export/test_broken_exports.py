"""Exports that something happened to: one line that says what, before TensorFlow reads anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from export.litert_saving import export_litert
from official_bert.errors import InputError
from official_bert.inference.export_info import (
    FILE_NAME,
    SAVED_MODEL_FILE,
    ExportInfo,
    newest_version,
)
from official_bert.inference.litert import LiteAnswerer
from official_bert.inference.runner import Answerer
from tests.public_data import ROOT
from tests.small_models import tiny_bundle, write_model_folder

DATA = "variables/variables.data-00000-of-00001"


def _open(folder):
    version = newest_version(folder)
    info = ExportInfo.load(version / SAVED_MODEL_FILE)
    return Answerer.from_export(version, info, info.answers[0])


def _changed(path, change):
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.fixture
def broken(exported, tmp_path):
    """A copy to break."""
    return shutil.copytree(exported / "1", tmp_path / "1")


@pytest.fixture(scope="module")
def lite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lite")
    write_model_folder(folder / "model", tiny_bundle())
    return export_litert(folder / "model", folder / "lite", answer="next_sentence", lengths=[8])


# ---- export.json --------------------------------------------------------------------------------

SHA = "0" * 64
WRONG_FIELDS = {
    "answers": ([], None, "embed", [1], ["embed", "embed"], {}, 7),
    "task": (None, 1, [], {}),
    "precision": ("float16", None, 1, ["int8"]),
    "config_sha256": ("x", None, 0, SHA[1:], SHA.replace("0", "G")),
    "vocab_sha256": ([], False, SHA + "0"),
    "metrics": (None, [], 1, "good"),
    "versions": ({"a": 1}, [], None),
    "ops": ({"a": "b"}, {"a": [1]}, []),
    "per_token_outputs": ("a", [1], None, {}),
    "least_tensorflow_serving": (2.1, None),
    "signatures": (
        None, [], {"a": None}, {"a": {"inputs": {}}}, {"a": {"inputs": {}, "outputs": []}},
        {"a": {"inputs": {"x": "int32"}, "outputs": {}}},
        {"a": {"inputs": {"x": ["int32", [-1]]}, "outputs": {}}},
        {"a": {"inputs": {"x": ["int32", None]}, "outputs": {}}},
        {"a": {"inputs": {"x": ["int32", [True]]}, "outputs": {}}},
    ),
    "options": (
        None, [], {}, {"max_seq_length": 8}, {"max_seq_length": 8, "candidates": 0},
        {"max_seq_length": "8", "candidates": 5}, {"max_seq_length": 8, "candidates": 5, "x": 1},
        {"max_seq_length": 10**12, "candidates": 5},
        {"max_seq_length": 8, "candidates": 5, "pad_to": 1.5},
        {"max_seq_length": 8, "candidates": 5, "concat_last_four": 1},
        {"max_seq_length": 8, "candidates": 5, "task_options": []},
        {"max_seq_length": 8, "candidates": 5, "task_options": {"text_inputs": "text"}},
        {"max_seq_length": 8, "candidates": 5, "task_options": {"text_inputs": []}},
        {"max_seq_length": 8, "candidates": 5, "task_options": {"doc_stride": 0}},
        {"max_seq_length": 8, "candidates": 5, "task_options": {"null_threshold": "a"}},
    ),
    "files": (
        None, [], {"a": 1}, {"a": {"bytes": -1, "sha256": SHA}}, {"a": {"bytes": 1}},
        {"../a": {"bytes": 1, "sha256": SHA}}, {"/a": {"bytes": 1, "sha256": SHA}},
        {"": {"bytes": 1, "sha256": SHA}}, {"a": {"bytes": 1, "sha256": "x"}},
    ),
}  # fmt: skip
CASES = [(name, value) for name, values in WRONG_FIELDS.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=lambda value: str(value)[:40])
def test_a_wrong_field_is_named(broken, name, value):
    path = broken / SAVED_MODEL_FILE
    _changed(path, lambda values: values.update({name: value}))
    with pytest.raises(InputError, match=rf"export.json: {name} is .*: export the model again"):
        ExportInfo.load(path)


CONTENTS = {
    "nothing": (b"", "is not a JSON file"),
    "a list": (b"[]", "must hold a JSON object"),
    "null": (b"null", "must hold a JSON object"),
    "garbage": (b"\xff\x00\x81", "is not UTF-8"),
    "half": (b'{"task": "pretr', "is not a JSON file"),
    "an unknown field": (b'{"hello": 1}', "unknown field 'hello'"),
    "too few fields": (b'{"task": "a"}', "has no field 'answers'"),
    "deep": (b'{"task": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
    "a number of many digits": (b'{"task": ' + b"9" * 5000 + b"}", "digits"),
    "no number": (b'{"metrics": NaN}', "no JSON number"),
    "a field twice": (b'{"task": "a", "task": "b"}', "stands twice"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_what_is_no_description_is_told(tmp_path, case):
    content, message = CONTENTS[case]
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(InputError, match=message):
        ExportInfo.load(tmp_path / FILE_NAME)


def test_a_description_is_read_as_it_was_written(exported, tmp_path):
    info = ExportInfo.load(exported / "1" / SAVED_MODEL_FILE)
    info.metrics = {"accuracy": 0.5, "f1": float("nan")}
    info.save(tmp_path / FILE_NAME)
    read = ExportInfo.load(tmp_path / FILE_NAME)
    assert read.metrics == {"accuracy": 0.5}
    assert (read.answers, read.files) == (info.answers, info.files)
    assert sorted(read.files) == [
        "assets/vocab.txt", "fingerprint.pb", "saved_model.pb", DATA, "variables/variables.index"
    ]  # fmt: skip


# ---- files --------------------------------------------------------------------------------------


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def _remove(path):
    path.unlink()


def _to_pipe(path):
    path.unlink()
    os.mkfifo(path)


def _to_folder(path):
    path.unlink()
    path.mkdir()


def _grow(path):
    with open(path, "ab") as file:
        file.write(b"\n")


HARM = {
    "cut": (_cut, r"has \d+ bytes, \d+ were written"),
    "grown": (_grow, r"has \d+ bytes, \d+ were written"),
    "flipped": (_flip, "its sha256 differs"),
    "gone": (_remove, "cannot read|has no SavedModel"),
    "a pipe": (_to_pipe, "it is a named pipe"),
    "a folder": (_to_folder, "it is a folder"),
}
FILES = ("saved_model.pb", "fingerprint.pb", "variables/variables.index", "assets/vocab.txt")


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", [*FILES, DATA])
def test_a_file_that_was_harmed_is_named(broken, name, harm):
    do, message = HARM[harm]
    do(broken / name)
    if (name, harm) == (DATA, "flipped"):  # TensorFlow compares the checksums inside.
        message = "(?i)cannot be read as a SavedModel .*checksum"
    with pytest.raises(InputError, match=message) as error:
        _open(broken)
    assert "\n" not in str(error.value).strip() or harm == "flipped"


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index", DATA])
@pytest.mark.parametrize("content", [b"", b"\x08\x01garbage" * 50])
def test_exports_without_checksums_are_read_with_care(broken, name, content):
    _changed(broken / SAVED_MODEL_FILE, lambda values: values.pop("files"))
    (broken / name).write_bytes(content)
    with pytest.raises(InputError):
        _open(broken)


DESCRIPTIONS = {
    "an answer that is no signature": (
        lambda values: values.update(answers=["tagging"]),
        "'tagging' takes {} as",
    ),
    "a signature of ids": (lambda values: values.update(answers=["encoded"]), "'encoded' takes"),
    "an answer that the graph has not": (
        lambda values: values.update(
            answers=["tagging"],
            signatures={"tagging": {"inputs": {"text": ["string", [None]]}, "outputs": {}}},
        ),
        "cannot be read as a SavedModel with a signature 'tagging'",
    ),
    "a signature of other inputs": (
        lambda values: values["signatures"]["fill_mask"].update(inputs={"x": ["string", [None]]}),
        "'fill_mask' takes",
    ),
    "a signature of other types": (
        lambda values: values["signatures"]["fill_mask"].update(inputs={"text": ["int32", [None]]}),
        "'fill_mask' takes .*int32.* not texts",
    ),
    "a signature without inputs": (
        lambda values: values["signatures"]["fill_mask"].update(inputs={}),
        "'fill_mask' takes {} as export.json says, not texts",
    ),
    "a signature that is not described": (
        lambda values: values["signatures"].pop("fill_mask"),
        "'fill_mask' takes",
    ),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_a_description_of_another_model_is_told(broken, case):
    change, message = DESCRIPTIONS[case]
    _changed(broken / SAVED_MODEL_FILE, change)
    with pytest.raises(InputError, match=message):
        _open(broken)


def test_the_command_gives_one_line_for_a_foreign_savedmodel(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(module, str(tmp_path / "foreign"))
    process = subprocess.run(
        [sys.executable, "-m", "official_bert.predict", f"--saved_model={tmp_path / 'foreign'}"],
        input="",
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert process.returncode == 2
    assert process.stderr == (
        f"error: {tmp_path}/foreign/assets/export.json is not there: that is no export of this "
        "project\n"
    )


# ---- LiteRT -------------------------------------------------------------------------------------

LITE_FILES = ("model.tflite", "vocab.txt", "tokenizer_config.json")


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", LITE_FILES)
def test_a_file_of_litert_that_was_harmed_is_named(lite, tmp_path, name, harm):
    folder = shutil.copytree(lite, tmp_path / "lite")
    do, message = HARM[harm]
    do(folder / name)
    with pytest.raises(InputError, match=message):
        LiteAnswerer(folder)


LITE_CONTENTS = {
    "nothing": b"",
    "garbage": b"garbage" * 100,
    "a header alone": b"\x1c\x00\x00\x00TFL3",
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("content", LITE_CONTENTS)
def test_litert_without_checksums_is_read_with_care(lite, tmp_path, content):
    folder = shutil.copytree(lite, tmp_path / "lite")
    _changed(folder / FILE_NAME, lambda values: values.pop("files"))
    (folder / "model.tflite").write_bytes(LITE_CONTENTS[content])
    with pytest.raises(InputError, match=r"model.tflite .*export it again|not written by"):
        LiteAnswerer(folder)


@pytest.mark.parametrize("labels", ["a\n", "a\nb\nc\n", "a\u2028b\n", "\n\n\n"])
def test_other_labels_than_classes_are_told(lite, tmp_path, labels):
    folder = shutil.copytree(lite, tmp_path / "lite")
    classes = {"inputs": {}, "outputs": {"logits": ["float32", [None, 2]]}}
    _changed(folder / FILE_NAME, lambda values: values["signatures"].update(length_8=classes))
    (folder / "labels.txt").write_text(labels, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"labels.txt names \d labels, and the model has 2 classes"
    ):
        LiteAnswerer(folder)


def test_another_vocabulary_is_told(lite, tmp_path):
    folder = shutil.copytree(lite, tmp_path / "lite")
    _changed(folder / FILE_NAME, lambda values: values.update(files={}, vocab_sha256=SHA))
    with pytest.raises(InputError, match=r"another vocab.txt than that it was exported with"):
        LiteAnswerer(folder)
