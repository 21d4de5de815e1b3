"""Texts, alone or in pairs, with labels -> records of sentence prediction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from data_prep.finetuning.settings import Settings
from official_bert.text.segments import join_segments

_AT_ONCE = 512


class SentenceRecords:
    """Makes the records and counts what was cut.

    Args:
        settings: of the run.
        columns: the examples' fields with the texts, one or two.
        num_labels: of classes that exclude each other, or, with `several`, of those that do not.
        several: an example may have any number of labels.
    """

    def __init__(
        self,
        settings: Settings,
        columns: tuple[str, ...],
        num_labels: int,
        *,
        several: bool = False,
    ):
        self._settings, self._columns = settings, columns
        self._num_labels, self._several = num_labels, several
        self.truncated = 0

        @tf.function(autograph=False, reduce_retracing=True)
        def join(*texts: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
            segments = [settings.tokenizer.tokenize(text) for text in texts]
            sizes = tf.add_n([segment.row_lengths() for segment in segments])
            return join_segments(segments, settings.vocab, settings.max_seq_length), sizes

        self._join = join

    def make(
        self, examples: Iterable[Mapping[str, Any]], first_id: int = 0
    ) -> Iterator[dict[str, NDArray]]:
        """One record an example; `label_ids` where the example has a "label_id".

        Args:
            examples: with the columns, and "label_id": an id, a number, or a list of ids.
            first_id: `example_id` of the first one.
        """
        examples = iter(examples)
        number = first_id
        special = len(self._columns) + 1
        while batch := list(itertools.islice(examples, _AT_ONCE)):
            texts = [tf.constant([row[column] for row in batch]) for column in self._columns]
            inputs, sizes = self._join(*texts)
            arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
            lengths = arrays["input_mask"].sum(axis=1)
            self.truncated += int(np.sum(sizes.numpy() + special > lengths))
            for row, (example, length) in enumerate(zip(batch, lengths, strict=True)):
                record = {
                    "input_ids": arrays["input_word_ids"][row, :length],
                    "input_mask": arrays["input_mask"][row, :length],
                    "segment_ids": arrays["input_type_ids"][row, :length],
                    "example_id": np.array([number]),
                }
                if example.get("label_id") is not None:
                    record["label_ids"] = self._label(example["label_id"])
                yield record
                number += 1

    def _label(self, label: Any) -> NDArray:
        if self._several:
            return np.isin(np.arange(self._num_labels), label).astype(np.float32)
        return np.array([label], np.float32 if isinstance(label, float) else np.int64)
