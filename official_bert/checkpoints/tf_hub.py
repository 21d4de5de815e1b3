"""Reads the encoder SavedModels that the Model Garden exports for TF Hub."""

from __future__ import annotations

import pathlib

import numpy as np
from google.protobuf import message
from tensorflow.core.protobuf import saved_model_pb2

from official_bert.checkpoints import model_garden
from official_bert.checkpoints.readers import read_tensorflow, read_tensorflow_value
from official_bert.checkpoints.source import Source
from official_bert.checkpoints.tokenizer_files import is_cased
from official_bert.errors import InputError
from official_bert.regular_file import read_bytes
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab

SAVED_MODEL_NAME = "saved_model.pb"
_LOWER_CASE = "do_lower_case"
# Of BERT-Large with its signatures: 12 MB.
_MAX_GRAPH_BYTES = 64 << 20


def read(folder: pathlib.Path) -> Source:
    """Looks into a SavedModel, without loading its graph.

    Raises:
        InputError: it is not an encoder of the Model Garden, or damaged.
    """
    checkpoint = read_tensorflow(folder / "variables" / "variables")
    if not model_garden.is_model_garden(checkpoint):
        names = ", ".join(list(checkpoint.tensors)[:3])
        raise InputError(f"{folder} is a SavedModel, but no BERT encoder of TF Hub: it has {names}")
    hidden_act = "gelu" if "Erf" in _operations(folder) else "gelu_tanh"
    source = model_garden.read_variables(checkpoint, None, hidden_act)
    source.path, source.format = folder, "tf_hub"
    assets = sorted((folder / "assets").glob("*")) if (folder / "assets").is_dir() else []
    if len(assets) == 1:
        source.vocab = Vocab.from_file(assets[0])
        source.tokenizer = TokenizerConfig(lower_case=_lower_case(folder, source.vocab))
    return source


def _operations(folder: pathlib.Path) -> set[str]:
    """The kinds of operation in the graph; GELU by erf can be told from GELU by tanh."""
    saved_model = saved_model_pb2.SavedModel()
    try:
        saved_model.ParseFromString(read_bytes(folder / SAVED_MODEL_NAME, limit=_MAX_GRAPH_BYTES))
    except message.DecodeError as error:
        raise InputError(f"cannot read {folder / SAVED_MODEL_NAME}: {error}") from error
    return {
        node.op
        for graph in saved_model.meta_graphs
        for function in graph.graph_def.library.function
        for node in function.node_def
    }


def _lower_case(folder: pathlib.Path, vocab: Vocab) -> bool:
    """What the export says; older ones without a word about it are judged by their vocabulary."""
    key = f"{_LOWER_CASE}/.ATTRIBUTES/VARIABLE_VALUE"
    value = read_tensorflow_value(folder / "variables" / "variables", key)
    return not is_cased(vocab) if value is None else bool(np.any(value))
