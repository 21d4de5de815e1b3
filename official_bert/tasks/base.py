"""What a task offers to the run, the input pipeline, the training step and evaluation.

B batch (records), S sequence, N sequences of a packed row.
"""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import tensorflow as tf
import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.models.encoder import ENCODER_INPUTS
from official_bert.tasks.examples import Examples
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

Tensors = Mapping[str, tf.Tensor]
Batching = Literal["padded", "bucketed", "packed"]
# A parsed batch and int64 [B], the number of each record in the whole run -> the batch.
Completion = Callable[[Tensors, tf.Tensor], Tensors]


def record_weights(batch: Tensors) -> tf.Tensor:
    """0 for what only fills a batch, 1 for a record: float32 [B], or [B, N] of packed rows."""
    if "record_weights" in batch:
        return batch["record_weights"]
    return tf.ones(tf.shape(next(iter(batch.values())))[:1])  # All have B rows.


class Task(abc.ABC):
    """A kind of training: its records, model, loss, metrics and prediction files.

    A subclass is all that a new task needs. A config names it as one of `official_bert.tasks`, or
    as `package.module:Class` where it lives outside of this package. It is an `Objective` of the
    training step: losses and metrics are sums and weights, which add up over replicas and parts of
    a batch. docs/add_a_task.md builds one.

    Attributes:
        manifest, vocab, experiment: what it was made with.
        record_kind: the records that the task reads: `task` in the manifest of prepared data, and
            a key of `data.records.RECORD_KINDS`.
        model_inputs: the entries of a batch that the model is called on.
        losses: the keys of `weights` and `sums` whose quotients are added up to the loss.
        best_metric: the entry of `results` that says which of two models is better; whether more
            or less of it is better follows from its name (`evaluation.metric_direction`).
        metrics: the entries of `results` that a config may choose as `evaluation.best_metric`; ()
            where only `results` knows them, so that a wrong name is found by the first evaluation.
        batching: of `data.batching`, where the config does not say.
        can_pack: whether several records can share a row while training.
        token_features: features of a record that have an entry a token, beside the encoder's
            inputs; packing joins them.
        prediction_files: names of the files that `write_predictions` may write; () for a task
            without predictions.
        can_ensemble: whether several models can answer together, see `ensemble`.
        uses_class_weights: whether the loss reads `train.class_weights`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run.

    Raises:
        InputError: config and data do not go together.
    """

    record_kind: ClassVar[str]
    model_inputs: tuple[str, ...] = tuple(ENCODER_INPUTS)
    losses: tuple[str, ...] = ("loss",)
    best_metric: str = "loss"
    metrics: tuple[str, ...] = ()
    batching: ClassVar[Batching] = "bucketed"
    can_pack: ClassVar[bool] = False
    token_features: ClassVar[tuple[str, ...]] = ()
    prediction_files: ClassVar[tuple[str, ...]] = ()
    can_ensemble: ClassVar[bool] = False
    uses_class_weights: ClassVar[bool] = False

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        self.manifest = manifest
        self.vocab = vocab
        self.experiment = experiment
        if experiment.train.class_weights and not self.uses_class_weights:
            raise InputError(
                f"train.class_weights: the task {experiment.task} has no weights of classes; "
                "leave it out"
            )

    # ---- records ----------------------------------------------------------------------------

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser.

        Args:
            config: of the encoder.

        Returns:
            An entry for each letter among the lengths of the record kind (`data.records`), and
            `vocab_size` and `type_vocab_size`, which ids must stay below.
        """
        return {
            "S": self.manifest.max_seq_length,
            "vocab_size": config.vocab_size,
            "type_vocab_size": config.type_vocab_size,
        }

    def completion(self, seed: int) -> Completion:
        """What is added to a parsed batch, such as masks that differ in each epoch; nothing here.

        Args:
            seed: of what is drawn.
        """
        del seed
        return lambda batch, numbers: batch

    # ---- model ------------------------------------------------------------------------------

    def check_encoder(self, config: BertConfig) -> None:
        """Raises InputError for an encoder that cannot learn this task; all can here."""
        del config

    @abc.abstractmethod
    def make_model(self, config: BertConfig, pretrained: Pretrained | None) -> tf_keras.Model:
        """The model that is trained, with its encoder as the attribute `encoder`.

        Args:
            config: of the encoder.
            pretrained: the checkpoint that the run starts from; None for random weights, and where
                the weights come from the model folder itself.
        """

    def ensemble(self, models: Sequence[tf_keras.Model]) -> tf_keras.Model:
        """One model that answers for several, where `can_ensemble`.

        Raises:
            InputError: one of them is another kind of model.
        """
        raise InputError("this task has no ensembles: give one --model_dir")

    # ---- loss and metrics -------------------------------------------------------------------

    @abc.abstractmethod
    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        """Float32 scalars: what each sum is divided by, known before the model is run.

        The keys are those of `sums`; {} for a batch without labels. Both weigh each record as
        `record_weights` of this module does.
        """

    @abc.abstractmethod
    def sums(self, outputs: Any, batch: Tensors) -> dict[str, tf.Tensor]:
        """Float32 scalars: losses and metrics, added up over the records of a batch.

        Args:
            outputs: what the model gives for the batch.
            batch: the records.
        """

    def collect(self, outputs: Any, batch: Tensors) -> dict[str, tf.Tensor]:
        """Tensors [B, …] that `results` and `write_predictions` need of each record; {} for none.

        Args:
            outputs: what the model gives for the batch.
            batch: the records.
        """
        del outputs, batch
        return {}

    @abc.abstractmethod
    def results(
        self, values: Mapping[str, float], collected: Collected, examples: Examples
    ) -> dict[str, float]:
        """The metrics of a whole split, by their usual names; `eval_results.json` holds them.

        Args:
            values: sum / weight of each key of `sums`.
            collected: from `collect`, of every record, in no particular order.
            examples: reads the raw rows of the split.
        """

    def use_results(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Takes what earlier evaluations found, such as a threshold; nothing here.

        Args:
            results: `eval_results.json` of each model folder that answers; {} where it has none.
        """
        del results

    def baselines(
        self, train_paths: Sequence[str], eval_paths: Sequence[str], config: BertConfig
    ) -> dict[str, float]:
        """Scores that can be had without the model, to stand beside its own; none here.

        Args:
            train_paths: files of the training split.
            eval_paths: files of the evaluation split.
            config: of the encoder.
        """
        del train_paths, eval_paths, config
        return {}

    # ---- predictions ------------------------------------------------------------------------

    def write_predictions(
        self, collected: Collected, examples: Examples, output_dir: pathlib.Path
    ) -> list[pathlib.Path]:
        """Writes the `prediction_files` of a split, in the order of its examples.

        Args:
            collected: from `collect`, of every record, in no particular order.
            examples: reads the raw rows of the split.
            output_dir: a folder that is there.

        Returns:
            the files.
        """
        raise InputError("this task writes no prediction files")
