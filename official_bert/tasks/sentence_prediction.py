"""A class, several, or a number for a text or a pair of texts (Devlin et al. 2019, section 4.1).

B batch, C classes.
"""

from __future__ import annotations

import csv
import pathlib
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.evaluation import glue
from official_bert.evaluation.glue import CLASSIFICATION, MULTI_LABEL, REGRESSION
from official_bert.evaluation.glue_files import PREDICTIONS_NAME
from official_bert.evaluation.pictures import draw_confusion
from official_bert.experiment import ExperimentConfig
from official_bert.tasks.base import Tensors, record_weights
from official_bert.tasks.examples import Examples
from official_bert.tasks.fine_tuning import FineTuningTask
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

CONFUSION_NAME = "confusion_matrix.png"


class SentencePredictionTask(FineTuningTask):
    """One class of several, any number of classes, or a number; see `Task`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run.

    Raises:
        InputError: the class weights do not fit the labels.
    """

    head = "classifier"
    record_kind = "sentence_prediction"
    batching = "packed"
    can_pack = True
    model_inputs = (*FineTuningTask.model_inputs, "position_ids", "pack_ids", "cls_positions")
    prediction_files = (PREDICTIONS_NAME, CONFUSION_NAME)
    uses_class_weights = True

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        problems = (CLASSIFICATION, MULTI_LABEL, REGRESSION)
        self._problem = manifest.option("problem", str, choices=problems)
        self._labels = manifest.labels
        self.best_metric = glue.main_metric(manifest.dataset, self._problem)
        self.metrics = ("loss", *glue.metric_names(self._problem, self.num_classes))
        self._class_weights = self._checked(experiment.train.class_weights)

    @property
    def num_classes(self) -> int:
        return max(1, len(self._labels))

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser."""
        return {
            **super().sizes(config),
            "L": self.num_classes,
            "num_labels": self.num_classes,
        }

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        return {"loss": tf.reduce_sum(self._weights(batch))}

    def sums(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        labels = batch["label_ids"]  # [B, 1] or, of several, [B, C]; with N before the last: packed
        if self._problem == REGRESSION:
            # [B, 1] against [B, 1]; against [B] the difference would be [B, B].
            losses = tf.reduce_sum(tf.square(outputs - labels), axis=-1)
        elif self._problem == MULTI_LABEL:
            losses = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=outputs)
                * self._class_weights,
                axis=-1,
            )
        else:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels[..., 0], outputs)
        return {"loss": tf.reduce_sum(losses * self._weights(batch))}

    def collect(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        collected = {"example_id": batch["example_id"][..., 0], "logits": outputs}
        if "label_ids" in batch:
            collected["label_ids"] = batch["label_ids"]
        return collected

    def results(
        self, values: Mapping[str, float], collected: Collected, examples: Examples
    ) -> dict[str, float]:
        """The official metrics of the data set, and the loss."""
        del examples
        logits = np.stack([record["logits"] for record in collected])
        labels = np.stack([record["label_ids"] for record in collected])
        return {**values, **glue.metrics(self._problem, logits, labels)}

    def write_predictions(
        self, collected: Collected, examples: Examples, output_dir: pathlib.Path
    ) -> list[pathlib.Path]:
        """`predictions.tsv`: a row an example, in the order of the file.

        Columns: id, the predicted label (labels with | between; a number), and the probability of
        each label. Where the data has classes as labels, `confusion_matrix.png` too.
        """
        in_order = sorted(collected, key=lambda record: record["example_id"])
        path = output_dir / PREDICTIONS_NAME
        names = [f"probability_{label}" for label in self._labels]
        with atomic_file(path) as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(["id", "prediction", *names])
            for example, record in zip(examples(), in_order, strict=True):
                prediction, probabilities = self._predicted(record["logits"])
                writer.writerow([example["id"], prediction, *probabilities])
        if self._problem != CLASSIFICATION or "label_ids" not in in_order[0]:
            return [path]
        logits = np.stack([record["logits"] for record in in_order])
        matrix = glue.confusion_matrix(
            logits, np.stack([record["label_ids"] for record in in_order])
        )
        draw_confusion(matrix, self._labels, output_dir / CONFUSION_NAME)
        return [path, output_dir / CONFUSION_NAME]

    def _predicted(self, logits: np.ndarray) -> tuple[str, list[str]]:
        if self._problem == REGRESSION:
            return f"{logits[0]:.6g}", []
        probabilities = glue.probabilities(self._problem, logits[np.newaxis])[0]
        shown = [f"{value:.6f}" for value in probabilities]
        if self._problem == MULTI_LABEL:
            chosen = [self._labels[i] for i in np.flatnonzero(probabilities > 0.5)]
            return "|".join(chosen), shown
        return self._labels[int(np.argmax(logits))], shown

    def _weights(self, batch: Tensors) -> tf.Tensor:
        """Of each record in the loss: float32 [B], or [B, N] where rows are packed."""
        labels = batch["label_ids"]
        weights = tf.ones_like(labels[..., 0], tf.float32)
        if self._problem == CLASSIFICATION:
            weights = tf.gather(tf.constant(self._class_weights, tf.float32), labels[..., 0])
        return weights * record_weights(batch)

    def _checked(self, class_weights: list[float]) -> list[float]:
        if not class_weights:
            return [1.0] * self.num_classes
        if self._problem == REGRESSION or len(class_weights) != len(self._labels):
            raise InputError(
                f"train.class_weights has {len(class_weights)} numbers; the data has "
                f"{len(self._labels)} labels: {', '.join(self._labels)}"
            )
        return class_weights
