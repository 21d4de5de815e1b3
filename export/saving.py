"""A model folder -> a verified SavedModel under its final name."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import platform
from typing import Any

import tensorflow as tf
import tensorflow_text
import tf_keras
from absl import logging

import official_bert
from export import graph_ops, verify
from export.serving import ServedState, make_signatures
from official_bert.answering.export_info import ExportInfo
from official_bert.answering.opening import Answerable, open_model
from official_bert.atomic import atomic_folder, check_free
from official_bert.errors import InputError
from official_bert.tasks.model_folder import ModelFolder


def export_savedmodel(
    model_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    version: int | None = None,
    overwrite: bool = False,
    default: str | None = None,
    **options: Any,
) -> pathlib.Path:
    """Writes `output_dir/version/`, once it has been verified in a fresh process.

    Args:
        model_dir: a model folder, or any checkpoint that `official_bert.load_pretrained` knows.
        output_dir: the folder of the versions.
        version: its number; None: one above the newest.
        overwrite: replace the version if it is there.
        default: the answer that `serving_default` gives; None: the usual one of the model's task.
        options: of `open_model`.

    Returns:
        The folder of the SavedModel.

    Raises:
        InputError: the model cannot be opened, or the version is there already.
        verify.VerificationError: the export answers otherwise than the model; nothing is left.
    """
    final = pathlib.Path(output_dir) / str(version or next_version(output_dir))
    check_free(final, overwrite=overwrite)
    opened = open_model(model_dir, **options)
    modules = _default_first(opened.modules, default)
    with atomic_folder(final, overwrite=overwrite) as folder:
        signatures = make_signatures(modules)
        tf.saved_model.save(ServedState(modules), str(folder), signatures=signatures)
        _info(pathlib.Path(model_dir), opened, list(modules), signatures, folder).save(folder)
        checks = verify.cases(modules)
        logging.info("verifying %d calls in a fresh process", len(checks))
        verify.verify(folder, checks, verify.PROBABILITY_TOLERANCE)
    return final


def next_version(output_dir: str | os.PathLike[str]) -> int:
    """One above the highest numbered folder in `output_dir`; 1 where there is none."""
    folder = pathlib.Path(output_dir)
    names = [child.name for child in folder.iterdir()] if folder.is_dir() else []
    return 1 + max((int(name) for name in names if name.isdecimal()), default=0)


def _default_first(modules: dict[str, Any], default: str | None) -> dict[str, Any]:
    if default is None:
        return modules
    if default not in modules:
        raise InputError(
            f"--default_signature is {default!r}: the model's answers are {', '.join(modules)}"
        )
    return {default: modules[default], **modules}


def _info(
    model_dir: pathlib.Path,
    opened: Answerable,
    answers: list[str],
    signatures: dict[str, Any],
    folder: pathlib.Path,
) -> ExportInfo:
    return ExportInfo(
        task=opened.task,
        answers=answers,
        options=dataclasses.asdict(opened.options),
        precision="float32",
        config_sha256=hashlib.sha256(opened.bundle.config.to_json().encode()).hexdigest(),
        vocab_sha256=opened.bundle.vocab.sha256,
        metrics=ModelFolder(model_dir).results() or {},
        signatures={name: _shapes(function) for name, function in signatures.items()},
        ops=graph_ops.by_package(graph_ops.graph_ops(folder)),
        versions={
            "official_bert": official_bert.__version__,
            "tensorflow": tf.__version__,
            "tensorflow_text": tensorflow_text.__version__,
            "tf_keras": tf_keras.__version__,
            "python": platform.python_version(),
        },
    )


def _shapes(function: Any) -> dict[str, dict[str, Any]]:
    """{"inputs": {"text": ["string", [None]]}, "outputs": {…}} of a concrete function."""

    def described(specs: dict[str, Any]) -> dict[str, Any]:
        return {name: [spec.dtype.name, spec.shape.as_list()] for name, spec in specs.items()}

    return {
        "inputs": described(function.structured_input_signature[1]),
        "outputs": described(function.structured_outputs),
    }
