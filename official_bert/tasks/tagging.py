"""A label for each word (Devlin et al. 2019, section 5.3): on its first piece, without a CRF.

B batch, S sequence, C classes.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.decoding.entity_tags import EntityTagger
from official_bert.evaluation.tagging import entity_scores
from official_bert.experiment import ExperimentConfig
from official_bert.tasks.base import Batching, Tensors, record_weights
from official_bert.tasks.examples import Examples
from official_bert.tasks.fine_tuning import FineTuningTask
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

PREDICTIONS_NAME = "predictions.conll"


class TaggingTask(FineTuningTask):
    """A label on the first piece of each word; see `Task`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run's config.
    """

    head = "token_classifier"
    record_kind = "tagging"
    batching: ClassVar[Batching] = "packed"
    can_pack = True
    token_features = ("label_ids", "word_ids")
    model_inputs = (*FineTuningTask.model_inputs, "position_ids", "pack_ids")
    losses = ("tagging_loss",)
    best_metric = "f1"
    prediction_files = (PREDICTIONS_NAME,)

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        self._labels = manifest.labels
        types = sorted({label[2:] for label in manifest.labels if label != "O"})
        scores = ("f1", "precision", "recall")
        of_types = (f"{name}_{score}" for name in types for score in scores)
        self.metrics = ("loss", *scores, "token_accuracy", *of_types)

    @property
    def num_classes(self) -> int:
        return len(self._labels)

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser."""
        return {**super().sizes(config), "num_labels": self.num_classes}

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        return {"tagging_loss": tf.reduce_sum(_label_weights(batch))}

    def sums(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        labels = tf.maximum(batch["label_ids"], 0)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)  # [B, S]
        return {"tagging_loss": tf.reduce_sum(losses * _label_weights(batch))}

    def collect(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        """The best label of each token, int32 [B, S], and which word it is of."""
        names = ("sentence_id", "sub_sentence_id", "word_ids", "input_mask")
        return {
            "label": tf.argmax(outputs, axis=-1, output_type=tf.int32),
            **{name: batch[name] for name in names},
        }

    def results(
        self, values: Mapping[str, float], collected: Collected, examples: Examples
    ) -> dict[str, float]:
        """The loss, and the scores of entities over whole sentences."""
        predicted = self._predicted_tags(collected)
        gold = []
        said = []
        for example in examples():
            gold.append(example["tags"])
            said.append(predicted[example["sentence_id"]])
        return {"loss": values["tagging_loss"], **entity_scores(gold, said)}

    def write_predictions(
        self, collected: Collected, examples: Examples, output_dir: pathlib.Path
    ) -> list[pathlib.Path]:
        """Writes the input file with a column added: the predicted tag, in IOB2."""
        path = output_dir / PREDICTIONS_NAME
        with atomic_file(path) as file:
            file.writelines(tagged_lines(examples(), self._predicted_tags(collected)))
        return [path]

    def _predicted_tags(self, collected: Collected) -> dict[int, list[str]]:
        """Sentence id -> the tag of each word; windows are joined in their order."""
        windows: dict[tuple[int, int], np.ndarray] = {}
        for record in collected:
            words = np.where(record["input_mask"] != 0, record["word_ids"], -1)
            before = np.concatenate([[-1], words[:-1]])
            first_pieces = (words >= 0) & (words != before)
            key = int(record["sentence_id"].item()), int(record["sub_sentence_id"].item())
            windows[key] = record["label"][first_pieces]
        in_order = sorted(windows)
        label_ids = np.concatenate([np.zeros(0, np.int32), *(windows[key] for key in in_order)])
        starts_window = np.concatenate(
            [np.zeros(0, bool), *(np.arange(len(windows[key])) == 0 for key in in_order)]
        )
        tagger = EntityTagger(self._labels, strict=True)
        tags = tagger(label_ids, starts_window).labels.numpy()
        sentences: dict[int, list[str]] = {}
        start = 0
        for sentence_id, number in in_order:
            end = start + len(windows[sentence_id, number])
            window_tags = [tag.decode() for tag in tags[start:end]]
            sentences.setdefault(sentence_id, []).extend(window_tags)
            start = end
        return sentences


def tagged_lines(
    examples: Iterable[Mapping[str, Any]], predicted: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """The lines of the file that the examples are from, each word's with one more column.

    A line that marks a document gets an O, so that all lines have as many columns.
    """
    for example in examples:
        tags = iter(predicted[example["sentence_id"]])
        for line in example["before"]:
            yield _between(line)
        for line in example["lines"]:
            yield f"{_with_column(line, next(tags))}\n"
        for line in example["after"]:
            yield _between(line)


def _between(line: str) -> str:
    return f"{_with_column(line, 'O') if line.strip() else line}\n"


def _with_column(line: str, value: str) -> str:
    return f"{line}\t{value}" if "\t" in line else f"{line.rstrip(' ')} {value}"


def _label_weights(batch: Tensors) -> tf.Tensor:
    """1 for the first piece of each word, float32 [B, S]; padding has label 0 too."""
    labelled = (batch["label_ids"] >= 0) & (batch["input_mask"] != 0)
    weights = tf.cast(labelled, tf.float32)
    if "pack_ids" in batch:  # Where there is no record in a row, there are no tokens either.
        return weights
    return weights * record_weights(batch)[:, tf.newaxis]
