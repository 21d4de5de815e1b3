"""Batches of one number of rows, for devices that compile a step for each shape.

B batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf


def fill_batch(batch: Mapping[str, tf.Tensor], num_rows: int) -> dict[str, tf.Tensor]:
    """Fills a batch up with copies of its first row, which count for nothing.

        {"input_word_ids": [[2, 7, 3], [2, 8, 3]]} with 3 rows
        -> {"input_word_ids": [[2, 7, 3], [2, 8, 3], [2, 7, 3]], "record_weights": [1, 1, 0]}

    A copy has text and valid labels, as models and losses expect.

    Args:
        batch: tensors [B, …], 1 <= B <= num_rows.
        num_rows: of the result.

    Returns:
        tensors [num_rows, …], and `record_weights` float32 [num_rows]: 0 for the copies.
    """
    count = tf.shape(batch["input_word_ids"])[0]
    rows = tf.range(num_rows)
    is_there = rows < count
    source = tf.where(is_there, rows, 0)
    filled = {name: tf.gather(tensor, source) for name, tensor in batch.items()}
    return {**filled, "record_weights": tf.cast(is_there, tf.float32)}
