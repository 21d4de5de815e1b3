"""Reads and writes our own model folders."""

from __future__ import annotations

import os
import pathlib

import tensorflow as tf
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.checkpoints.heads import HEADS, ONLY_TRAINED, kind_of
from official_bert.checkpoints.readers import TensorFlowCheckpoint
from official_bert.checkpoints.source import Source, num_classes, renamed
from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.model_folder import (
    BERT_CONFIG_NAME,
    BEST_NAME,
    CHECKPOINT_PREFIX,
    CHECKPOINTS_NAME,
    read_labels,
)
from official_bert.path import to_path

_WORDS = "/embeddings/word_embeddings"


def is_official(checkpoint: TensorFlowCheckpoint) -> bool:
    """Whether one of our models is in it."""
    return any(name.endswith(_WORDS) for name in checkpoint.tensors)


def checkpoint_of_step(path: str, step: int | None) -> str:
    """Where the checkpoint of a training step lies in a model folder; `path` itself for None.

    Raises:
        InputError: it is not there; those that are there are named.
    """
    if step is None:
        return path
    folder = to_path(path) / CHECKPOINTS_NAME
    if not (folder / f"{CHECKPOINT_PREFIX}-{step}.index").exists():
        names = [p.stem.rpartition("-")[2] for p in folder.glob(f"{CHECKPOINT_PREFIX}-*.index")]
        steps = sorted(int(name) for name in names if name.isdecimal())
        raise InputError(
            f"{path} has no checkpoint of step {step}: it has {steps or 'none'}; a run keeps as "
            "many of the newest as its train.keep_checkpoints says"
        )
    return str(folder / f"{CHECKPOINT_PREFIX}-{step}")


def read(checkpoint: TensorFlowCheckpoint) -> Source:
    """Looks into a checkpoint in a model folder or in one of its sub-folders.

    Raises:
        InputError: there is no bert_config.json.
    """
    prefix = to_path(checkpoint.prefix)
    folders = [folder for folder in prefix.parents[:2] if (folder / BERT_CONFIG_NAME).exists()]
    if not folders:
        raise InputError(f"{prefix} lies in no model folder: {BERT_CONFIG_NAME} is missing")
    folder = folders[0]
    config = BertConfig.from_json_file(folder / BERT_CONFIG_NAME)
    scope = next(name for name in checkpoint.tensors if name.endswith(_WORDS)).split("/")[0]
    models = {name.partition("/")[0] for name in checkpoint.tensors} - {scope}
    models = {model.removeprefix("bert_") for model in models}

    def own_name(name: str) -> str:
        model, _, rest = name.partition("/")
        return f"encoder/{rest}" if model == scope else rest

    tensors = renamed(prefix, checkpoint.tensors, own_name)
    for model in models & ONLY_TRAINED.keys():
        raise InputError(f"{folder} holds {ONLY_TRAINED[model]}")
    # Models whose parts have the same names have names of their own, which stand in the variables'.
    kinds = [model for model in models if model in HEADS]
    kind = kind_of(tensors, kinds[0] if len(kinds) == 1 else None)
    classes = num_classes(tensors)
    vocab, tokenizer = find_tokenizer(folder)
    return Source(
        path=prefix,
        format="official_bert",
        config=config,
        kind=kind,
        tensors=tensors,
        unused=[],
        dropped=dict.fromkeys(checkpoint.skipped, "state of the training run"),
        num_classes=classes,
        labels=read_labels(folder, classes if HEADS[kind].has_classes else None),
        vocab=vocab,
        tokenizer=tokenizer,
    )


def write(folder: pathlib.Path, model: tf_keras.Model) -> None:
    """Writes bert_config.json and best/ckpt.* into `folder`."""
    config: BertConfig = model.config
    (folder / BEST_NAME).mkdir(parents=True, exist_ok=True)
    tf.train.Checkpoint(model=model).write(os.fspath(folder / BEST_NAME / CHECKPOINT_PREFIX))
    with atomic_file(folder / BERT_CONFIG_NAME) as file:
        file.write(config.to_json())
