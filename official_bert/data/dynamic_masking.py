"""New masks each time a record is read, for records that were written unmasked.

Liu et al. 2019 (RoBERTa), section 4.1: with masks made while training, an instance is masked anew
in each epoch, and the corpus need not be written several times over. The masks come from the same
functions as those of static records (`official_bert/text/masking.py`).

B rows, S positions, P predictions a row. A row is one instance, or several that are packed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from official_bert.text import draws, masking
from official_bert.text.masking import MaskingRule
from official_bert.text.vocab import Vocab

Batch = dict[str, tf.Tensor]


def rule_from_options(options: Mapping[str, Any]) -> MaskingRule:
    """The masking that the makers of prepared data chose, from its manifest's options."""
    names = MaskingRule.__dataclass_fields__
    return MaskingRule(**{name: options[name] for name in names if name in options})


def make_masker(
    rule: MaskingRule, vocab: Vocab, *, seed: int, max_predictions: int
) -> Callable[[Mapping[str, tf.Tensor], tf.Tensor], Batch]:
    """A function that masks batches, for `tf.data.Dataset.map`.

        mask = make_masker(rule, vocab, seed=1, max_predictions=20)
        dataset.batch(32).map(parse).enumerate().map(
            lambda step, batch: mask(batch, 32 * step + tf.range(32, dtype=tf.int64))
        )

    Args:
        rule: how to mask.
        vocab: of the records.
        seed: of the masks.
        max_predictions: P, at least the largest number of predictions of a row.

    Returns:
        A function of a batch under the model's names (input_word_ids, input_mask and, for packed
        rows, pack_ids and position_ids, each int32 [B, S]) and int64 [B], the number of each
        record in the whole of training: a record that comes again in the next epoch has another
        number there, and so other masks. The same seed and number give the same masks, in a batch
        of any size. It returns the batch with masks in input_word_ids and with
        masked_lm_positions, masked_lm_ids (int32 [B, P]) and masked_lm_weights (float32 [B, P]).
    """
    masker = _Masker(rule, vocab, seed, max_predictions)

    def mask(batch: Mapping[str, tf.Tensor], numbers: tf.Tensor) -> Batch:
        ids = batch["input_word_ids"]
        packed = [batch["pack_ids"], batch["position_ids"]] if "pack_ids" in batch else []
        masked, positions, labels, weights = tf.numpy_function(
            masker,
            [numbers, ids, batch["input_mask"], *packed],
            [tf.int32, tf.int32, tf.int32, tf.float32],
            stateful=False,
        )
        masked.set_shape(ids.shape)
        rows = [ids.shape[0], max_predictions]
        for tensor in (positions, labels, weights):
            tensor.set_shape(rows)
        return {
            **batch,
            "input_word_ids": masked,
            "masked_lm_positions": positions,
            "masked_lm_ids": labels,
            "masked_lm_weights": weights,
        }

    return mask


class _Masker:
    """The NumPy part: rows -> masked rows."""

    def __init__(self, rule: MaskingRule, vocab: Vocab, seed: int, max_predictions: int) -> None:
        self._rule = rule
        self._seed = seed
        self._max_predictions = max_predictions
        self._specials = (vocab.cls_id, vocab.sep_id)
        self._mask_id = vocab.mask_id
        self._starts_word = ~masking.continuations(vocab.tokens)
        self._pool = masking.random_tokens(
            len(vocab), vocab.special_ids, vocab.unused_ids, rule.random_token_pool
        )

    def __call__(
        self,
        numbers: NDArray[np.int64],
        ids: NDArray[np.int32],
        input_mask: NDArray[np.int32],
        pack_ids: NDArray[np.int32] | None = None,
        position_ids: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        if pack_ids is None or position_ids is None:
            # An instance a row.
            pack_ids = input_mask
            position_ids = np.broadcast_to(np.arange(ids.shape[1], dtype=np.int32), ids.shape)
        row, column = np.nonzero(pack_ids)
        place = position_ids[row, column]
        instance = np.cumsum(place == 0) - 1
        # Each instance in a line of its own.
        lines = np.zeros((int(instance[-1]) + 1, int(place.max()) + 1), np.int32)
        lines[instance, place] = ids[row, column]
        lengths = np.bincount(instance)
        is_text = (np.arange(lines.shape[1]) < lengths[:, None]) & ~np.isin(lines, self._specials)
        first = np.flatnonzero(place == 0)
        start_row, start_column = row[first], column[first]
        keys = draws.fold(draws.fold(draws.fold(0, self._seed), numbers)[start_row], start_column)
        masked = masking.mask_instances(
            lines,
            is_text,
            lengths,
            keys,
            self._starts_word[lines],
            rule=self._rule,
            mask_id=self._mask_id,
            pool=self._pool,
        )
        new_ids = ids.copy()
        new_ids[row, column] = masked.ids[instance, place]
        return new_ids, *self._predictions(masked, start_row, start_column, len(ids))

    def _predictions(
        self,
        masked: masking.MaskedBatch,
        start_row: NDArray[np.int64],
        start_column: NDArray[np.int64],
        num_rows: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """The predictions of all instances of a row behind each other."""
        instance, slot = np.nonzero(masked.weights())
        row = start_row[instance]
        counts = np.bincount(row, minlength=num_rows)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (num_rows, self._max_predictions)
        positions, labels = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        weights = np.zeros(shape, np.float32)
        positions[row, place] = start_column[instance] + masked.positions[instance, slot]
        labels[row, place] = masked.labels[instance, slot]
        weights[row, place] = 1.0
        return positions, labels, weights
