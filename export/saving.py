"""A model folder -> a verified SavedModel under its final name."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import platform
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tensorflow_text
import tf_keras
from absl import logging

import official_bert
from export import graph_ops, server_files, verify
from export.serving import ServedState, make_signatures
from export.warmup import write_warmup
from official_bert.answering.base import AnswerModule
from official_bert.answering.export_info import ExportInfo
from official_bert.answering.opening import Answerable, open_model
from official_bert.atomic import atomic_folder, check_free
from official_bert.errors import InputError
from official_bert.tasks.model_folder import ModelFolder

# Largest difference from the model, run op by op in this process. Compiled graphs join some
# operations, which in bfloat16 leaves out roundings.
_TOLERANCES = {"float32": verify.PROBABILITY_TOLERANCE, "bfloat16": 0.05}


def export_savedmodel(
    model_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    version: int | None = None,
    overwrite: bool = False,
    default: str | None = None,
    model_name: str | None = None,
    precision: str = "float32",
    **options: Any,
) -> pathlib.Path:
    """Writes `output_dir/version/`, once it has been verified in a fresh process.

    Args:
        model_dir: a model folder, or any checkpoint that `official_bert.load_pretrained` knows.
        output_dir: the folder of the versions.
        version: its number; None: one above the newest.
        overwrite: replace the version if it is there.
        default: the answer that `serving_default` gives; None: the usual one of the model's task.
        model_name: under which a server has it; None: the name of `output_dir`.
        precision: "float32" or "bfloat16".
        options: further ones of `open_model`.

    Returns:
        The folder of the SavedModel.

    Raises:
        InputError: the model cannot be opened, or the version is there already.
        verify.VerificationError: the export answers otherwise than the model; nothing is left.
    """
    final = pathlib.Path(output_dir) / str(version or next_version(output_dir))
    check_free(final, overwrite=overwrite)
    name = server_files.checked_name(model_name or final.absolute().parent.name)
    opened = open_model(model_dir, precision=precision, **options)
    modules = _default_first(opened.modules, default)
    with atomic_folder(final, overwrite=overwrite) as folder:
        signatures = make_signatures(modules)
        state = ServedState(signatures, next(iter(modules.values())).vocab_asset)
        tf.saved_model.save(state, str(folder), signatures=signatures)
        info = _info(pathlib.Path(model_dir), opened, modules, signatures, folder, precision)
        info.save(folder)
        checks = verify.cases(modules)
        single_rows = [(case.signature, case.inputs) for case in checks if case.rows == 1]
        write_warmup(folder, name, single_rows)
        logging.info("verifying %d calls in a fresh process", len(checks))
        verify.verify(folder, checks, _TOLERANCES[precision])
    server_files.write_server_files(final.parent, name, info)
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
    modules: Mapping[str, AnswerModule],
    signatures: Mapping[str, Any],
    folder: pathlib.Path,
    precision: str,
) -> ExportInfo:
    ops = graph_ops.graph_ops(folder)
    vocab = opened.bundle.vocab
    return ExportInfo(
        task=opened.task,
        answers=list(modules),
        options=dataclasses.asdict(opened.options),
        precision=precision,
        config_sha256=hashlib.sha256(opened.bundle.config.to_json().encode()).hexdigest(),
        vocab_sha256=vocab.sha256 if vocab else "",
        metrics=ModelFolder(model_dir).results() or {},
        signatures={name: _shapes(function) for name, function in signatures.items()},
        ops=ops,
        least_tensorflow_serving=graph_ops.least_serving_version(ops),
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
