"""Which ops a SavedModel needs, and which packages a server must have for them."""

from __future__ import annotations

import pathlib

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

TENSORFLOW = "tensorflow"
TENSORFLOW_TEXT = "tensorflow_text"


def graph_ops(export_dir: pathlib.Path) -> list[str]:
    """The names of all ops in the graph and in its functions, sorted."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((export_dir / "saved_model.pb").read_bytes())
    names = set()
    for meta_graph in model.meta_graphs:
        graph = meta_graph.graph_def
        names |= {node.op for node in graph.node}
        functions = {function.signature.name for function in graph.library.function}
        for function in graph.library.function:
            names |= {node.op for node in function.node_def}
        # A call may have the function's name in the place of an op's.
        names -= functions
    return sorted(names)


def by_package(names: list[str]) -> dict[str, list[str]]:
    """The ops by the package that has them.

    A name that TensorFlow does not know is tensorflow_text's: no other package with ops is used.
    """
    packages: dict[str, list[str]] = {TENSORFLOW: [], TENSORFLOW_TEXT: []}
    for name in names:
        packages[TENSORFLOW if hasattr(tf.raw_ops, name) else TENSORFLOW_TEXT].append(name)
    return packages
