"""Reads and writes TensorFlow 2 checkpoints of the Model Garden; reads TF Hub encoders.

Whether a checkpoint was written as `encoder=`, `model=` or with a pretrainer's `checkpoint_items`,
by the subclassed or by the functional encoder, or as a SavedModel: the variables have the same
names in all of them, and TensorFlow stores those. So names are all that is looked at.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping

import tensorflow as tf
import tf_keras

from official_bert.atomic import atomic_file
from official_bert.checkpoints import google, name_maps
from official_bert.checkpoints.extensions import FACTORISED, refuse_extensions
from official_bert.checkpoints.heads import kind_of
from official_bert.checkpoints.readers import TensorFlowCheckpoint
from official_bert.checkpoints.source import (
    Source,
    drop_lone_parts,
    expand,
    num_classes,
    renamed,
)
from official_bert.checkpoints.tensors import StoredTensor
from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.checkpoints.variables import named_variables
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.model_folder import BERT_CONFIG_NAME
from official_bert.path import to_path

PREFIX_NAME = "bert_model.ckpt"
_WORDS = name_maps.MODEL_GARDEN["encoder/embeddings/word_embeddings"]
_QUERY = "transformer/layer_{i}/self_attention/query/kernel"


def is_model_garden(checkpoint: TensorFlowCheckpoint) -> bool:
    """Whether the Model Garden wrote it."""
    return any(name == _WORDS or name.endswith("/" + _WORDS) for name in checkpoint.tensors)


def read(checkpoint: TensorFlowCheckpoint) -> Source:
    """Looks into a checkpoint of the Model Garden.

    The config is that of a bert_config.json beside it. Without one the sizes are those of the
    arrays, and the activation is the Model Garden's default, the tanh form of GELU.

    Raises:
        InputError: a weight that gives a size is missing.
    """
    folder = to_path(checkpoint.prefix).parent
    config = None
    if (folder / BERT_CONFIG_NAME).exists():
        config, _ = google.read_config(folder / BERT_CONFIG_NAME)
    source = read_variables(checkpoint, config, "gelu_tanh")
    source.vocab, source.tokenizer = find_tokenizer(folder)
    return source


def read_variables(
    checkpoint: TensorFlowCheckpoint, config: BertConfig | None, hidden_act: str
) -> Source:
    """The variables of a checkpoint of the Model Garden.

    Args:
        checkpoint: opened.
        config: None to take the sizes from the arrays.
        hidden_act: the activation where there is no config.
    """
    stored = _without_scope(checkpoint)
    config = config or _config_by_shapes(checkpoint.prefix, stored, hidden_act)
    dropped = dict.fromkeys(checkpoint.skipped, "no weight")
    for name in name_maps.MODEL_GARDEN_DROPPED:
        if name in stored:
            dropped[stored.pop(name).name] = "a span or a token head: nothing says which"
    for pooler in name_maps.MODEL_GARDEN_HEAD_POOLERS.values():
        if f"{pooler}/kernel" in stored and f"{pooler}/bias" in stored:
            for part in ("kernel", "bias"):
                encoders = stored.pop(f"pooler_transform/{part}", None)
                if encoders is not None:
                    dropped[encoders.name] = "the head has a pooler of its own, which was trained"
                stored[f"pooler_transform/{part}"] = stored.pop(f"{pooler}/{part}")
    split = expand(name_maps.MODEL_GARDEN_SPLIT, config)
    tensors = {
        ours: _joined(stored.pop(theirs), split.get(ours))
        for ours, theirs in expand(name_maps.MODEL_GARDEN, config).items()
        if theirs in stored
    }
    drop_lone_parts(tensors, dropped)
    return Source(
        path=to_path(checkpoint.prefix),
        format="model_garden",
        config=config.replace(use_pooler="encoder/pooler/kernel" in tensors),
        kind=kind_of(tensors),
        tensors=tensors,
        unused=[tensor.name for tensor in stored.values()],
        dropped=dropped,
        num_classes=num_classes(tensors),
    )


def write(folder: pathlib.Path, model: tf_keras.Model, kind: str) -> dict[str, str]:
    """Writes bert_model.ckpt.* and bert_config.json, for BertEncoderV2 and BertPretrainerV2.

    The checkpoint can be restored as `encoder=`, as `model=` with a pretrainer, and by a
    pretrainer's `checkpoint_items`.

    Returns:
        Our names of variables that are left out, and why: those of task heads, whose form there
        depends on the task's own config.

    Raises:
        InputError: an encoder for which the Model Garden has no counterpart.
    """
    config: BertConfig = model.config
    refuse_extensions(config, "the Model Garden's BertEncoderV2", known=[FACTORISED])
    names = expand(name_maps.MODEL_GARDEN, config)
    paths = expand(name_maps.MODEL_GARDEN_PATHS, config)
    split = expand(name_maps.MODEL_GARDEN_SPLIT, config)
    root = tf.Module()
    dropped = {}
    for ours, variable in named_variables(model).items():
        if ours not in paths:
            dropped[ours] = "no head of the Model Garden"
            continue
        array = variable.numpy()
        if ours in split:
            array = array.reshape(_split_shape(split[ours], config))
        _attach(root, paths[ours], tf.Variable(array, name=names[ours]))
    parts = {"encoder": root.encoder_network}
    if hasattr(root, "masked_lm"):
        head = getattr(root, "classification_heads", None)
        parts |= {"model": root, "masked_lm": root.masked_lm}
        root.masked_lm.embedding_table = root.encoder_network._embedding_layer.embeddings
        if head is not None:
            # The head's own pooler, and the name by which fine-tuning there looks for it. A copy:
            # restoring goes by objects, and there they are two.
            pooler = tf.Module()
            for part, variable in vars(root.encoder_network._pooler_layer).items():
                if isinstance(variable, tf.Variable):
                    name = f"{name_maps.MODEL_GARDEN_HEAD_POOLERS['next_sentence']}/{part}"
                    setattr(pooler, part, tf.Variable(variable, name=name))
            getattr(head, "0").dense = pooler
            parts["next_sentence.pooler_dense"] = pooler
    tf.train.Checkpoint(**parts).write(os.fspath(folder / PREFIX_NAME))
    with atomic_file(folder / BERT_CONFIG_NAME) as file:
        file.write(google.config_json(config, "encoder" if dropped else kind))
    return dropped


def _without_scope(checkpoint: TensorFlowCheckpoint) -> dict[str, StoredTensor]:
    """{"bert_encoder_v2/word_embeddings/embeddings": …} -> {"word_embeddings/embeddings": …}."""
    scopes = {name.removesuffix(_WORDS) for name in checkpoint.tensors if name.endswith(_WORDS)} | {
        "bert/",
        "bert_pretrainer_v2/",
    }

    def without_scope(name: str) -> str:
        scope = max((scope for scope in scopes if name.startswith(scope)), key=len, default="")
        return name.removeprefix(scope)

    return renamed(to_path(checkpoint.prefix), checkpoint.tensors, without_scope)


def _config_by_shapes(
    prefix: str, stored: Mapping[str, StoredTensor], hidden_act: str
) -> BertConfig:
    layers = 0
    while _QUERY.format(i=layers) in stored:
        layers += 1

    def shape(name: str, rank: int) -> tuple[int, ...]:
        if name not in stored:
            raise InputError(f"{prefix} has no {name}: it is not a whole BERT encoder")
        if len(stored[name].shape) != rank:
            raise InputError(f"{prefix}: {name} has the shape {list(stored[name].shape)}")
        return stored[name].shape

    vocab_size, embedding_size = shape(_WORDS, 2)
    hidden_size, heads, _ = shape(_QUERY.format(i=0), 3)
    try:
        return BertConfig(
            vocab_size=vocab_size,
            hidden_size=hidden_size,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=shape("transformer/layer_0/intermediate/bias", 1)[0],
            hidden_act=hidden_act,
            max_position_embeddings=shape("position_embedding/embeddings", 2)[0],
            type_vocab_size=shape("type_embeddings/embeddings", 2)[0],
            embedding_size=embedding_size if embedding_size != hidden_size else None,
        )
    except InputError as error:
        raise InputError(f"{prefix}: {error}") from error


def _joined(tensor: StoredTensor, axes: str | None) -> StoredTensor:
    """One axis for N and D together."""
    shape = tensor.shape
    if axes is None or len(shape) != len(axes):
        return tensor
    at = axes.index("N")
    return tensor.reshaped(*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])


def _split_shape(axes: str, config: BertConfig) -> list[int]:
    heads = config.num_attention_heads
    sizes = {"H": config.hidden_size, "N": heads, "D": config.hidden_size // heads}
    return [sizes[axis] for axis in axes]


def _attach(root: tf.Module, path: str, variable: tf.Variable) -> None:
    """Hangs a variable into a tree of modules: root.a.b = variable for "a/b"."""
    *parents, name = path.split("/")
    node = root
    for parent in parents:
        if getattr(node, parent, None) is None:
            setattr(node, parent, tf.Module())
        node = getattr(node, parent)
    setattr(node, name.replace(".S", "/"), variable)
