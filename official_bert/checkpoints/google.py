"""Reads and writes the TensorFlow 1 checkpoints of google-research/bert."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.checkpoints import name_maps
from official_bert.checkpoints.extensions import refuse_extensions
from official_bert.checkpoints.heads import HEADS, kind_of
from official_bert.checkpoints.readers import TensorFlowCheckpoint
from official_bert.checkpoints.source import (
    Source,
    drop_lone_parts,
    expand,
    num_classes,
    renamed,
)
from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.checkpoints.variables import named_variables
from official_bert.config import BertConfig
from official_bert.errors import InputError, shown
from official_bert.json_file import read_json
from official_bert.model_folder import BERT_CONFIG_NAME, read_labels
from official_bert.path import to_path

PREFIX_NAME = "bert_model.ckpt"
# Keys of ours in a bert_config.json for google-research/bert, which reads past them. The first says
# that "gelu" is erf here, the second which of the models with the same names of variables it is.
_GELU_KEY = "official_bert_gelu"
_KIND_KEY = "official_bert_kind"


def read(checkpoint: TensorFlowCheckpoint) -> Source:
    """Looks into a checkpoint of google-research/bert.

    Raises:
        InputError: there is no bert_config.json beside it.
    """
    folder = to_path(checkpoint.prefix).parent
    config, stated = read_config(folder / BERT_CONFIG_NAME)
    stored = renamed(
        to_path(checkpoint.prefix),
        checkpoint.tensors,
        lambda name: name.removeprefix("module/"),
    )
    dropped = dict.fromkeys(checkpoint.skipped, "no weight")
    for name in list(stored):
        if name in name_maps.GOOGLE_DROPPED or name.endswith(name_maps.GOOGLE_DROPPED_SUFFIXES):
            dropped[stored.pop(name).name] = "optimizer state"
    tensors = {
        ours: stored.pop(theirs).transposed()
        if ours in name_maps.GOOGLE_TRANSPOSED
        else stored.pop(theirs)
        for ours, theirs in expand(name_maps.GOOGLE, config).items()
        if theirs in stored
    }
    drop_lone_parts(tensors, dropped)
    kind, classes = kind_of(tensors, stated), num_classes(tensors)
    vocab, tokenizer = find_tokenizer(folder)
    return Source(
        path=to_path(checkpoint.prefix),
        format="google_tf1",
        config=config.replace(use_pooler="encoder/pooler/kernel" in tensors),
        kind=kind,
        tensors=tensors,
        unused=[tensor.name for tensor in stored.values()],
        dropped=dropped,
        num_classes=classes,
        labels=read_labels(folder, classes if HEADS[kind].has_classes else None),
        vocab=vocab,
        tokenizer=tokenizer,
    )


def read_config(path: pathlib.Path) -> tuple[BertConfig, str | None]:
    """A bert_config.json for google-research/bert, and the kind of model where we wrote it."""
    if not path.exists():
        raise InputError(f"{path} is missing: it says how many heads the model has, and more")
    fields = read_json(path)
    config = BertConfig.from_json_file(path, known=(_GELU_KEY, _KIND_KEY))
    # google-research/bert's modeling.gelu is the tanh form, under the plain name.
    if config.hidden_act == "gelu" and fields.get(_GELU_KEY) != "erf":
        config = config.replace(hidden_act="gelu_tanh")
    kind = fields.get(_KIND_KEY)
    if kind is not None and kind not in list(HEADS):
        raise InputError(
            f"{path}: {_KIND_KEY} must be one of {', '.join(HEADS)}, got {shown(kind)}"
        )
    return config, kind


def config_json(config: BertConfig, kind: str) -> str:
    """The text of a bert_config.json for google-research/bert and the Model Garden."""
    fields: dict[str, Any] = config.to_dict()
    if config.hidden_act == "gelu":
        fields[_GELU_KEY] = "erf"
    if config.hidden_act == "gelu_tanh":
        fields["hidden_act"] = "gelu"
    fields[_KIND_KEY] = kind
    return json.dumps(fields, indent=2, sort_keys=True) + "\n"


def write(folder: pathlib.Path, model: tf_keras.Model, kind: str) -> None:
    """Writes bert_model.ckpt.* and bert_config.json into `folder`.

    Raises:
        InputError: google-research/bert's model has no such parts.
    """
    config: BertConfig = model.config
    refuse_extensions(config, "google-research/bert")
    names = expand(name_maps.GOOGLE, config)
    variables = named_variables(model)
    if not set(variables) <= set(names):
        raise InputError(f"google-research/bert has no head of a {kind}: write another format")
    tf.raw_ops.SaveV2(
        prefix=os.fspath(folder / PREFIX_NAME),
        tensor_names=[names[ours] for ours in variables],
        shape_and_slices=[""] * len(variables),
        tensors=[
            tf.transpose(variable) if ours in name_maps.GOOGLE_TRANSPOSED else variable
            for ours, variable in variables.items()
        ],
    )
    with atomic_file(folder / BERT_CONFIG_NAME) as file:
        file.write(config_json(config, kind))
