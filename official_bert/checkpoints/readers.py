"""From a file to {name in the file: tensor}; values are read when they are wanted."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
import tensorflow as tf
from google.protobuf import message
from tensorflow.core.protobuf import trackable_object_graph_pb2

from official_bert.checkpoints.tensors import StoredTensor, is_name
from official_bert.errors import InputError, shown
from official_bert.json_file import parse_json
from official_bert.regular_file import check_regular
from official_bert.tensor_bundle import OBJECT_GRAPH, BundleEntry, check_index, literal_prefix

# Parts of an object graph's paths that hold no weights of a model.
_OPTIMIZER_PARTS = ("optimizer", ".OPTIMIZER_SLOT", "_optimizer")
# The header of a safetensors file: its length in eight bytes, then JSON of 100 bytes a tensor.
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 16 << 20
# A shape that NumPy cannot have, a type for which it has no name.
_UNREADABLE = (ValueError, AttributeError)
_SAFETENSORS_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file.

    Raises:
        InputError: no such file, or one that is truncated or malformed.
    """
    types = _safetensors_types(path)

    def stored(name: str, shape: tuple[int, ...]) -> StoredTensor:
        def read() -> np.ndarray:
            # Opened for each tensor: the file's pages are given back, and count once in memory.
            try:
                with safetensors.safe_open(path, framework="np") as file:
                    return file.get_tensor(name).astype(np.float32, copy=False)
            except (safetensors.SafetensorError, OSError, MemoryError, *_UNREADABLE) as error:
                raise InputError(f"cannot read {shown(name)} from {path}: {error}") from error

        return StoredTensor(name, shape, read, types[name])

    try:
        # It checks that the tensors fill the file, without gaps and without overlap.
        with safetensors.safe_open(path, framework="np") as file:
            names = list(file.keys())
            return {name: stored(name, tuple(file.get_slice(name).get_shape())) for name in names}
    except (safetensors.SafetensorError, OSError, MemoryError) as error:
        raise InputError(f"{path} is truncated or no safetensors file: {error}") from error


def _safetensors_types(path: str | os.PathLike[str]) -> dict[str, str]:
    """The types by name; the header is bounded, and names no tensor twice."""
    size = check_regular(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if size < _LENGTH_BYTES or length > size - _LENGTH_BYTES:
            raise InputError(
                f"{path} is truncated or no safetensors file: it has {size} bytes, its header "
                f"should have {length}"
            )
        if length > _MAX_HEADER_BYTES:
            raise InputError(f"{path} has a header of {length} bytes: no model has so many tensors")
        header = parse_json(file.read(length), f"{path}: the header")
    types = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind = entry.get("dtype") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or not is_name(name):
            raise InputError(f"{path} is no safetensors file: {shown(name)} is {shown(entry)}")
        types[name] = _SAFETENSORS_TYPES.get(kind, kind)
    return types


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
    entries = check_index(prefix)
    reader = _open(prefix)

    def stored(name: str, key: str) -> StoredTensor:
        entry = entries[key]
        return StoredTensor(
            name,
            entry.shape,
            lambda: _read_tensor(reader, prefix, key).astype(np.float32, copy=False),
            entry.dtype.name,
        )

    names = {key: key for key in entries}
    if OBJECT_GRAPH in entries:
        names = _full_names(_read_tensor(reader, prefix, OBJECT_GRAPH), prefix, entries)
    tensors, skipped = {}, []
    for key, name in names.items():
        is_slot = any(part in key.split("/") for part in _OPTIMIZER_PARTS)
        if entries[key].dtype.is_floating and not is_slot:
            # Of two variables with the same name neither is the one that is meant.
            unique = key if name in tensors else name
            tensors[unique] = stored(unique, key)
        else:
            skipped.append(name)
    return TensorFlowCheckpoint(prefix, OBJECT_GRAPH in entries, tensors, skipped)


def read_tensorflow_value(prefix: str | os.PathLike[str], key: str) -> Any:
    """One tensor of a checkpoint by its key in the file; None where it has none.

    Raises:
        InputError: a file of it is missing or damaged.
    """
    prefix = os.fspath(prefix)
    return _read_tensor(_open(prefix), prefix, key) if key in check_index(prefix) else None


def _open(prefix: str) -> Any:
    """TensorFlow's reader of a checkpoint that was checked."""
    try:
        # Unlike `load_checkpoint` it does not take a folder of this name instead.
        return tf.compat.v1.train.NewCheckpointReader(literal_prefix(prefix))
    except (tf.errors.OpError, ValueError) as error:
        raise InputError(f"cannot read the checkpoint {prefix}: {_first_line(error)}") from error


def _read_tensor(reader: Any, prefix: str, key: str) -> Any:
    try:
        return reader.get_tensor(key)
    except (tf.errors.OpError, ValueError, IndexError) as error:
        raise InputError(
            f"cannot read {key} from {prefix}.data-*, which is damaged or truncated: "
            f"{_first_line(error)}"
        ) from error


def _full_names(content: bytes, prefix: str, entries: Mapping[str, BundleEntry]) -> dict[str, str]:
    """The names of variables by their keys, from the graph of the objects that held them."""
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(content)
    except message.DecodeError as error:
        raise InputError(f"{prefix}.data-* is damaged: its object graph cannot be read") from error
    names = {
        attribute.checkpoint_key: attribute.full_name
        for node in graph.nodes
        for attribute in node.attributes
        if attribute.checkpoint_key in entries
    }
    odd = [name for name in names.values() if not name.isprintable()]
    if odd:
        raise InputError(f"{prefix}.data-* is damaged: a variable has the name {shown(odd[0])}")
    return names


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
