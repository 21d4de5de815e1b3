"""A model folder -> a verified SavedModel under its final name."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import tensorflow as tf
from absl import logging

from export import graph_ops, server_files, verify
from export.info import make_info
from export.serving import ServedState, make_signatures
from export.warmup import write_warmup
from official_bert.atomic import check_free, place_folder, place_numbered, temporary_folder
from official_bert.errors import InputError
from official_bert.inference.export_info import SAVED_MODEL_FILE, SAVED_MODEL_NAME, files_of
from official_bert.inference.load import open_model
from official_bert.model_folder import write_labels
from official_bert.path import absolute, to_path

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
    final = to_path(output_dir) / str(version or next_version(output_dir))
    check_free(final, overwrite=overwrite)
    name = server_files.checked_name(model_name or absolute(final).parent.name)
    with temporary_folder(final) as folder:
        opened = open_model(model_dir, precision=precision, **options)
        modules = _default_first(opened.modules, default)
        signatures = make_signatures(modules)
        state = ServedState(signatures, next(iter(modules.values())).vocab_asset)
        tf.saved_model.save(state, str(folder), signatures=signatures)
        if opened.bundle.labels:
            write_labels(folder / "assets", opened.bundle.labels)
        ops = graph_ops.graph_ops(folder)
        info = make_info(
            opened,
            answers=list(modules),
            signatures=signatures,
            precision=precision,
            ops=ops,
            least_tensorflow_serving=graph_ops.least_serving_version(ops),
            files=files_of(folder),
        )
        info.save(folder / SAVED_MODEL_FILE)
        checks = verify.cases(modules)
        single_rows = [(case.signature, case.inputs) for case in checks if case.rows == 1]
        write_warmup(folder, name, single_rows)
        logging.info("verifying %d calls in a fresh process", len(checks))
        verify.verify(folder, checks, _TOLERANCES[precision])
        if version is None:  # Another export may have taken the number meanwhile.
            final = place_numbered(folder, final.parent, int(final.name), last=SAVED_MODEL_NAME)
        else:
            place_folder(folder, final, overwrite=overwrite, last=SAVED_MODEL_NAME)
    server_files.write_server_files(final.parent, name, info)
    return final


def next_version(output_dir: str | os.PathLike[str]) -> int:
    """One above the highest numbered folder in `output_dir`; 1 where there is none."""
    folder = to_path(output_dir)
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
