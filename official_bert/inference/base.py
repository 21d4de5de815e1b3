"""What every kind of answer has in common.

B rows of a batch, S sequence, H hidden.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow as tf
import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.errors import InputError, shown
from official_bert.models.encoder import ENCODER_INPUTS, BertEncoder
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.segments import join_segments

Tensors = Mapping[str, tf.Tensor]
# The outputs for one row as Python values, by name: a str, an int, a float, or lists of these.
RowOutputs = dict[str, Any]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000


def _is_names(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) in (1, 2)
        and all(isinstance(name, str) and name.isidentifier() for name in value)
        and len(set(value)) == len(value)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# What answers read of `AnswerOptions.task_options`: name -> is the value good?, what it must be.
_TASK_OPTIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "problem": (
        lambda value: value in ("classification", "multi_label", "regression"),
        "classification, multi_label or regression",
    ),
    "text_inputs": (
        _is_names,
        'a list of one or two names, such as ["text_a", "text_b"]',
    ),
    "doc_stride": (_is_count, "a whole number, at least 1"),
    "max_query_length": (_is_count, "a whole number, at least 1"),
    "version_2_with_negative": (lambda value: isinstance(value, bool), "true or false"),
    "null_threshold": (_is_number, "a number"),
}


@dataclasses.dataclass(frozen=True)
class AnswerOptions:
    """How answers are computed; fixed in an export.

    Attributes:
        max_seq_length: the most tokens of a row; longer text is cut as in training.
        pad_to: every batch is padded to this many tokens (static shapes, for accelerators); None
            pads to the longest row of the batch.
        candidates: how many of the best candidates are given where an answer is a choice.
        concat_last_four: whether embeddings have the mean of the last four layers, side by side.
        task_options: what the model was prepared and trained with: the options of its prepared data
            and its evaluation results; empty for a checkpoint from elsewhere.
    """

    max_seq_length: int
    pad_to: int | None = None
    candidates: int = 5
    concat_last_four: bool = False
    task_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises InputError for an entry of `task_options` that answers cannot use."""
        for name, (good, wanted) in _TASK_OPTIONS.items():
            if name in self.task_options and not good(self.task_options[name]):
                value = shown(self.task_options[name])
                raise InputError(f"the model's option {name} is {value}: it must be {wanted}")


class AnswerSource(Protocol):
    """The parts of a loaded checkpoint (`checkpoints.load.Pretrained`) that answers need."""

    @property
    def model(self) -> tf_keras.Model | None:
        """The model with its head; None where another program computes the logits."""

    @property
    def encoder(self) -> BertEncoder | None:
        """The model's encoder."""

    @property
    def vocab(self) -> Vocab | None: ...

    @property
    def tokenizer(self) -> BertTokenizer | None: ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes in id order."""


class AnswerModule(abc.ABC):
    """One kind of answer: strings -> named tensors, all in TensorFlow ops.

    Args:
        source: the loaded model, as `official_bert.load_pretrained` gives it.
        options: how answers are computed.

    Attributes:
        name: of the answer, and of its signature in an export.
        fixed_size_logits: whether the shapes of `logits` follow from those of its inputs, as
            LiteRT needs it.
        ranked: outputs that list candidates in the order of another output's values, or give the
            first of them; where two values are nearly equal, their order is arbitrary.
    """

    name: ClassVar[str]
    fixed_size_logits: ClassVar[bool] = True
    ranked: ClassVar[Mapping[str, str]] = {}

    def __init__(self, source: AnswerSource, options: AnswerOptions):
        assert source.vocab is not None and source.tokenizer is not None
        self._options = options
        self._source = source
        self._vocab = source.vocab
        self._tokenizer = source.tokenizer
        self._labels = source.labels

    @classmethod
    def missing(cls, bundle: Pretrained) -> str:
        """What the answer needs and the model lacks; "" if nothing."""
        del bundle
        return ""

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        """The string inputs by name, each [B]; by default one, `text`."""
        return {"text": text_spec("text")}

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], Tensors]:
        """Strings -> the encoder's inputs, int32 [rows, S] each, and what else `decode` needs.

        By default the inputs of a row are joined, and `decode` needs nothing else.
        """
        return self._join(*(self._tokenizer.tokenize(texts[name]) for name in self.text_inputs)), {}

    @abc.abstractmethod
    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """The encoder's inputs -> the model's outputs, which `decode` turns into an answer."""

    @abc.abstractmethod
    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        """The result of `logits` -> the answer, each output [B, …].

        Args:
            logits: from `logits`.
            context: from `encode`.
        """

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """Strings -> the answer, each output [B, …]."""
        inputs, context = self.encode(texts)
        return self.decode(self.logits(inputs), context)

    @classmethod
    @abc.abstractmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        """The answer to one row as lines for people.

        Args:
            texts: the row's strings.
            outputs: the row's, from `tidy`.
        """

    @classmethod
    def tidy(cls, outputs: RowOutputs, candidates: int) -> RowOutputs:
        """The outputs of one row without the padding of the batch.

        Args:
            outputs: the row's.
            candidates: how many of the best candidates stay, where the answer is a choice.
        """
        del candidates
        return dict(outputs)

    @property
    def packs(self) -> bool:
        """Whether `logits` also takes packed rows, of several texts (`data.packing`), and then
        gives one result for each slot of a row."""
        return False

    @property
    def model(self) -> tf_keras.Model:
        """The model with its head."""
        assert self._source.model is not None, "the logits are computed elsewhere"
        return self._source.model

    @property
    def encoder(self) -> BertEncoder:
        """The model's encoder."""
        assert self._source.encoder is not None, "the logits are computed elsewhere"
        return self._source.encoder

    @property
    def vocab_asset(self) -> tf.saved_model.Asset:
        """vocab.txt, for an export to take along."""
        return self._tokenizer.vocab_asset

    @property
    def encoded_inputs(self) -> dict[str, tf.TensorSpec]:
        """The inputs of `logits`."""
        shape = [None, self._options.pad_to]
        return {name: tf.TensorSpec(shape, tf.int32, name=name) for name in ENCODER_INPUTS}

    def samples(self) -> list[dict[str, np.ndarray]]:
        """Inputs to check an export with: a batch of 1 and one of 17.

        Among them an empty string, a text of 5,000 words, emoji, and words of the vocabulary.
        """
        texts = self._sample_texts()
        names = list(self.text_inputs)
        rows = [
            [texts[(row + shift * 5) % len(texts)] for row in range(17)]
            for shift in range(len(names))
        ]
        batches = []
        for size in (1, 17):
            batches.append(
                {
                    name: np.array([text.encode() for text in column[-size:]], object)
                    for name, column in zip(names, rows, strict=True)
                }
            )
        return batches

    def _sample_texts(self) -> list[str]:
        """17 texts; the last one is a plain sentence."""
        vocab = self._vocab
        words = [
            token
            for id_, token in enumerate(vocab.tokens)
            if id_ not in vocab.special_ids and not token.startswith(("[", "##"))
        ] or ["a"]
        sentences = [
            " ".join(words[(start * 37 + step * 11) % len(words)] for step in range(1 + start))
            for start in range(13)
        ]
        return [
            "",
            " ".join(sentences[-1].split()[:10] * 500),
            "👩‍👩‍👧 😀🇫🇷 café",
            "\0 \t",
            *sentences,
        ]

    def _join(self, *segments: tf.RaggedTensor) -> dict[str, tf.Tensor]:
        """[CLS] A [SEP] B [SEP], cut as in training; int32 [B, S] each."""
        options = self._options
        return join_segments(
            segments,
            self._vocab,
            options.pad_to or options.max_seq_length,
            pad_to_max=options.pad_to is not None,
        )


def text_spec(name: str) -> tf.TensorSpec:
    """A string input with one text a row."""
    return tf.TensorSpec([None], tf.string, name=name)
