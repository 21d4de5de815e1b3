"""Answers of a LiteRT export: TensorFlow cuts and joins the text, LiteRT computes the model."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from official_bert.data.packing import pack_with_indices
from official_bert.errors import InputError, shown
from official_bert.inference import answer_class
from official_bert.inference.base import AnswerModule, AnswerOptions
from official_bert.inference.export_info import FILE_NAME, ExportInfo
from official_bert.model_folder import read_labels
from official_bert.models.encoder import ENCODER_INPUTS
from official_bert.path import local_copy
from official_bert.regular_file import check_regular
from official_bert.text import BertTokenizer, Vocab

MODEL_NAME = "model.tflite"
_SIGNATURE = re.compile(r"length_[1-9][0-9]{0,6}")
_MOST_ROWS = 32
# Packed texts up to this length share the rows of the longest of them. With longer ones, attention
# within the rows would cost more than their padding.
SHARED_LENGTH = 128


@dataclasses.dataclass(frozen=True)
class _Source:
    """What an answer module needs where the model is elsewhere."""

    tokenizer: BertTokenizer
    vocab: Vocab
    labels: tuple[str, ...]
    model: None = None
    encoder: None = None


class LiteModel:
    """A .tflite file with a signature for each of some lengths: `length_32`, `length_64`, …

    Where the signatures take `cls_positions`, rows are packed: several texts in one.

    Args:
        path: the file.
        per_token: outputs whose second axis counts tokens.
        pad_values: of the inputs; 0 where a name is absent.
        num_threads: of LiteRT; None: one for each core.

    Raises:
        InputError: no such file, it is damaged, or has other signatures.
    """

    def __init__(
        self,
        path: pathlib.Path,
        *,
        per_token: tuple[str, ...] = (),
        pad_values: Mapping[str, int] | None = None,
        num_threads: int | None = None,
    ):
        check_regular(path)
        try:
            self._interpreter = Interpreter(
                model_path=str(path), num_threads=num_threads or os.cpu_count() or 1
            )
            runners = {
                name: self._interpreter.get_signature_runner(name)
                for name in self._interpreter.get_signature_list()
            }
            described = {name: runner.get_input_details() for name, runner in runners.items()}
        except Exception as error:  # A damaged file fails in any way.
            raise InputError(f"{path} cannot be read ({error}): export it again") from error
        if not runners or not all(map(_SIGNATURE.fullmatch, runners)):
            raise InputError(
                f"{path} has the signatures {shown(sorted(runners))}, not such as length_128: "
                "it was not written by export_litert"
            )
        for name, inputs in described.items():
            if not {*ENCODER_INPUTS} <= inputs.keys():
                raise InputError(
                    f"{path}: the signature {name} takes {shown(sorted(inputs))}, not "
                    f"{', '.join(ENCODER_INPUTS)}: it was not written by export_litert"
                )
        self._path = path
        self._runners = {
            int(name.removeprefix("length_")): runner for name, runner in runners.items()
        }
        details = {int(name.removeprefix("length_")): value for name, value in described.items()}
        # Length -> slots for texts in a packed row.
        self._slots = {
            length: int(inputs["cls_positions"]["shape_signature"][1])
            for length, inputs in details.items()
            if "cls_positions" in inputs
        }
        self._per_token = per_token
        self._pad_values = dict(pad_values or {})

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the signatures, ascending."""
        return tuple(sorted(self._runners))

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Computes rows, each in the shortest signature that holds its tokens, or packed.

        Args:
            inputs: int32 [rows, S] each; among them `input_mask`.

        Returns:
            The outputs [rows, …]; those by token have S of them.
        """
        rows, width = inputs["input_mask"].shape
        if not rows:  # LiteRT computes no empty batches; the shapes are those of one row.
            one = {name: np.zeros([1, width], values.dtype) for name, values in inputs.items()}
            return {name: values[:0] for name, values in self(one).items()}
        sizes = inputs["input_mask"].sum(axis=1)
        wanted = np.searchsorted(self.lengths, sizes)
        if self._slots:
            shared = sizes <= SHARED_LENGTH
            wanted[shared] = np.max(wanted[shared], initial=0)
        results: dict[str, np.ndarray] = {}
        for index in np.unique(wanted):
            of_length = np.flatnonzero(wanted == index)
            for start in range(0, len(of_length), _MOST_ROWS):
                chosen = of_length[start : start + _MOST_ROWS]
                outputs = self._run(self.lengths[index], inputs, chosen)
                for name, values in outputs.items():
                    if name in self._per_token:
                        values = _resized(values, width, 0)
                    if name not in results:
                        results[name] = np.zeros((rows, *values.shape[1:]), values.dtype)
                    results[name][chosen] = values
        return results

    def _run(
        self, length: int, inputs: Mapping[str, np.ndarray], rows: np.ndarray
    ) -> dict[str, np.ndarray]:
        cut = {
            name: _resized(values[rows], length, self._pad_values.get(name, 0))
            for name, values in inputs.items()
        }
        if not self._slots:
            return self._computed(length, cut)
        packed, indices = _packed(cut, self._slots[length])
        outputs = self._computed(length, packed)
        return {name: values[indices[:, 0], indices[:, 1]] for name, values in outputs.items()}

    def _computed(self, length: int, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            outputs: dict[str, np.ndarray] = self._runners[length](**inputs)
        except (ValueError, RuntimeError) as error:
            raise InputError(
                f"{self._path} does not compute rows of {length} tokens ({error}): export it again"
            ) from error
        return outputs


def _packed(
    texts: Mapping[str, np.ndarray], slots: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Texts [B, S] -> rows of several, `slots` at most; row and slot of each text, [B, 2]."""
    count, length = texts["input_mask"].shape
    if count == 1:  # The graph below would take a third as long as the model.
        alone = {
            "position_ids": np.arange(length, dtype=np.int32)[np.newaxis],
            "pack_ids": texts["input_mask"],
            "cls_positions": np.zeros([1, slots], np.int32),
        }
        return {**texts, **alone}, np.array([[0, 0]])
    tensors, indices = _packer(length, slots)(dict(texts))
    del tensors["record_weights"]
    return {name: tensor.numpy() for name, tensor in tensors.items()}, indices.numpy()


@functools.cache
def _packer(length: int, slots: int) -> tf.types.experimental.ConcreteFunction:
    """The graph of `pack_with_indices` for rows of `length` tokens and `slots` texts."""
    specs = {name: tf.TensorSpec([None, length], tf.int32) for name in ENCODER_INPUTS}
    function = tf.function(
        lambda batch: pack_with_indices(batch, row_shape=(length, slots)), autograph=False
    )
    return function.get_concrete_function(specs)


class LiteAnswerer:
    """The answers of a LiteRT export.

    Args:
        folder: that `export_litert` wrote.
        num_threads: see `LiteModel`.

    Attributes:
        info: its export.json.
        module: encodes the text and reads the logits; has no model.
        model: from token ids to logits.

    Raises:
        InputError: no such export.
    """

    def __init__(self, folder: str | os.PathLike[str], num_threads: int | None = None):
        path = local_copy(folder)
        self.info = ExportInfo.load(path / FILE_NAME)
        self.info.check_files(path)
        tokenizer = BertTokenizer.from_folder(path)
        if tokenizer.vocab.sha256 != self.info.vocab_sha256:
            raise InputError(
                f"{path} has another vocab.txt than that it was exported with: export it again"
            )
        source = _Source(tokenizer, tokenizer.vocab, read_labels(path, _num_classes(self.info)))
        options = AnswerOptions(**self.info.options)
        self.module: AnswerModule = answer_class(self.info.answers[0])(source, options)
        self._encode = tf.function(lambda **texts: self.module.encode(texts), autograph=False)
        self.model = LiteModel(
            path / MODEL_NAME,
            per_token=tuple(self.info.per_token_outputs),
            pad_values={"input_word_ids": tokenizer.vocab.pad_id},
            num_threads=num_threads,
        )

    def __call__(self, **texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Strings -> the answer."""
        inputs, context = self._encode(**texts)
        logits = self.model({name: value.numpy() for name, value in inputs.items()})
        tensors = {name: tf.constant(value) for name, value in logits.items()}
        return self.module.decode(tensors, context)


def _resized(values: np.ndarray, width: int, filler: int) -> np.ndarray:
    """[rows, S, …] -> [rows, width, …], truncated or padded at the end."""
    if values.shape[1] >= width:
        return np.ascontiguousarray(values[:, :width])
    missing = [(0, 0), (0, width - values.shape[1]), *[(0, 0)] * (values.ndim - 2)]
    return np.pad(values, missing, constant_values=filler)


def _num_classes(info: ExportInfo) -> int | None:
    """C of the logits [B, C], as export.json describes them; None where there are no such."""
    for signature in info.signatures.values():
        shape: list[int | None] = signature["outputs"].get("logits", ["", [None]])[1]
        if shape:
            return shape[-1]
    return None
