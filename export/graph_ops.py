"""Which ops a SavedModel needs, and which servers have them."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

TENSORFLOW = "tensorflow"
TENSORFLOW_TEXT = "tensorflow_text"

# TensorFlow Serving has the version number of the TensorFlow in it, and all ops of tensorflow_text.
# 2.9 is the first with FastBertNormalize (release notes of tensorflow-text 2.9.0), which the
# tokenizer of every export has.
_BASE_VERSION = (2, 9)
_BASE_OPS = pathlib.Path(__file__).with_name("base_ops.txt")
# Later ops, by the first wheel of tensorflow-cpu that has them; an op that is in neither is taken
# for one of the version that writes the export.
_SINCE = {"DisableCopyOnRead": (2, 10)}


def graph_ops(export_dir: pathlib.Path) -> dict[str, list[str]]:
    """The names of all ops in the graph and in its functions, by the package that has them."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((export_dir / "saved_model.pb").read_bytes())
    names, functions = set(), set()
    for meta_graph in model.meta_graphs:
        graph = meta_graph.graph_def
        names |= {node.op for node in graph.node}
        for function in graph.library.function:
            names |= {node.op for node in function.node_def}
            # A call may have the function's name in the place of an op's.
            functions.add(function.signature.name)
    return by_package(sorted(names - functions))


def by_package(names: Sequence[str]) -> dict[str, list[str]]:
    """The ops by the package that has them; see `graph_ops`.

    An op that TensorFlow does not have is tensorflow_text's, because the verification loads the
    graph in a process that imports nothing else.
    """
    packages: dict[str, list[str]] = {TENSORFLOW: [], TENSORFLOW_TEXT: []}
    for name in names:
        packages[TENSORFLOW if hasattr(tf.raw_ops, name) else TENSORFLOW_TEXT].append(name)
    return packages


def least_serving_version(ops: Mapping[str, Sequence[str]]) -> str:
    """The least release of TensorFlow Serving with these ops: "2.10".

    Args:
        ops: from `graph_ops`.
    """
    newest = tuple(int(part) for part in tf.__version__.split(".")[:2])
    lines = _BASE_OPS.read_text(encoding="ascii").splitlines()
    base = {line for line in lines if not line.startswith("#")}
    later = [name for name in ops[TENSORFLOW] if name not in base]
    version = max([_BASE_VERSION, *(_SINCE.get(name, newest) for name in later)])
    return ".".join(map(str, version))
