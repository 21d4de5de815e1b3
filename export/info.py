"""What an export says about itself."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_text
import tf_keras

import official_bert
from official_bert.inference.export_info import ExportInfo
from official_bert.inference.load import Answerable
from official_bert.model_folder import ModelFolder


def make_info(
    opened: Answerable,
    *,
    answers: Sequence[str],
    signatures: Mapping[str, Any],
    precision: str,
    **others: Any,
) -> ExportInfo:
    """The contents of export.json.

    Args:
        opened: the model that is exported.
        answers: the kinds of answer, the usual one first.
        signatures: concrete functions by name.
        precision: of weights and products.
        others: further fields of `ExportInfo`.
    """
    bundle = opened.bundle
    order = [name for module in opened.modules.values() for name in module.text_inputs]
    return ExportInfo(
        task=opened.task,
        answers=list(answers),
        options={
            **dataclasses.asdict(opened.options),
            "task_options": {
                name: value
                for name, value in opened.options.task_options.items()
                if not _names_a_file(value)
            },
        },
        precision=precision,
        config_sha256=hashlib.sha256(bundle.config.to_json().encode()).hexdigest(),
        vocab_sha256=bundle.vocab.sha256 if bundle.vocab else "",
        metrics=ModelFolder(bundle.path).results() or {},
        signatures={name: _shapes(function, order) for name, function in signatures.items()},
        versions={
            "official_bert": official_bert.__version__,
            "tensorflow": tf.__version__,
            "tensorflow_text": tensorflow_text.__version__,
            "tf_keras": tf_keras.__version__,
            "python": platform.python_version(),
        },
        **others,
    )


def _names_a_file(value: Any) -> bool:
    """Whether an option is a path on the machine that prepared the data: no other one has it."""
    return isinstance(value, str) and ("/" in value or "\\" in value)


def _shapes(function: Any, order: Sequence[str]) -> dict[str, dict[str, Any]]:
    """{"inputs": {"text": ["string", [None]]}, "outputs": {…}} of a concrete function.

    A graph has its inputs by the alphabet; here those in `order` come first, as people write them:
    the question, then the context.
    """

    def described(specs: dict[str, Any]) -> dict[str, Any]:
        return {name: [spec.dtype.name, spec.shape.as_list()] for name, spec in specs.items()}

    inputs = described(function.structured_input_signature[1])
    return {
        "inputs": {name: inputs[name] for name in sorted(inputs, key=[*order, *inputs].index)},
        "outputs": described(function.structured_outputs),
    }
