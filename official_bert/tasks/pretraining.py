"""Masked LM and next-sentence prediction (Devlin et al. 2019, section 3.1).

B batch, P masked positions, N sequences of a packed row (1 in others), V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf
import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.data import dynamic_masking, pipeline
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.models.inputs import check_packing
from official_bert.models.pretrainer import BertPretrainer
from official_bert.tasks.base import Completion, Task, Tensors, record_weights
from official_bert.tasks.examples import Examples
from official_bert.text.vocab import Vocab
from official_bert.training.evaluator import Collected

# Records that the baselines look at; more would not move them.
_BASELINE_RECORDS = 200_000


class PretrainingTask(Task):
    """Masked LM with or without next sentences, or left to right; see `Task`.

    Args:
        manifest: of the prepared data.
        vocab: of the prepared data.
        experiment: the run; pretraining has no settings of its own in it.
    """

    record_kind = "pretraining"
    batching = "padded"
    # Rows are packed when the data is made.
    can_pack = False
    best_metric = "masked_lm_loss"
    model_inputs = (
        "input_word_ids",
        "input_mask",
        "input_type_ids",
        "position_ids",
        "pack_ids",
        "masked_lm_positions",
        "cls_positions",
    )

    def __init__(self, manifest: Manifest, vocab: Vocab, experiment: ExperimentConfig):
        super().__init__(manifest, vocab, experiment)
        self._masks = manifest.option("masks", str, choices=("static", "dynamic", "none"))
        self._has_pairs = manifest.option("objective", str) == "bert"
        self._max_instances = manifest.option("max_instances_per_record", int, least=1)
        pair_losses = ("next_sentence_loss",) if self._has_pairs else ()
        self.losses = ("masked_lm_loss", *pair_losses)
        pair_metrics = (*pair_losses, "next_sentence_accuracy") if self._has_pairs else ()
        self.metrics = (
            "loss",
            "masked_lm_loss",
            "masked_lm_accuracy",
            "masked_lm_perplexity",
            *pair_metrics,
        )

    @property
    def _max_predictions(self) -> int:
        """Masked positions of the fullest record; a packed one has those of several instances."""
        return self.manifest.option("max_predictions_per_record", int, least=0)

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser."""
        return {
            **super().sizes(config),
            # Padded records have as many as they could; packed ones more than one instance may.
            "P": max(
                self.manifest.option("max_predictions_per_seq", int, least=0),
                self._max_predictions,
            ),
            "N": self._max_instances,
        }

    def completion(self, seed: int) -> Completion:
        """What a parsed batch still lacks: masks that are made anew each time, or next tokens.

        Args:
            seed: of the masks.

        Returns:
            A function of a batch and int64 [B], the number of each record in the whole run.
        """
        if self._masks == "dynamic":
            return dynamic_masking.make_masker(
                dynamic_masking.rule_from_options(self.manifest.options),
                self.vocab,
                seed=seed,
                max_predictions=self._max_predictions,
            )
        if self._masks == "none":
            return lambda batch, numbers: next_token_targets(batch)
        return lambda batch, numbers: batch

    def check_encoder(self, config: BertConfig) -> None:
        """Raises InputError for an encoder that would see what it is to predict, or that cannot
        read these rows."""
        if config.bilstm:
            raise InputError(
                "a BiLSTM on top is for fine-tuning: left to right it would see the token that is "
                "to be predicted; leave model.add_bilstm and model.encoder.bilstm out"
            )
        if self._masks == "none" and config.attention != "causal":
            raise InputError(
                "the records have no masks (--objective=ltr): each token is predicted from those "
                "before it, so set model.encoder.attention to causal, not "
                f"{config.attention}, which sees the token itself"
            )
        if self._max_instances > 1:
            check_packing(config, pooled=self._has_pairs)

    def make_model(self, config: BertConfig, pretrained: Pretrained | None) -> tf_keras.Model:
        """The model to train: from random weights, or from what the checkpoint has.

        Data without pairs trains no next-sentence head, so a new model has none; data with pairs
        gives one to a checkpoint that has a masked-LM head only.
        """
        before = None if pretrained is None else pretrained.pretrainer
        if before is not None and (before.next_sentence is not None or not self._has_pairs):
            return before
        encoder = config if pretrained is None else pretrained.encoder
        model = BertPretrainer(encoder, use_next_sentence=self._has_pairs)
        if before is not None:
            model.masked_lm.set_weights(before.masked_lm.get_weights())
        return model

    def weights(self, batch: Tensors) -> dict[str, tf.Tensor]:
        masked = tf.reduce_sum(_prediction_weights(batch))
        weights = {"masked_lm_loss": masked, "masked_lm_accuracy": masked}
        if self._has_pairs:
            pairs = tf.reduce_sum(_pair_weights(batch))
            weights |= {"next_sentence_loss": pairs, "next_sentence_accuracy": pairs}
        return weights

    def sums(self, outputs: Tensors, batch: Tensors) -> dict[str, tf.Tensor]:
        loss, hits = _sums(
            outputs["mlm_logits"], batch["masked_lm_ids"], _prediction_weights(batch)
        )
        sums = {"masked_lm_loss": loss, "masked_lm_accuracy": hits}
        if self._has_pairs:
            labels = batch["next_sentence_labels"]  # [B, N]
            logits = tf.reshape(outputs["next_sentence"], [-1, tf.shape(labels)[1], 2])
            loss, hits = _sums(logits, labels, _pair_weights(batch))
            sums |= {"next_sentence_loss": loss, "next_sentence_accuracy": hits}
        return sums

    def results(
        self, values: Mapping[str, float], collected: Collected, examples: Examples
    ) -> dict[str, float]:
        """The metrics as they are reported: with the loss as a sum, and the perplexity."""
        del collected, examples
        return {
            "loss": sum(values[name] for name in self.losses),
            **values,
            "masked_lm_perplexity": math.exp(min(values["masked_lm_loss"], 100.0)),
        }

    def baselines(
        self, train_paths: Sequence[str], eval_paths: Sequence[str], config: BertConfig
    ) -> dict[str, float]:
        """What can be had without reading the context; a model must beat both.

        Returns:
            `majority_accuracy`: of always guessing the token that is masked most often in training;
            `unigram_loss`: cross-entropy, in nats, of the training frequencies (plus one each) of
            the masked tokens.
        """
        counts = self._count_predicted_tokens(train_paths, config.vocab_size) + 1.0
        evaluated = self._count_predicted_tokens(eval_paths, config.vocab_size)
        log_probabilities = np.log(counts / counts.sum())
        total = evaluated.sum()
        return {
            "majority_accuracy": float(evaluated[counts.argmax()] / total),
            "unigram_loss": float(-(evaluated * log_probabilities).sum() / total),
        }

    def _count_predicted_tokens(self, paths: Sequence[str], vocab_size: int) -> np.ndarray:
        """How often each token is to be predicted in the first records; float64 [V].

        Where the records have no masks, any token but the special ones is as likely to get one.
        """
        present = pipeline.present_features(self.record_kind, paths)
        wanted = "masked_lm_ids" if self._masks == "static" else "input_word_ids"
        name = next(name for name, f in present.items() if f.model_name == wanted)
        spec = {name: tf.io.RaggedFeature(tf.int64)}
        counts = np.zeros(vocab_size, np.int64)
        batches = pipeline.evaluation_batches(paths, batch_size=1000)
        for serialized in batches.take(_BASELINE_RECORDS // 1000):
            ids = tf.io.parse_example(serialized, spec)[name].flat_values.numpy()
            counts += np.bincount(ids, minlength=vocab_size)
        counts[list(self.vocab.special_ids)] = 0
        return counts.astype(np.float64)


def next_token_targets(batch: Tensors) -> Tensors:
    """Left to right: each token is predicted from those before it (section 5.1, "LTR").

    input_word_ids [[2, 7, 8, 3]] with all four real gives masked_lm_positions [[0, 1, 2]],
    masked_lm_ids [[7, 8, 3]] and masked_lm_weights of 1. The first token of a packed sequence has
    weight 0: what stands before it is another sequence.
    """
    ids = batch["input_word_ids"]
    is_target = batch["input_mask"][:, 1:] > 0
    if "pack_ids" in batch:
        same = tf.equal(batch["pack_ids"][:, 1:], batch["pack_ids"][:, :-1])
        is_target = tf.logical_and(is_target, same)
    positions = tf.broadcast_to(tf.range(tf.shape(ids)[1] - 1), tf.shape(ids[:, 1:]))
    return {
        **batch,
        "masked_lm_positions": positions,
        "masked_lm_ids": ids[:, 1:],
        "masked_lm_weights": tf.cast(is_target, tf.float32),
    }


def _prediction_weights(batch: Tensors) -> tf.Tensor:
    return batch["masked_lm_weights"] * record_weights(batch)[:, tf.newaxis]


def _pair_weights(batch: Tensors) -> tf.Tensor:
    """1 for each sequence that is there: the first of a row, and any that starts behind it."""
    labels = batch["next_sentence_labels"]  # [B, N]
    row_weights = record_weights(batch)[:, tf.newaxis]
    if "cls_positions" not in batch:
        return tf.ones_like(labels, tf.float32) * row_weights
    first = tf.one_hot(tf.zeros_like(labels[:, 0]), tf.shape(labels)[1])
    return tf.maximum(first, tf.cast(batch["cls_positions"] > 0, tf.float32)) * row_weights


def _sums(logits: tf.Tensor, labels: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Weighted sums of cross-entropy and of right guesses; [.., K], [..], [..] -> scalars."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    hits = tf.cast(tf.argmax(logits, -1, tf.int32) == labels, tf.float32)
    return tf.reduce_sum(losses * weights), tf.reduce_sum(hits * weights)
