"""Rows of text in, rows of answers out: what commands and programs do around an answer module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  An export uses its ops.

from official_bert.errors import InputError, shown
from official_bert.file_errors import explain
from official_bert.inference.base import AnswerModule, RowOutputs, Tensors
from official_bert.inference.export_info import ExportInfo
from official_bert.path import local_copy
from official_bert.tensor_bundle import check_index

Row = tuple[bytes, ...]
Text = TypeVar("Text", bytes, str)
_SEPARATORS = (b"|||", b"\t")


class Answerer:
    """Something that answers batches of strings: an answer module, or a signature of an export.

    Attributes:
        inputs: the names of its string inputs, in order.
        several: whether the last input takes any number of texts, as choices do.
    """

    def __init__(
        self, inputs: Sequence[str], function: Callable[..., Tensors], *, several: bool = False
    ):
        self.inputs = tuple(inputs)
        self.several = several
        self._function = function

    @classmethod
    def from_module(cls, module: AnswerModule) -> Answerer:
        """The answers of a model in memory."""
        several = any(spec.shape.rank == 2 for spec in module.text_inputs.values())
        return cls(tuple(module.text_inputs), answer_function(module), several=several)

    @classmethod
    def from_export(cls, folder: str | os.PathLike[str], info: ExportInfo, name: str) -> Answerer:
        """The answers of the signature `name` of the SavedModel in `folder`.

        Raises:
            InputError: it cannot be read.
        """
        folder = local_copy(folder)
        inputs = info.text_inputs(folder, name)
        info.check_files(folder)
        check_index(folder / tf.saved_model.VARIABLES_DIRECTORY / tf.saved_model.VARIABLES_FILENAME)
        try:
            loaded = tf.saved_model.load(str(folder))
            function = loaded.signatures[name]
            specs = function.structured_input_signature[1]
        except Exception as error:  # A graph that was tampered with fails in any way.
            reason = explain(error) or f"{type(error).__name__}: {error}"
            raise InputError(
                f"{folder} cannot be read as a SavedModel with a signature {name!r} "
                f"({reason}): export the model again"
            ) from error
        given = {key: [spec.dtype.name, spec.shape.as_list()] for key, spec in specs.items()}
        if given != inputs:
            raise InputError(
                f"{folder}: the signature {name!r} takes {shown(given)}, not {shown(inputs)} as "
                "export.json says: export the model again"
            )
        several = any(len(shape) == 2 for _, shape in inputs.values())
        # The signature's variables live as long as `loaded`.
        return cls(tuple(inputs), lambda _=loaded, **texts: function(**texts), several=several)

    def named(self, texts: Sequence[Text]) -> dict[str, Text | list[Text]]:
        """The texts of a row by the names of the inputs."""
        if not self.several:
            return dict(zip(self.inputs, texts, strict=True))
        *names, last = self.inputs
        return {**dict(zip(names, texts, strict=False)), last: list(texts[len(names) :])}

    def __call__(self, rows: Sequence[Row]) -> list[RowOutputs]:
        """The answers to a batch of rows, as Python values; text is decoded."""
        named = [self.named(row) for row in rows]
        columns = {name: [row[name] for row in named] for name in self.inputs}
        sizes = [len(row) - len(self.inputs) + 1 for row in rows]  # Texts of the last input.
        if self.several:
            columns[self.inputs[-1]] = [
                [*texts, *[b""] * (max(sizes) - len(texts))] for texts in columns[self.inputs[-1]]
            ]
        tensors = {name: tf.constant(values, tf.string) for name, values in columns.items()}
        outputs = {name: _values(tensor) for name, tensor in self._function(**tensors).items()}
        answers = [
            {name: values[row] for name, values in outputs.items()} for row in range(len(rows))
        ]
        if self.several:
            # An output with a value for each text has values for the padding too.
            for answer, size in zip(answers, sizes, strict=True):
                answer |= {
                    n: value[:size] for n, value in answer.items() if isinstance(value, list)
                }
        return answers


def answer_function(module: AnswerModule) -> tf.types.experimental.ConcreteFunction:
    """The graph of `module.answer`, called with the texts by name."""
    function = tf.function(lambda **texts: module.answer(texts), autograph=False)
    return function.get_concrete_function(**module.text_inputs)


def read_rows(
    lines: Iterable[bytes], inputs: Sequence[str], *, several: bool = False
) -> Iterator[Row]:
    """Lines -> the strings of each row: one text, or as many as `inputs` between ||| or TABs.

    With `several`, the last input has two texts or more.

    Raises:
        InputError: a line has another number of texts.
    """
    for number, line in enumerate(lines, start=1):
        line = line.rstrip(b"\r\n")
        if len(inputs) == 1:
            yield (line,)
            continue
        separator = next((s for s in _SEPARATORS if s in line), _SEPARATORS[0])
        texts = tuple(text.strip() for text in line.split(separator))
        if several and len(texts) <= len(inputs):
            *first, last = inputs
            raise InputError(
                f"line {number} has {len(texts)} text(s), not {len(inputs) + 1} or more: "
                f"write {' ||| '.join([*first, last, last])}, or a TAB between them"
            )
        if not several and len(texts) != len(inputs):
            raise InputError(
                f"line {number} has {len(texts)} text(s), not {len(inputs)}: "
                f"write {' ||| '.join(inputs)}, or a TAB between them"
            )
        yield texts


def _values(tensor: tf.Tensor) -> list[Any]:
    array: np.ndarray = tensor.numpy()
    values: list[Any] = array.tolist()
    return _decoded(values) if array.dtype == object else values


def _decoded(values: list[Any]) -> list[Any]:
    return [
        value.decode("utf-8", errors="replace") if isinstance(value, bytes) else _decoded(value)
        for value in values
    ]
