"""The right one of several continuations (Devlin et al. 2019, section 4.4).

B batch, C choices, S sequence.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.decoding.choices import choice_logits
from official_bert.experiment import ExperimentConfig
from official_bert.tasks.base import Tensors, record_weights
from official_bert.tasks.examples import Examples
from official_bert.tasks.fine_tuning import FineTuningTask
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

PREDICTIONS_NAME = "predictions.jsonl"


class MultipleChoiceTask(FineTuningTask):
    """The right one of several continuations of a text; see `Task`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run.
    """

    head = "multiple_choice"
    record_kind = "multiple_choice"
    losses = ("choice_loss",)
    best_metric = "accuracy"
    metrics = ("loss", "accuracy")
    prediction_files = (PREDICTIONS_NAME,)

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        self._max_choices = manifest.option("max_choices", int, least=1)

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser."""
        return {
            **super().sizes(config),
            "C": self._max_choices,
            "C*S": self._max_choices * self.manifest.max_seq_length,
        }

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        rows = tf.reduce_sum(record_weights(batch))
        return {"choice_loss": rows, "accuracy": rows}

    def sums(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        labels = batch["label_ids"][:, 0]
        logits = choice_logits(outputs, batch["input_mask"])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        hits = tf.argmax(logits, axis=-1, output_type=tf.int32) == labels
        return {
            "choice_loss": tf.reduce_sum(losses * record_weights(batch)),
            "accuracy": tf.reduce_sum(tf.cast(hits, tf.float32) * record_weights(batch)),
        }

    def collect(self, outputs: tf.Tensor, batch: Tensors) -> dict[str, tf.Tensor]:
        """The probability of each choice, float32 [B, C]; 0 for those that are not there."""
        logits = choice_logits(outputs, batch["input_mask"])
        names = ("example_id", "num_choices")
        return {
            "probabilities": tf.nn.softmax(logits),
            **{name: batch[name] for name in names},
        }

    def results(
        self, values: Mapping[str, float], collected: Collected, examples: Examples
    ) -> dict[str, float]:
        """The loss and the share of examples whose best choice is the right one."""
        del collected, examples
        return {"loss": values["choice_loss"], "accuracy": values["accuracy"]}

    def write_predictions(
        self, collected: Collected, examples: Examples, output_dir: pathlib.Path
    ) -> list[pathlib.Path]:
        """`predictions.jsonl`: an object an example, in the order of the file.

        {"id": 0, "choice": 2, "probabilities": [0.1, 0.2, 0.6, 0.1]}
        """
        by_id = {int(record["example_id"].item()): record for record in collected}
        path = output_dir / PREDICTIONS_NAME
        with atomic_file(path) as file:
            for example in examples():
                record = by_id[example["id"]]
                probabilities = record["probabilities"][: record["num_choices"].item()]
                row = {
                    "id": example["id"],
                    "choice": int(np.argmax(probabilities)),
                    "probabilities": [round(float(value), 6) for value in probabilities],
                }
                file.write(json.dumps(row) + "\n")
        return [path]
