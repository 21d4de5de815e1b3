"""Batches of records of like length: nearly no padding, which is what costs.

Records are drawn in the order of `pipeline`; a pool of some batches is sorted by length, cut into
batches, and the batches are shuffled. Each record comes once an epoch, all batches have the same
number of records, and the order is a function of (seed, epoch) alone.

B batch, n records of a pool.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from official_bert.data import pipeline

# Batches of a pool: more leave less padding, fewer leave more chance in what comes together.
POOL_BATCHES = 64


@dataclasses.dataclass(frozen=True)
class EpochBatches:
    """Which batches belong to which epoch, where an epoch may end within a batch.

    The batch that an epoch ends in is filled up with the first records of the next one, which then
    goes on behind them.

    Args:
        num_records: of an epoch, at least `batch_size`.
        batch_size: in records.
    """

    num_records: int
    batch_size: int

    def first_batch(self, epoch: Any) -> Any:
        """The number in the whole run of the first batch that begins in `epoch`."""
        return -(-epoch * self.num_records // self.batch_size)

    def taken_before(self, epoch: Any) -> Any:
        """Records of `epoch` that the batch before its first one has."""
        return self.first_batch(epoch) * self.batch_size - epoch * self.num_records

    def epoch_of(self, batch: int) -> int:
        """The epoch in which a batch begins."""
        return batch * self.batch_size // self.num_records


def bucketed_training_batches(
    paths: Sequence[str],
    *,
    num_records: int,
    batch_size: int,
    seed: int,
    shuffle_buffer: int,
    start_batch: int = 0,
    with_locations: bool = False,
) -> tf.data.Dataset:
    """Endless batches of serialized records, string [B], each of records of like length.

    Args:
        paths: TFRecord files.
        num_records: records in all of them, at least `batch_size`.
        batch_size: records a batch; always full.
        seed: of the order.
        shuffle_buffer: records among which the next one is drawn.
        start_batch: how many batches the run has had before.
        with_locations: see `pipeline.training_batches`.
    """
    epochs = EpochBatches(num_records, batch_size)
    first_epoch = epochs.epoch_of(start_batch)
    done = start_batch - epochs.first_batch(first_epoch)
    pool_size = POOL_BATCHES * batch_size

    def records(epoch: tf.Tensor) -> tf.data.Dataset:
        return pipeline.epoch_records(
            paths,
            epoch,
            num_records=num_records,
            seed=seed,
            shuffle_buffer=shuffle_buffer,
            with_locations=with_locations,
        )

    def epoch_batches(epoch: tf.Tensor) -> tf.data.Dataset:
        of_epoch = records(epoch).skip(epochs.taken_before(epoch))
        filling = records(epoch + 1).take(epochs.taken_before(epoch + 1))
        pools = of_epoch.concatenate(filling).batch(pool_size).enumerate()
        resumed = tf.cast(epoch == first_epoch, tf.int64)

        def pool_batches(number: tf.Tensor, pool: Any) -> tf.data.Dataset:
            pool_seed = tf.random.experimental.stateless_fold_in(
                tf.stack([tf.constant(seed, tf.int64), epoch]), number
            )
            return tf.data.Dataset.from_tensor_slices(_sorted_batches(pool, batch_size, pool_seed))

        batches = pools.skip(resumed * (done // POOL_BATCHES)).flat_map(pool_batches)
        return batches.skip(resumed * (done % POOL_BATCHES))

    return tf.data.Dataset.range(first_epoch, tf.int64.max).flat_map(epoch_batches)


def bucketed_evaluation_batches(
    paths: Sequence[str], *, batch_size: int, num_records: int | None = None
) -> tf.data.Dataset:
    """Batches of records of like length, each record once; the last of a pool may be smaller.

    Args:
        paths: TFRecord files.
        batch_size: records a batch.
        num_records: see `pipeline.evaluation_batches`.
    """
    pools = pipeline.evaluation_batches(
        paths, batch_size=POOL_BATCHES * batch_size, num_records=num_records
    )

    def pool_batches(pool: tf.Tensor) -> tf.data.Dataset:
        ordered = tf.gather(pool, tf.argsort(record_lengths(pool), stable=True))
        return tf.data.Dataset.from_tensor_slices(ordered).batch(batch_size)

    return pools.flat_map(pool_batches)


def record_lengths(serialized: tf.Tensor) -> tf.Tensor:
    """Real tokens of serialized records: string [n] -> int64 [n]."""
    spec = {"input_mask": tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)}
    return tf.reduce_sum(tf.io.parse_example(serialized, spec)["input_mask"], axis=1)


def _sorted_batches(pool: Any, batch_size: int, seed: tf.Tensor) -> Any:
    """A pool [n] -> [n / B, B], sorted by length, the batches shuffled."""
    serialized = pool[0] if isinstance(pool, tuple) else pool
    order = tf.argsort(record_lengths(serialized), stable=True)
    batches = tf.random.experimental.stateless_shuffle(
        tf.reshape(order, [-1, batch_size]), seed=seed
    )
    return tf.nest.map_structure(lambda tensor: tf.gather(tensor, batches), pool)
