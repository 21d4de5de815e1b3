"""Rows of text in, rows of answers out: what commands and programs do around an answer module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  An export uses its ops.

from official_bert.answering.base import AnswerModule
from official_bert.answering.export_info import ExportInfo
from official_bert.errors import InputError

Row = tuple[bytes, ...]
Answer = Mapping[str, tf.Tensor]
_SEPARATORS = (b"|||", b"\t")


class Answerer:
    """Something that answers batches of strings: an answer module, or a signature of an export.

    Attributes:
        inputs: the names of its string inputs, in order.
    """

    def __init__(self, inputs: Sequence[str], function: Callable[..., Answer]):
        self.inputs = tuple(inputs)
        self._function = function

    @classmethod
    def from_module(cls, module: AnswerModule) -> Answerer:
        """The answers of a model in memory."""
        return cls(tuple(module.text_inputs), answer_function(module))

    @classmethod
    def from_export(cls, folder: str | os.PathLike[str], info: ExportInfo, name: str) -> Answerer:
        """The answers of the signature `name` of the SavedModel in `folder`.

        Raises:
            InputError: it cannot be read.
        """
        try:
            loaded = tf.saved_model.load(str(folder))
        except (OSError, ValueError, tf.errors.OpError) as error:
            raise InputError(f"{folder} cannot be read as a SavedModel: {error}") from error
        function = loaded.signatures[name]
        # The signature's variables live as long as `loaded`.
        return cls(info.signatures[name]["inputs"], lambda _=loaded, **texts: function(**texts))

    def __call__(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """The answers to a batch of rows, as Python values; text is decoded."""
        columns = {
            name: tf.constant([row[index] for row in rows], tf.string)
            for index, name in enumerate(self.inputs)
        }
        outputs = {name: _values(tensor) for name, tensor in self._function(**columns).items()}
        return [{name: values[row] for name, values in outputs.items()} for row in range(len(rows))]


def answer_function(module: AnswerModule) -> Any:
    """The graph of `module.answer`, called with the texts by name."""
    function = tf.function(lambda **texts: module.answer(texts), autograph=False)
    return function.get_concrete_function(**module.text_inputs)


def read_rows(lines: Iterable[bytes], inputs: Sequence[str]) -> Iterator[Row]:
    """Lines -> the strings of each row: one text, or as many as `inputs` between ||| or TABs.

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
        if len(texts) != len(inputs):
            raise InputError(
                f"line {number} has {len(texts)} text(s), not {len(inputs)}: "
                f"write {' ||| '.join(inputs)}, or a TAB between them"
            )
        yield texts


def _values(tensor: tf.Tensor) -> list[Any]:
    array = tensor.numpy()
    return _decoded(array) if array.dtype == object else array.tolist()


def _decoded(array: np.ndarray) -> Any:
    if isinstance(array, bytes):
        return array.decode("utf-8", errors="replace")
    return [_decoded(item) for item in array]
