"""From a file to {name in the file: tensor}; values are read when they are wanted."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import safetensors
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

from official_bert.checkpoints.tensors import StoredTensor
from official_bert.errors import InputError

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# Parts of an object graph's paths that hold no weights of a model.
_OPTIMIZER_PARTS = ("optimizer", ".OPTIMIZER_SLOT", "_optimizer")


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file.

    Raises:
        InputError: no such file, or one that is truncated or malformed.
    """
    if not os.path.exists(path):
        raise InputError(f"cannot read {path}: no such file")

    def stored(name: str, shape: tuple[int, ...]) -> StoredTensor:
        def read() -> np.ndarray:
            # Opened for each tensor: the file's pages are given back, and count once in memory.
            with safetensors.safe_open(path, framework="np") as file:
                return file.get_tensor(name).astype(np.float32, copy=False)

        return StoredTensor(name, shape, read)

    try:
        with safetensors.safe_open(path, framework="np") as file:
            names = list(file.keys())
            return {name: stored(name, tuple(file.get_slice(name).get_shape())) for name in names}
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path} is truncated or no safetensors file: {error}") from error


@dataclasses.dataclass(frozen=True)
class TensorFlowCheckpoint:
    """The variables of a checkpoint of either version of TensorFlow.

    Attributes:
        prefix: path without `.index`.
        has_objects: whether TensorFlow 2 wrote it (`tf.train.Checkpoint`), so that the names are
            those which the variables had in the program that wrote it.
        tensors: by name.
        skipped: names of optimizer variables and of what is no floating-point number.
    """

    prefix: str
    has_objects: bool
    tensors: dict[str, StoredTensor]
    skipped: list[str]


def read_tensorflow(prefix: str | os.PathLike[str]) -> TensorFlowCheckpoint:
    """Opens a checkpoint that `tf.compat.v1.train.Saver` or `tf.train.Checkpoint` wrote.

    Raises:
        InputError: a file of it is missing or damaged.
    """
    prefix = os.fspath(prefix)
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
        types = reader.get_variable_to_dtype_map()
        graph = trackable_object_graph_pb2.TrackableObjectGraph()
        if _OBJECT_GRAPH in shapes:
            graph.ParseFromString(reader.get_tensor(_OBJECT_GRAPH))
    except (tf.errors.OpError, ValueError) as error:
        raise InputError(f"cannot read the checkpoint {prefix}: {_first_line(error)}") from error

    def stored(name: str, key: str) -> StoredTensor:
        def read() -> np.ndarray:
            try:
                return reader.get_tensor(key).astype(np.float32, copy=False)
            except (tf.errors.OpError, ValueError, IndexError) as error:
                raise InputError(
                    f"cannot read {name} from {prefix}.data-*, which is damaged or truncated: "
                    f"{_first_line(error)}"
                ) from error

        return StoredTensor(name, tuple(shapes[key]), read)

    names = {key: key for key in shapes}
    if _OBJECT_GRAPH in shapes:
        names = {
            attribute.checkpoint_key: attribute.full_name
            for node in graph.nodes
            for attribute in node.attributes
            if attribute.checkpoint_key in shapes
        }
    tensors, skipped = {}, []
    for key, name in names.items():
        if types[key].is_floating and not any(p in key.split("/") for p in _OPTIMIZER_PARTS):
            tensors[name] = stored(name, key)
        else:
            skipped.append(name)
    return TensorFlowCheckpoint(prefix, _OBJECT_GRAPH in shapes, tensors, skipped)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
