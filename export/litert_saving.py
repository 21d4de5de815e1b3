"""A model -> a LiteRT file with a signature for each length, and what is needed to run it."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from export.info import make_info
from official_bert.atomic import atomic_folder, check_free
from official_bert.errors import InputError
from official_bert.inference.base import AnswerModule
from official_bert.inference.export_info import FILE_NAME, files_of
from official_bert.inference.litert import MODEL_NAME, LiteAnswerer
from official_bert.inference.load import open_model
from official_bert.model_folder import write_labels
from official_bert.models.encoder import OPTIONAL_ENCODER_INPUTS
from official_bert.path import to_path

LENGTHS = (32, 64, 128, 256, 384, 512)
# A row has a place for a text to each so many tokens: LiteRT wants to know how many there are.
_TOKENS_OF_A_SHORT_TEXT = 8
# Largest difference from the float32 model as a share of the largest value. int8 rounds weights to
# 1/127 of a column's largest one, and activations alike; this is a guard, not the accuracy.
_TOLERANCES = {"float32": 1e-3, "int8": 0.3}


def export_litert(
    model_dir: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    answer: str | None = None,
    precision: str = "int8",
    lengths: Sequence[int] = LENGTHS,
    overwrite: bool = False,
    **options: Any,
) -> pathlib.Path:
    """Writes model.tflite, vocab.txt, tokenizer_config.json, labels.txt and export.json.

    Args:
        model_dir: a model folder, or any checkpoint that `official_bert.load_pretrained` knows.
        output_dir: the folder to write.
        answer: which kind of answer; None: the usual one that LiteRT can compute.
        precision: "int8" (weights; activations are rounded row by row while computing) or
            "float32".
        lengths: in tokens; those above the model's longest row are left out.
        overwrite: replace what is there.
        options: further ones of `open_model`.

    Raises:
        InputError: the model cannot be opened or give this answer, or the folder is there already.
        RuntimeError: LiteRT computes something else than the model.
    """
    final = to_path(output_dir)
    check_free(final, overwrite=overwrite)
    opened = open_model(model_dir, names=(answer,) if answer else (), **options)
    module = next((m for m in opened.modules.values() if m.fixed_size_logits), None)
    if module is None:
        raise InputError(
            f"{', '.join(opened.modules)}: the size of what the model gives depends on the text, "
            "which LiteRT cannot do; export_savedmodel can"
        )
    if opened.bundle.config.bilstm:
        raise InputError(
            f"{model_dir} has a BiLSTM, which LiteRT cannot compute for batches of any size; "
            "export_savedmodel can"
        )
    longest = opened.options.max_seq_length
    fitting = sorted({length for length in lengths if length < longest} | {longest})
    with atomic_folder(final, overwrite=overwrite, last=FILE_NAME) as folder:
        functions = {f"length_{length}": _function(module, length) for length in fitting}
        logging.info("converting %s", ", ".join(functions))
        (folder / MODEL_NAME).write_bytes(_convert(functions, precision))
        bundle = opened.bundle
        assert bundle.tokenizer is not None
        bundle.tokenizer.save(folder)
        if bundle.labels:
            write_labels(folder, bundle.labels)
        info = make_info(
            opened,
            answers=[module.name],
            signatures=functions,
            precision=precision,
            per_token_outputs=_per_token_outputs(module),
            files=files_of(folder),
        )
        info.save(folder / FILE_NAME)
        _verify(folder, module, _TOLERANCES[precision])
    return final


def _function(module: AnswerModule, length: int | None) -> Any:
    """The graph of `module.logits` for rows of one length, of several texts where it packs."""
    shapes = {name: [None, length] for name in module.encoded_inputs}
    if module.packs and length is not None:
        shapes |= {name: [None, length] for name in OPTIONAL_ENCODER_INPUTS}
        shapes["cls_positions"] = [None, max(1, length // _TOKENS_OF_A_SHORT_TEXT)]
    specs = {name: tf.TensorSpec(shape, tf.int32, name=name) for name, shape in shapes.items()}
    function = tf.function(lambda **inputs: module.logits(inputs), autograph=False)
    return function.get_concrete_function(**specs)


def _convert(functions: dict[str, Any], precision: str) -> bytes:
    state = tf.Module()
    used = [v for function in functions.values() for v in function.graph.variables]
    state.model_variables = list({id(variable): variable for variable in used}.values())
    with tempfile.TemporaryDirectory(prefix="bert_litert_") as folder:
        tf.saved_model.save(state, folder, signatures=functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(functions))
        if precision == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        return converter.convert()


def _per_token_outputs(module: AnswerModule) -> list[str]:
    outputs = _function(module, None).structured_outputs
    return [name for name, spec in outputs.items() if spec.shape.rank > 1 and spec.shape[1] is None]


def _verify(folder: pathlib.Path, module: AnswerModule, tolerance: float) -> None:
    answerer = LiteAnswerer(folder)
    for sample in module.samples():
        texts = {name: tf.constant(values, tf.string) for name, values in sample.items()}
        wanted, given = module.answer(texts), answerer(**texts)
        for name, tensor in wanted.items():
            if not tensor.dtype.is_floating:
                continue
            difference = np.max(np.abs(tensor.numpy() - given[name].numpy()), initial=0.0)
            limit = tolerance * np.max(np.abs(tensor.numpy()), initial=1e-6)
            if not difference <= limit:
                raise RuntimeError(
                    f"LiteRT's {name} differs by {difference:.2g}, above {limit:.2g}"
                )
            logging.info("%s: largest difference %.2g", name, difference)
