"""Reads Hugging Face folders: config.json, model.safetensors or pytorch_model.bin, and more."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

from official_bert.checkpoints import name_maps
from official_bert.checkpoints.heads import HEADS, HUGGINGFACE_KINDS, kind_of
from official_bert.checkpoints.readers import read_safetensors
from official_bert.checkpoints.source import (
    Source,
    drop_lone_parts,
    expand,
    num_classes,
    renamed,
)
from official_bert.checkpoints.tensors import StoredTensor, check_memory
from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.checkpoints.torch_file import read_torch_file
from official_bert.config import BertConfig
from official_bert.errors import InputError, shown
from official_bert.json_file import read_json

CONFIG_NAME = "config.json"
SAFETENSORS_NAME = "model.safetensors"
# In order of preference; with `.index.json` behind it the name of a list of parts.
WEIGHT_NAMES = (SAFETENSORS_NAME, "pytorch_model.bin")
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "tanh": "tanh",
}
# Files of one model's weights.
_MAX_PARTS = 1000
_SHOWN_LETTERS = 80
_ID = re.compile(r"0|[1-9][0-9]{0,8}")
# Where `str.splitlines` splits.
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Fields of config.json with the names and meanings of BertConfig's.
SAME_FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
)


def read(folder: pathlib.Path) -> Source:
    """Looks into a Hugging Face folder.

    Raises:
        InputError: it is not a BERT, or one that is built otherwise than ours.
    """
    fields = read_json(folder / CONFIG_NAME)
    _check_model(folder, fields)
    stored = renamed(folder, _read_weights(folder), _full_name)
    check_memory(folder, stored.values())
    dropped: dict[str, str] = {}
    for name in name_maps.HUGGINGFACE_DROPPED:
        if name in stored:
            dropped[stored.pop(name).name] = "position numbers, not weights"
    _drop_tied(folder, stored, dropped)
    config = _encoder_config(folder, fields)
    config = config.replace(use_pooler="bert.pooler.dense.weight" in stored)
    tensors = {
        ours: stored.pop(theirs).transposed() if ours.endswith("/kernel") else stored.pop(theirs)
        for ours, theirs in expand(name_maps.HUGGINGFACE, config).items()
        if theirs in stored
    }
    drop_lone_parts(tensors, dropped)
    architecture = next(iter(_architectures(folder, fields)), "")
    declared = HUGGINGFACE_KINDS.get(architecture, "encoder")
    kind = kind_of(tensors, declared)
    labels = _labels(folder, fields)
    classes = num_classes(tensors) or (len(labels) if HEADS[declared].has_classes else None)
    vocab, tokenizer = find_tokenizer(folder)
    return Source(
        path=folder,
        format="huggingface",
        config=config,
        kind=declared if kind == "encoder" else kind,
        tensors=tensors,
        unused=[tensor.name for tensor in stored.values()],
        dropped=dropped,
        num_classes=classes,
        # A config that was copied from another model has the wrong ones, and names like LABEL_0
        # stand for none.
        labels=labels if len(labels) == classes and labels != unnamed_labels(classes) else (),
        head_dropout=_head_dropout(folder, fields),
        vocab=vocab,
        tokenizer=tokenizer,
    )


def unnamed_labels(classes: int) -> tuple[str, ...]:
    """What transformers calls classes without names."""
    return tuple(f"LABEL_{index}" for index in range(classes))


def _check_model(folder: pathlib.Path, fields: dict[str, Any]) -> None:
    """Refuses other models, and BERTs with parts that ours has not."""
    path = folder / CONFIG_NAME
    model_type = fields.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise InputError(f"{path}: model_type must be a name, got {shown(model_type)}")
    for name in filter(None, [model_type, *_architectures(folder, fields)]):
        if name != "bert" and not name.startswith("Bert"):
            raise InputError(
                f"{path} describes {name[:_SHOWN_LETTERS]}, which is another model than BERT"
            )
    wrong = {
        "position_embedding_type": fields.get("position_embedding_type", "absolute") != "absolute",
        "is_decoder": bool(fields.get("is_decoder")),
        "add_cross_attention": bool(fields.get("add_cross_attention")),
        "pruned_heads": bool(fields.get("pruned_heads")),
    }
    for key, is_wrong in wrong.items():
        if is_wrong:
            raise InputError(
                f"{path} has {key} {shown(fields[key])}: this is not the BERT of Devlin et al. "
                "2019, and its weights would give wrong answers here"
            )


def _encoder_config(folder: pathlib.Path, fields: dict[str, Any]) -> BertConfig:
    path = folder / CONFIG_NAME
    act = fields.get("hidden_act", "gelu")
    if not isinstance(act, str) or act not in ACTIVATIONS:
        raise InputError(f"{path} has hidden_act {shown(act)}; known: {', '.join(ACTIVATIONS)}")
    if "num_attention_heads" not in fields:
        raise InputError(
            f"{path} has no num_attention_heads, and the weights do not say how many they are for"
        )
    values = {key: fields[key] for key in SAME_FIELDS if key in fields}
    try:
        return BertConfig.from_dict({**values, "hidden_act": ACTIVATIONS[act]})
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read_weights(folder: pathlib.Path) -> dict[str, StoredTensor]:
    for name in WEIGHT_NAMES:
        read = read_safetensors if name == SAFETENSORS_NAME else read_torch_file
        if (folder / name).exists():
            return read(folder / name)
        index = folder / f"{name}.index.json"
        if index.exists():
            return _read_parts(index, read)
    found = ", ".join(sorted(path.name for path in folder.iterdir()))
    raise InputError(f"{folder} has {CONFIG_NAME} but neither of {WEIGHT_NAMES}; it has {found}")


def _read_parts(
    index: pathlib.Path, read: Callable[[pathlib.Path], dict[str, StoredTensor]]
) -> dict[str, StoredTensor]:
    """The tensors of all files that an index names; each tensor lies in the file that it says."""
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InputError(
            f"{index}: weight_map must be an object of names and files, got {shown(weight_map)}"
        )
    for name, part in weight_map.items():
        if not isinstance(part, str) or part in ("", ".", "..") or not part.isprintable():
            raise InputError(f"{index} names no file for {shown(name)}: {shown(part)}")
        if pathlib.PurePath(part).name != part:
            raise InputError(f"{index} points outside its folder: {shown(part)}")
    parts = sorted(set(weight_map.values()))
    if len(parts) > _MAX_PARTS:
        raise InputError(f"{index} names {len(parts)} files; {_MAX_PARTS} are the most")
    stored: dict[str, StoredTensor] = {}
    for part in parts:
        for name, tensor in read(index.parent / part).items():
            if name in stored or weight_map.get(name, part) != part:
                raise InputError(
                    f"{index.parent / part} has {shown(name)}, which lies in "
                    f"{shown(weight_map.get(name))} by {index.name}"
                )
            stored[name] = tensor
    missing = [name for name in weight_map if name not in stored]
    if missing:
        raise InputError(
            f"{index.parent / weight_map[missing[0]]} has no {shown(missing[0])}, which "
            f"{index.name} says that it has"
        )
    return stored


def _full_name(name: str) -> str:
    """With the prefix `bert.`, and LayerNorm's parameters as they are named since 2019."""
    if name.split(".")[0] in ("embeddings", "encoder", "pooler"):
        name = f"bert.{name}"
    # Only a LayerNorm's: other variables may have these words in their names.
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        if name.endswith(f".{old}"):
            return name.removesuffix(old) + new
    return name


def _drop_tied(
    folder: pathlib.Path, stored: dict[str, StoredTensor], dropped: dict[str, str]
) -> None:
    """Takes out the second names of tied arrays."""
    for second, first in name_maps.HUGGINGFACE_TIED.items():
        if second not in stored:
            continue
        tensor = stored.pop(second)
        if first not in stored:
            stored[first] = tensor
        elif tensor.equals(stored[first]):
            dropped[tensor.name] = f"the same as {stored[first].name}"
        else:
            raise InputError(
                f"{folder}: {tensor.name} is not the same as {stored[first].name}; in BERT the two "
                "are tied"
            )


def _architectures(folder: pathlib.Path, fields: dict[str, Any]) -> list[str]:
    names = fields.get("architectures")
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{folder / CONFIG_NAME}: architectures must be a list of names, got {shown(names)}"
        )
    return names


def _head_dropout(folder: pathlib.Path, fields: dict[str, Any]) -> float | None:
    rate = fields.get("classifier_dropout")
    is_number = isinstance(rate, int | float) and not isinstance(rate, bool)
    if rate is not None and not (is_number and 0 <= rate < 1):
        raise InputError(
            f"{folder / CONFIG_NAME}: classifier_dropout must be a number of at least 0 and below "
            f"1, or null, got {shown(rate)}"
        )
    return rate


def _labels(folder: pathlib.Path, fields: dict[str, Any]) -> tuple[str, ...]:
    """The names in `id2label` in the order of the ids."""
    path = folder / CONFIG_NAME
    by_id = fields.get("id2label")
    if by_id is None:
        return ()
    if not isinstance(by_id, dict) or not all(_ID.fullmatch(key) for key in by_id):
        raise InputError(f"{path}: id2label must map numbers to names, got {shown(by_id)}")
    if sorted(map(int, by_id)) != list(range(len(by_id))):
        raise InputError(
            f"{path}: id2label has {len(by_id)} names, but not for the ids 0 to {len(by_id) - 1}"
        )
    for key, label in by_id.items():
        # Some have numbers as names. A name is a line of labels.txt, and must stay one.
        is_number = isinstance(label, int) and not isinstance(label, bool)
        if not is_number and not isinstance(label, str):
            raise InputError(f"{path}: id2label gives {key} the name {shown(label)}, which is none")
        if _LINE_BREAK.search(str(label)):
            raise InputError(f"{path}: id2label has a line break in {shown(label)}")
    return tuple(str(by_id[key]) for key in sorted(by_id, key=int))
