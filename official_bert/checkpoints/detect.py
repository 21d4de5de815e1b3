"""Finds out by looking whose checkpoint lies at a path."""

from __future__ import annotations

import pathlib

from official_bert.checkpoints import google, huggingface, model_garden, official, tf_hub
from official_bert.checkpoints.readers import read_tensorflow
from official_bert.checkpoints.source import Source
from official_bert.errors import InputError
from official_bert.model_folder import BEST_NAME, CHECKPOINTS_NAME
from official_bert.path import local_copy, to_path
from official_bert.tensor_bundle import newest_prefix

# Where a model folder of ours keeps checkpoints; the best one is the model.
_OUR_FOLDERS = (BEST_NAME, CHECKPOINTS_NAME)
_SHOWN = 8


def find_source(path: pathlib.Path) -> Source:
    """Looks at a folder, at the prefix of a TensorFlow checkpoint, or at a file of one.

    Raises:
        InputError: nothing is there, nothing known, or something that is not this model.
    """
    if path.is_dir():
        return _in_folder(path)
    if to_path(f"{path}.index").exists():
        return _tensorflow(path)
    if path.suffix == ".index" and path.exists():
        return _tensorflow(path.with_suffix(""))
    if path.name in huggingface.WEIGHT_NAMES and path.exists():
        return huggingface.read(local_copy(path.parent))
    beside = sorted(file.stem for file in path.parent.glob("*.index"))
    raise InputError(
        f"no checkpoint at {path}: there is neither a folder nor {path.name}.index"
        + (f"; beside it are {', '.join(beside[:_SHOWN])}" if beside else "")
    )


def _in_folder(folder: pathlib.Path) -> Source:
    if (folder / tf_hub.SAVED_MODEL_NAME).exists():
        return tf_hub.read(local_copy(folder))
    if (folder / huggingface.CONFIG_NAME).exists():
        return huggingface.read(local_copy(folder))
    for candidate in (folder, *(folder / name for name in _OUR_FOLDERS)):
        prefix = _newest_prefix(candidate)
        if prefix is not None:
            return _tensorflow(prefix)
    found = sorted(path.name for path in folder.iterdir())
    more = ", …" if len(found) > _SHOWN else ""
    raise InputError(
        f"{folder} holds no checkpoint that is known (ours, google-research/bert, Model Garden, TF "
        f"Hub, Hugging Face); it has {', '.join(found[:_SHOWN]) or 'nothing'}{more}"
    )


def _newest_prefix(folder: pathlib.Path) -> pathlib.Path | None:
    """The checkpoint of a folder: the one that its `checkpoint` file names, or the only one."""
    if not folder.is_dir():
        return None
    newest = newest_prefix(folder)
    if newest is not None:
        return newest
    prefixes = sorted(path.with_suffix("") for path in folder.glob("*.index"))
    if len(prefixes) > 1:
        raise InputError(
            f"{folder} has several checkpoints ({', '.join(p.name for p in prefixes)}): name one"
        )
    return prefixes[0] if prefixes else None


def _tensorflow(prefix: pathlib.Path) -> Source:
    checkpoint = read_tensorflow(prefix)
    if not checkpoint.has_objects:
        return google.read(checkpoint)
    if official.is_official(checkpoint):
        return official.read(checkpoint)
    if model_garden.is_model_garden(checkpoint):
        return model_garden.read(checkpoint)
    names = ", ".join(list(checkpoint.tensors)[:3])
    raise InputError(f"{prefix} is a TensorFlow 2 checkpoint of another model: it has {names}")
