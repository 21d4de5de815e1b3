"""Warm-up requests beside the messages as TensorFlow Serving defines them."""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorflow.core.framework import tensor_pb2

from export.warmup import prediction_log

# tensorflow_serving/apis/{prediction_log,predict,model}.proto, without what is not used here.
_MESSAGES = {
    "ModelSpec": {"name": (1, "string"), "signature_name": (3, "string")},
    "InputsEntry": {"key": (1, "string"), "value": (2, ".tensorflow.TensorProto")},
    "PredictRequest": {"model_spec": (1, ".t.ModelSpec"), "inputs": (2, "repeated .t.InputsEntry")},
    "PredictLog": {"request": (1, ".t.PredictRequest")},
    "PredictionLog": {"predict_log": (6, ".t.PredictLog")},
}


@functools.cache
def _prediction_log_class():
    pool = descriptor_pool.Default()
    file = descriptor_pb2.FileDescriptorProto(
        name="serving_apis_test.proto", package="t", syntax="proto3"
    )
    file.dependency.append(tensor_pb2.DESCRIPTOR.name)
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        for name, (number, kind) in fields.items():
            field = message.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if "repeated" in kind else field.LABEL_OPTIONAL
            if kind == "string":
                field.type = field.TYPE_STRING
            else:
                field.type, field.type_name = field.TYPE_MESSAGE, kind.split()[-1]
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.PredictionLog"))


def test_requests_are_prediction_logs(exported):
    path = exported / "1" / "assets.extra" / "tf_serving_warmup_requests"
    kind = _prediction_log_class()
    logs = [kind.FromString(r.numpy()) for r in tf.data.TFRecordDataset(str(path))]
    requests = [log.predict_log.request for log in logs]
    assert {request.model_spec.name for request in requests} == {"tiny"}
    assert [request.model_spec.signature_name for request in requests] == [
        "fill_mask", "serving_default", "examples", "encoded", "next_sentence", "embed"
    ]  # fmt: skip
    loaded = tf.saved_model.load(str(exported / "1"))
    for request in requests:
        inputs = {entry.key: tf.make_ndarray(entry.value) for entry in request.inputs}
        assert {len(value) for value in inputs.values()} == {1}
        loaded.signatures[request.model_spec.signature_name](
            **{name: tf.constant(value) for name, value in inputs.items()}
        )


def test_long_values_have_their_length_in_several_bytes():
    inputs = {"a": tf.constant(np.arange(1000)), "b": tf.constant(["x" * 300])}
    log = _prediction_log_class().FromString(prediction_log("m", "s", inputs))
    read = {entry.key: tf.make_ndarray(entry.value) for entry in log.predict_log.request.inputs}
    assert (read["a"] == np.arange(1000)).all()
    assert read["b"].tolist() == [b"x" * 300]
