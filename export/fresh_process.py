"""Runs the signatures of a SavedModel as a client would: TensorFlow, tensorflow_text, no more.

Started by `command`, with this folder alone added to the import path, so that nothing of this
project can be imported: what the graph lacks, shows.

REQUESTS is JSON: a list of {"signature": name, "inputs": {name: tensor}}; ANSWERS gets a list of
{name: tensor} in the same order; a tensor is {"dtype": …, "proto": base64 of a TensorProto}.
"""

import base64
import json
import os
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401  Registers the tokenizer's ops.


def command(export_dir, requests_path, answers_path):
    """The command line that runs `main` in another process."""
    folder, name = os.path.split(os.path.abspath(__file__))
    code = f"import sys; sys.path.append({folder!r}); import {name.removesuffix('.py')} as module; "
    code += "module.main(*sys.argv[1:])"
    return [sys.executable, "-I", "-c", code, *map(str, (export_dir, requests_path, answers_path))]


def to_json(tensor):
    """A tensor as a JSON value."""
    proto = tf.io.serialize_tensor(tensor).numpy()
    return {"dtype": tensor.dtype.name, "proto": base64.b64encode(proto).decode()}


def from_json(value):
    """The tensor of a JSON value."""
    return tf.io.parse_tensor(base64.b64decode(value["proto"]), tf.as_dtype(value["dtype"]))


def main(export_dir, requests_path, answers_path):
    """Runs the requests of a file and writes the answers to another."""
    strangers = sorted({"official_bert", "export", "tf_keras"} & sys.modules.keys())
    if strangers:
        raise RuntimeError(f"this process must not know the project, but has {strangers}")
    with open(requests_path, encoding="utf-8") as file:
        requests = json.load(file)
    signatures = tf.saved_model.load(export_dir).signatures
    answers = []
    for request in requests:
        inputs = {name: from_json(value) for name, value in request["inputs"].items()}
        outputs = signatures[request["signature"]](**inputs)
        answers.append({name: to_json(tensor) for name, tensor in outputs.items()})
    with open(answers_path, "w", encoding="utf-8") as file:
        json.dump(answers, file)
