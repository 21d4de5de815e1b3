"""Reads the encoder SavedModels that the Model Garden exports for TF Hub."""

from __future__ import annotations

import pathlib

import numpy as np

from official_bert.checkpoints import model_garden
from official_bert.checkpoints.readers import read_tensorflow, read_tensorflow_value
from official_bert.checkpoints.source import Source
from official_bert.errors import InputError
from official_bert.regular_file import read_bytes
from official_bert.tensor_bundle import read_varint
from official_bert.text.tokenizer_config import TokenizerConfig, is_cased
from official_bert.text.vocab import Vocab

SAVED_MODEL_NAME = "saved_model.pb"
_LOWER_CASE = "do_lower_case"
_MAX_GRAPH_BYTES = 256 << 20
# Protocol buffers: a tag is the number of a field and how its value is written. The graphs are
# field 2 of a SavedModel, the operation's name field 2 of a node.
_NUMBER, _BYTES = 0, 2
_GRAPH_TAG = 2 << 3 | _BYTES
_ERF = b"\x12\x03Erf"


def read(folder: pathlib.Path) -> Source:
    """Looks into a SavedModel, without loading its graph.

    Raises:
        InputError: it is not an encoder of the Model Garden, or damaged.
    """
    checkpoint = read_tensorflow(folder / "variables" / "variables")
    if not model_garden.is_model_garden(checkpoint):
        names = ", ".join(list(checkpoint.tensors)[:3])
        raise InputError(f"{folder} is a SavedModel, but no BERT encoder of TF Hub: it has {names}")
    hidden_act = "gelu" if _uses_erf(folder) else "gelu_tanh"
    source = model_garden.read_variables(checkpoint, None, hidden_act)
    source.path, source.format = folder, "tf_hub"
    assets = sorted((folder / "assets").glob("*")) if (folder / "assets").is_dir() else []
    if len(assets) == 1:
        source.vocab = Vocab.from_file(assets[0])
        source.tokenizer = TokenizerConfig(lower_case=_lower_case(folder, source.vocab))
    return source


def _uses_erf(folder: pathlib.Path) -> bool:
    """Whether the graph has an operation Erf: GELU by erf can be told from GELU by tanh.

    A graph of many empty messages takes a hundred times its size in memory once it is parsed, so
    only the outermost fields are: enough to see that the file is whole.
    """
    path = folder / SAVED_MODEL_NAME
    content = read_bytes(path, limit=_MAX_GRAPH_BYTES)
    at = graphs = 0
    try:
        while at < len(content):
            tag, at = read_varint(content, at)
            value, at = read_varint(content, at)
            if tag == _GRAPH_TAG:
                graphs += 1
            at += value if tag & 7 == _BYTES else 0
            if at > len(content) or tag & 7 not in (_NUMBER, _BYTES):
                raise ValueError(f"a field at byte {at}, it has {len(content)}")
    except ValueError as error:
        raise InputError(f"{path} is truncated or no SavedModel: {error}") from error
    if not graphs:
        raise InputError(f"{path} is truncated or no SavedModel: it has no graph")
    return _ERF in content


def _lower_case(folder: pathlib.Path, vocab: Vocab) -> bool:
    """What the export says; older ones without a word about it are judged by their vocabulary."""
    key = f"{_LOWER_CASE}/.ATTRIBUTES/VARIABLE_VALUE"
    value = read_tensorflow_value(folder / "variables" / "variables", key)
    return not is_cased(vocab) if value is None else bool(np.any(value))
