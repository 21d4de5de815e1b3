"""A checkpoint -> two verified TF Hub modules under their final names."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import tensorflow as tf
from absl import logging

from export import verify
from export.hub_encoder import make_hub_encoder
from export.hub_preprocessor import make_hub_preprocessor
from official_bert.atomic import atomic_folder, check_free
from official_bert.checkpoints.load import load_pretrained
from official_bert.errors import InputError
from official_bert.inference.export_info import SAVED_MODEL_NAME
from official_bert.path import to_path

ENCODER = "encoder"
PREPROCESSOR = "preprocessor"
_SENTENCES = ["", "To be, or not to be: that is the question.", "👩‍👩‍👧 naïve 中文 " * 700]


def export_tfhub(
    model_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    seq_length: int = 128,
    overwrite: bool = False,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes `output_dir/encoder` and `output_dir/preprocessor`.

    Args:
        model_dir: anything that `official_bert.load_pretrained` knows.
        output_dir: the folder of both.
        seq_length: of the rows that the preprocessor gives, by default.
        overwrite: replace what is there.

    Returns:
        The two folders.

    Raises:
        InputError: the checkpoint cannot be exported, or a module is there already.
        verify.VerificationError: a module does not give what the model gives; it is not left.
    """
    folders = (to_path(output_dir) / ENCODER, to_path(output_dir) / PREPROCESSOR)
    for folder in folders:
        check_free(folder, overwrite=overwrite)
    bundle = load_pretrained(model_dir)
    if bundle.tokenizer is None:
        raise InputError(f"{model_dir} has no vocabulary: put its vocab.txt into the folder")
    longest = bundle.config.max_position_embeddings
    if seq_length > longest:
        raise InputError(
            f"--seq_length={seq_length} is above the model's max_position_embeddings {longest}"
        )
    encoder, encoder_signatures = make_hub_encoder(bundle)
    preprocessor, signatures = make_hub_preprocessor(bundle.tokenizer, seq_length)
    sentences = tf.constant(_SENTENCES)
    inputs = preprocessor.__call__(sentences)
    _save(folders[1], preprocessor, signatures, {"sentences": sentences}, inputs, overwrite)
    expected = encoder.__call__(inputs, training=False)
    layers = expected.pop("encoder_outputs")
    expected |= {f"encoder_outputs_{i}": layer for i, layer in enumerate(layers)}
    _save(folders[0], encoder, encoder_signatures, inputs, expected, overwrite)
    return folders


def _save(
    final: pathlib.Path,
    module: tf.train.Checkpoint,
    signatures: dict[str, Any],
    inputs: dict[str, tf.Tensor],
    expected: dict[str, tf.Tensor],
    overwrite: bool,
) -> None:
    with atomic_folder(final, overwrite=overwrite, last=SAVED_MODEL_NAME) as folder:
        # Layers write some gradients out by hand: fine-tuning needs them as they are.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
        tf.saved_model.save(module, str(folder), signatures=signatures, options=options)
        logging.info("verifying %s in a fresh process", final.name)
        case = verify.Case("serving_default", inputs, expected, {})
        verify.verify(folder, [case], verify.PROBABILITY_TOLERANCE)
