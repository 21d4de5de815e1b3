"""Requests that a model server runs when it loads the model, before the first client comes.

TensorFlow Serving reads them from `assets.extra/tf_serving_warmup_requests`, a TFRecord file of
PredictionLog messages. Those are defined in tensorflow_serving/apis (prediction_log.proto,
predict.proto, model.proto), whose Python package this project does without: the messages used here
are only strings and messages within messages, and are written as such.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping

import tensorflow as tf

FOLDER = "assets.extra"
FILE_NAME = "tf_serving_warmup_requests"
# What a server accepts.
_MOST_REQUESTS = 1000

# Field numbers of the messages.
_PREDICTION_LOG_PREDICT_LOG = 6
_PREDICT_LOG_REQUEST = 1
_PREDICT_REQUEST_MODEL_SPEC, _PREDICT_REQUEST_INPUTS = 1, 2
_MODEL_SPEC_NAME, _MODEL_SPEC_SIGNATURE_NAME = 1, 3
_MAP_KEY, _MAP_VALUE = 1, 2


def write_warmup(
    export_dir: pathlib.Path,
    model_name: str,
    requests: Iterable[tuple[str, Mapping[str, tf.Tensor]]],
) -> None:
    """Writes the requests beside the SavedModel in `export_dir`.

    Args:
        export_dir: of the SavedModel.
        model_name: under which it is served.
        requests: name of the signature and its inputs.
    """
    logs = [prediction_log(model_name, name, inputs) for name, inputs in requests]
    if len(logs) > _MOST_REQUESTS:
        raise ValueError(f"{len(logs)} warm-up requests are more than {_MOST_REQUESTS}")
    folder = export_dir / FOLDER
    folder.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(folder / FILE_NAME)) as writer:
        for log in logs:
            writer.write(log)


def prediction_log(model_name: str, signature: str, inputs: Mapping[str, tf.Tensor]) -> bytes:
    """A serialized PredictionLog with one PredictRequest."""
    model_spec = _field(_MODEL_SPEC_NAME, model_name.encode()) + _field(
        _MODEL_SPEC_SIGNATURE_NAME, signature.encode()
    )
    request = _field(_PREDICT_REQUEST_MODEL_SPEC, model_spec)
    for name, tensor in inputs.items():
        proto = tf.make_tensor_proto(tensor).SerializeToString()
        entry = _field(_MAP_KEY, name.encode()) + _field(_MAP_VALUE, proto)
        request += _field(_PREDICT_REQUEST_INPUTS, entry)
    return _field(_PREDICTION_LOG_PREDICT_LOG, _field(_PREDICT_LOG_REQUEST, request))


def _field(number: int, value: bytes) -> bytes:
    """A field of strings, bytes or a message: tag with wire type 2, length, value."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
