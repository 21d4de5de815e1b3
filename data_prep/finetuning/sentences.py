"""Data sets of texts, alone or in pairs, with labels -> records of sentence prediction."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from data_prep.finetuning.base import DataSet, Example, Record
from data_prep.finetuning.settings import Settings
from official_bert.text.segments import join_segments

CLASSIFICATION, MULTI_LABEL, REGRESSION = "classification", "multi_label", "regression"
_AT_ONCE = 512


class SentenceDataSet(DataSet):
    """A data set whose examples have "text_a", "text_b" for pairs, and "label_id".

    "label_id" is an index of `labels`, a list of such, or a number, by the problem; examples to
    predict have none. A whole data set, for files of lines `grade<TAB>text`:

        class Reviews(SentenceDataSet):
            def find_files(self, data_dir):
                return {split: data_dir / f"{split}.tsv" for split in ("train", "dev")}

            def find_labels(self):
                return ["bad", "good"]

            def examples(self, split):
                for line, (grade, text) in read_tsv(self.files[split]):
                    yield {
                        "id": line,
                        "text_a": text,
                        "label": grade,
                        "label_id": self.labels.index(grade),
                    }

    Args:
        settings: of the run.
        problem: "classification", "multi_label" (any number of classes an example) or "regression".
        num_texts: 1, or 2 for pairs.
    """

    record_kind = "sentence_prediction"

    def __init__(
        self, settings: Settings, *, problem: str = CLASSIFICATION, num_texts: int = 1
    ) -> None:
        super().__init__(settings)
        self.problem = problem
        self.labels = self.find_labels()
        columns = ("text_a", "text_b")[:num_texts]
        self.options = {
            "problem": problem,
            "text_inputs": ["text"] if num_texts == 1 else list(columns),
        }
        self._records = SentenceRecords(
            settings, columns, len(self.labels), several=problem == MULTI_LABEL
        )

    @abc.abstractmethod
    def find_labels(self) -> list[str]:
        """Label names in id order, [] for regression; `files` is known by then."""

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[Record]:
        """One record an example, see `SentenceRecords.make`."""
        return self._records.make(examples)

    def statistics(self) -> dict[str, Any]:
        """How many texts were cut."""
        return {"truncated": self._records.truncated}


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
    ) -> None:
        self._settings, self._columns = settings, columns
        self._num_labels, self._several = num_labels, several
        self.truncated = 0

        def join(*texts: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
            segments = [settings.tokenizer.tokenize(text) for text in texts]
            sizes = tf.add_n([segment.row_lengths() for segment in segments])
            return join_segments(segments, settings.vocab, settings.max_seq_length), sizes

        self._join = tf.function(join, autograph=False, reduce_retracing=True)

    def make(self, examples: Iterable[Mapping[str, Any]], first_id: int = 0) -> Iterator[Record]:
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
                record: Record = {
                    "input_ids": arrays["input_word_ids"][row, :length],
                    "input_mask": arrays["input_mask"][row, :length],
                    "segment_ids": arrays["input_type_ids"][row, :length],
                    "example_id": np.array([number]),
                }
                if example.get("label_id") is not None:
                    record["label_ids"] = self._label(example["label_id"])
                yield record
                number += 1

    def _label(self, label: Any) -> NDArray[Any]:
        if self._several:
            return np.isin(np.arange(self._num_labels), label).astype(np.float32)
        return np.array([label], np.float32 if isinstance(label, float) else np.int64)
