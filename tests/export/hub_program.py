"""A program as people write it for the published BERT modules of TF Hub; knows nothing of us.

    python -m tests.export.hub_program train ENCODER PREPROCESSOR ROWS FOLDER
    python -m tests.export.hub_program go_on ROWS FOLDER

ROWS is text: a label and a TAB before each sentence. What was seen is printed as JSON.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # noqa: F401
import tf_keras


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return tf.constant([text for _, text in rows]), np.array([[int(label)] for label, _ in rows])


def look_at_preprocessor(path):
    """What the documentation of the published preprocessors shows."""
    preprocessor = hub.load(path)
    sentences = tf.constant(["a masterpiece four years in the making", "it's bad"])
    tokens = preprocessor.tokenize(sentences)
    with_offsets = preprocessor.tokenize_with_offsets(sentences)
    one = preprocessor.bert_pack_inputs([tokens], seq_length=tf.constant(12))
    two = preprocessor.bert_pack_inputs([tokens, tokens], seq_length=10)
    return {
        "root": _lists(preprocessor(sentences)),
        "tokens": tokens.to_list(),
        "with_offsets": [part.to_list() for part in with_offsets],
        "offset types": [part.dtype.name for part in with_offsets],
        "one": _lists(one),
        "two": _lists(two),
        "special": {
            name: int(value)
            for name, value in preprocessor.tokenize.get_special_tokens_dict().items()
        },
    }


def look_at_encoder(path, inputs):
    encoder = hub.load(path)
    outputs = encoder(inputs, training=False)
    states = outputs["sequence_output"]
    mlm = encoder.mlm({**inputs, "masked_lm_positions": tf.constant([[1, 2], [3, 1]])})
    again, dropped = encoder(inputs), encoder(inputs, training=True)
    signature = encoder.signatures["serving_default"](**inputs)
    return {
        "keys": sorted(outputs),
        "mlm keys": sorted(mlm),
        "layers": len(outputs["encoder_outputs"]),
        "shape": states.shape.as_list(),
        "mlm shape": mlm["mlm_logits"].shape.as_list(),
        "default is pooled": _equal(outputs["default"], outputs["pooled_output"]),
        "last layer is states": _equal(outputs["encoder_outputs"][-1], states),
        "no dropout": _equal(again["sequence_output"], states),
        "dropout in training": not _equal(dropped["sequence_output"], states),
        "signature": {name: value.shape.as_list() for name, value in signature.items()},
        "trainable": len(encoder.trainable_variables),
        "lower case": bool(encoder.do_lower_case),
        "vocab": len(tf.io.read_file(encoder.vocab_file).numpy().split()),
        "mlm trainable": len(encoder.mlm.trainable_variables),
    }


def make_classifier(encoder_path, preprocessor_path):
    text = tf_keras.layers.Input(shape=(), dtype=tf.string, name="text")
    inputs = hub.KerasLayer(preprocessor_path, name="preprocessing")(text)
    encoder = hub.KerasLayer(encoder_path, trainable=True, name="encoder")
    pooled = encoder(inputs)["pooled_output"]
    logits = tf_keras.layers.Dense(1)(tf_keras.layers.Dropout(0.1)(pooled))
    return tf_keras.Model(text, logits)


def make_pair_classifier(encoder_path, preprocessor_path):
    preprocessor = hub.load(preprocessor_path)
    texts = [tf_keras.layers.Input(shape=(), dtype=tf.string) for _ in range(2)]
    tokenize = hub.KerasLayer(preprocessor.tokenize)
    pack = hub.KerasLayer(preprocessor.bert_pack_inputs, arguments={"seq_length": 24})
    inputs = pack([tokenize(text) for text in texts])
    pooled = hub.KerasLayer(encoder_path)(inputs)["pooled_output"]
    return tf_keras.Model(texts, tf_keras.layers.Dense(1)(pooled))


def fit(model, texts, labels):
    model.compile(
        tf_keras.optimizers.Adam(3e-3), tf_keras.losses.BinaryCrossentropy(from_logits=True)
    )
    return model.fit(texts, labels, epochs=20, batch_size=16, verbose=0).history["loss"]


def train(encoder_path, preprocessor_path, rows_path, folder):
    seen = {"preprocessor": look_at_preprocessor(preprocessor_path)}
    inputs = {name: tf.constant(value) for name, value in seen["preprocessor"]["one"].items()}
    seen["encoder"] = look_at_encoder(encoder_path, inputs)
    pairs = make_pair_classifier(encoder_path, preprocessor_path)
    seen["pairs"] = pairs([tf.constant(["a", "b"]), tf.constant(["c", "d"])]).shape.as_list()

    texts, labels = read_rows(rows_path)
    model = make_classifier(encoder_path, preprocessor_path)
    before = model.get_layer("encoder").get_weights()[0]
    seen["losses"] = fit(model, texts, labels)
    seen["encoder changed"] = not _equal(before, model.get_layer("encoder").get_weights()[0])
    seen["logits"] = model(texts).numpy().tolist()
    model.save(folder, include_optimizer=False)
    return seen


def go_on(rows_path, folder):
    texts, labels = read_rows(rows_path)
    model = tf_keras.models.load_model(folder)
    logits = model(texts).numpy().tolist()
    before = model.get_layer("encoder").get_weights()[0]
    losses = fit(model, texts, labels)
    changed = not _equal(before, model.get_layer("encoder").get_weights()[0])
    return {"logits": logits, "losses": losses, "encoder changed": changed}


def _lists(tensors):
    return {name: tensor.numpy().tolist() for name, tensor in tensors.items()}


def _equal(one, other):
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


if __name__ == "__main__":
    tf.random.set_seed(1)
    print(json.dumps({"train": train, "go_on": go_on}[sys.argv[1]](*sys.argv[2:])))
