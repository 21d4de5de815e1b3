"""A model folder -> the modules that answer with it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

import tensorflow as tf
import yaml

from official_bert.answering import answer_class, answers_of_task
from official_bert.answering.base import AnswerModule, AnswerOptions
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.models.pretrainer import BertPretrainer
from official_bert.tasks.model_folder import BERT_CONFIG_NAME, CONFIG_NAME
from official_bert.text import BertTokenizer


@dataclasses.dataclass(frozen=True)
class Bundle:
    """What `load_pretrained` gives."""

    encoder: Any
    config: BertConfig
    vocab: Any
    tokenizer: BertTokenizer
    pretrainer: BertPretrainer | None
    missing_heads: tuple[str, ...] = ()


def load_pretrained(path: str | os.PathLike[str]) -> Bundle:
    """Loads a pretraining model folder: the best model, else the newest one."""
    folder = pathlib.Path(path)
    tokenizer = BertTokenizer.from_folder(folder)
    config = BertConfig.from_json_file(folder / BERT_CONFIG_NAME)
    model = BertPretrainer(config)
    prefix = str(folder / "best" / "ckpt")
    if not os.path.exists(f"{prefix}.index"):
        newest = tf.train.latest_checkpoint(str(folder / "checkpoints"))
        if newest is None:
            raise InputError(f"{folder} has no trained model: train it first")
        prefix = newest
    checkpoint = tf.train.Checkpoint(model=model)
    checkpoint.read(prefix).assert_existing_objects_matched().expect_partial()
    return Bundle(model.encoder, config, tokenizer.vocab, tokenizer, model)


@dataclasses.dataclass(frozen=True)
class Answerable:
    """A loaded model with its answers.

    Attributes:
        task: the training task; "" for an encoder alone.
        bundle: the loaded model.
        options: what the answers were made with.
        modules: by name, the usual answer first.
    """

    task: str
    bundle: Any
    options: AnswerOptions
    modules: dict[str, AnswerModule]


def open_model(
    model_dir: str | os.PathLike[str],
    *,
    names: tuple[str, ...] = (),
    max_seq_length: int | None = None,
    **options: Any,
) -> Answerable:
    """Loads a model and makes its answer modules.

    Args:
        model_dir: a model folder, or any checkpoint that `official_bert.load_pretrained` knows.
        names: of the answers; empty for all that the model's task gives.
        max_seq_length: the most tokens of a row; None: the most that the model takes.
        options: the other fields of `AnswerOptions`.

    Raises:
        InputError: no such model, it cannot give that answer, or an option is out of range.
    """
    folder = pathlib.Path(model_dir)
    if not folder.is_dir():
        raise InputError(f"model folder {folder} does not exist")
    bundle = load_pretrained(folder)
    task = _task(folder, bundle)
    length = _max_seq_length(bundle, max_seq_length, options.get("pad_to"))
    chosen = AnswerOptions(max_seq_length=length, **options)
    known = answers_of_task(task)
    for name in names:
        if name not in known:
            raise InputError(
                f"{folder} holds a model of the task {task or 'encoder'!r}, which cannot "
                f"{name}: choose from {', '.join(known)}"
            )
    modules = {name: answer_class(name)(bundle, chosen) for name in names or known}
    return Answerable(task, bundle, chosen, modules)


def _task(folder: pathlib.Path, bundle: Any) -> str:
    path = folder / CONFIG_NAME
    if path.exists():
        return str(yaml.safe_load(path.read_text(encoding="utf-8")).get("task", ""))
    return "pretraining" if bundle.pretrainer is not None else ""


def _max_seq_length(bundle: Any, wanted: int | None, pad_to: int | None) -> int:
    limit = bundle.config.max_position_embeddings
    length = wanted or min(limit, bundle.tokenizer.config()["model_max_length"] or limit)
    for name, value in (("max_seq_length", length), ("pad_to", pad_to)):
        if value is not None and not 4 <= value <= limit:
            raise InputError(
                f"{name} is {value}: it must be from 4 to max_position_embeddings {limit}"
            )
    return length
