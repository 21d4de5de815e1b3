"""Writes a loaded checkpoint in any format."""

from __future__ import annotations

import os
import pathlib

from official_bert.atomic import atomic_folder
from official_bert.checkpoints import google, huggingface_writer, model_garden, official
from official_bert.checkpoints.load import Pretrained
from official_bert.checkpoints.tokenizer_files import write_fast_tokenizer
from official_bert.errors import InputError
from official_bert.model_folder import write_labels

FORMATS = ("official_bert", "huggingface", "google_tf1", "model_garden")


def write_pretrained(
    bundle: Pretrained,
    folder: str | os.PathLike[str],
    output_format: str,
    *,
    overwrite: bool = False,
) -> dict[str, str]:
    """Writes a model with its vocabulary, labels and tokenizer's settings into a new folder.

    Returns:
        Our names of variables that the format has no place for, and why.

    Raises:
        InputError: the format has no such encoder, or the folder is there already.
    """
    if output_format not in FORMATS:
        raise InputError(f"unknown format {output_format!r}; known: {', '.join(FORMATS)}")
    dropped: dict[str, str] = {}
    with atomic_folder(folder, overwrite=overwrite) as new:
        if output_format == "official_bert":
            official.write(new, bundle.model)
        elif output_format == "huggingface":
            dropped = huggingface_writer.write(
                new, bundle.model, bundle.kind, bundle.labels, bundle.vocab
            )
        elif output_format == "google_tf1":
            google.write(new, bundle.model, bundle.kind)
        else:
            dropped = model_garden.write(new, bundle.model, bundle.kind)
        _write_companions(bundle, new, fast=output_format == "huggingface")
    return dropped


def _write_companions(bundle: Pretrained, folder: pathlib.Path, *, fast: bool) -> None:
    if bundle.labels:
        write_labels(folder, bundle.labels)
    if bundle.tokenizer is None:
        return
    bundle.tokenizer.save(folder)
    if fast:
        write_fast_tokenizer(folder, bundle.tokenizer)
