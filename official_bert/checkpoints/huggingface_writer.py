"""Writes a Hugging Face folder that `transformers` loads with nothing missing or left over."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
from typing import Any

import numpy as np
import safetensors.numpy
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.checkpoints import name_maps
from official_bert.checkpoints.extensions import refuse_extensions
from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.huggingface import (
    CONFIG_NAME,
    SAFETENSORS_NAME,
    SAME_FIELDS,
    unnamed_labels,
)
from official_bert.checkpoints.source import expand
from official_bert.checkpoints.variables import named_variables
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.text.vocab import Vocab

_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "tanh": "tanh"}


def write(
    folder: pathlib.Path,
    model: tf_keras.Model,
    kind: str,
    labels: tuple[str, ...],
    vocab: Vocab | None,
) -> dict[str, str]:
    """Writes config.json and model.safetensors into `folder`.

    Returns:
        Our names of variables that Hugging Face's class has not, and why.

    Raises:
        InputError: the model has what Hugging Face's BertModel has not, or a head that no class
            there has.
    """
    config: BertConfig = model.config
    refuse_extensions(config, "Hugging Face's BertModel")
    head = HEADS[kind]
    variables = named_variables(model)
    architecture = head.huggingface.get(tuple(part.name for part in head.parts_in(variables)))
    if architecture is None:
        raise InputError(f"transformers has no class for a {kind}: write another format")
    names = expand(name_maps.HUGGINGFACE, config)
    arrays, dropped = {}, {}
    for ours, variable in variables.items():
        if ours.startswith("encoder/pooler/") and not head.huggingface_pooler:
            dropped[ours] = f"{architecture} has no pooler"
            continue
        theirs = names[ours] if head.parts else names[ours].removeprefix("bert.")
        array = variable.numpy()
        arrays[theirs] = np.ascontiguousarray(array.T) if ours.endswith("/kernel") else array
    # "pt" is what transformers asks of a file before it reads it.
    path = folder / SAFETENSORS_NAME
    try:
        safetensors.numpy.save_file(arrays, path, metadata={"format": "pt"})
    except safetensors.SafetensorError as error:
        # "Error while serializing: I/O error: No space left on device (os error 28)"
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number), str(path)) from error
        raise
    fields = _config_fields(config, architecture, vocab)
    settings = model.get_config()
    if head.has_classes:
        labels = labels or unnamed_labels(settings["num_classes"])
        fields["id2label"] = dict(enumerate(labels))
        fields["label2id"] = {label: index for index, label in enumerate(labels)}
    if "dropout" in head.settings:
        fields["classifier_dropout"] = settings["dropout"]
    with atomic_file(folder / CONFIG_NAME) as file:
        json.dump(fields, file, indent=2, ensure_ascii=False)
        file.write("\n")
    # The library makes it readable by its owner alone, whatever the umask says.
    shutil.copymode(folder / CONFIG_NAME, path)
    return dropped


def _config_fields(config: BertConfig, architecture: str, vocab: Vocab | None) -> dict[str, Any]:
    return {
        "architectures": [architecture],
        "model_type": "bert",
        **{key: getattr(config, key) for key in SAME_FIELDS},
        "hidden_act": _ACTIVATIONS[config.hidden_act],
        "pad_token_id": vocab.pad_id if vocab else 0,
        "position_embedding_type": "absolute",
    }
