"""Writes a Hugging Face folder that `transformers` loads with nothing missing or left over."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import safetensors.numpy
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.checkpoints import name_maps
from official_bert.checkpoints.extensions import refuse_extensions
from official_bert.checkpoints.huggingface import (
    CONFIG_NAME,
    SAFETENSORS_NAME,
    SAME_FIELDS,
    unnamed_labels,
)
from official_bert.checkpoints.source import expand
from official_bert.checkpoints.variables import named_variables
from official_bert.config import BertConfig
from official_bert.text.vocab import Vocab

_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "tanh": "tanh"}
_ARCHITECTURES = {
    "encoder": "BertModel",
    "pretrainer": "BertForPreTraining",
    "classifier": "BertForSequenceClassification",
    "token_classifier": "BertForTokenClassification",
    "multiple_choice": "BertForMultipleChoice",
    "span_labeler": "BertForQuestionAnswering",
}
# Made with add_pooling_layer=False there.
_WITHOUT_POOLER = ("token_classifier", "span_labeler")


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
        InputError: the model has what Hugging Face's BertModel has not.
    """
    config: BertConfig = model.config
    refuse_extensions(config, "Hugging Face's BertModel")
    names = expand(name_maps.HUGGINGFACE, config)
    variables = named_variables(model)
    arrays, dropped = {}, {}
    for ours, variable in variables.items():
        if ours.startswith("encoder/pooler/") and kind in _WITHOUT_POOLER:
            dropped[ours] = f"{_ARCHITECTURES[kind]} has no pooler"
            continue
        theirs = names[ours] if kind != "encoder" else names[ours].removeprefix("bert.")
        array = variable.numpy()
        arrays[theirs] = np.ascontiguousarray(array.T) if ours.endswith("/kernel") else array
    # "pt" is what transformers asks of a file before it reads it.
    safetensors.numpy.save_file(arrays, folder / SAFETENSORS_NAME, metadata={"format": "pt"})
    architecture = _ARCHITECTURES[kind]
    if kind == "pretrainer" and "next_sentence/bias" not in variables:
        architecture = "BertForMaskedLM"
    fields = _config_fields(config, architecture, vocab)
    if "classifier/bias" in variables and kind != "multiple_choice":
        labels = labels or unnamed_labels(variables["classifier/bias"].shape[0])
        fields["id2label"] = dict(enumerate(labels))
        fields["label2id"] = {label: index for index, label in enumerate(labels)}
        fields["classifier_dropout"] = model.get_config()["dropout"]
    with atomic_file(folder / CONFIG_NAME) as file:
        json.dump(fields, file, indent=2, ensure_ascii=False)
        file.write("\n")
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
