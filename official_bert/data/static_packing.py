"""Batches of packed rows that all have one shape, for devices that compile a step for each shape.

A pool of some batches of records fills rows, the longest records first. What finds no room, about
half a batch, goes on into the next pool; what has waited for some pools begins the rows. Order and
make-up are a function of (seed, records) alone, and a batch of any number can be had: what comes
before it is packed by its lengths, without being parsed.

R rows of a batch, W tokens of a row, N records of a row, n records of a pool.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from official_bert.data import batching, packing, pipeline

# Batches of a pool: more leave less of the rows empty.
POOL_BATCHES = 4
# Pools after which a record begins a row: short ones are what fills rows best, and wait longest.
_PATIENCE = 4
# What is filled of the rows: 98.0 and 98.9 % with CoLA, rows of 128, 256 and 32 records a batch.
_EXPECTED_FILL = 0.98
# How far the number of records may be from the one that is wanted, for the sake of longer rows.
_CLOSE = 0.1
# Lengths of rows are multiples of this, which is what the units of TPUs and GPUs compute.
_LENGTH_UNIT = 8


@dataclasses.dataclass(frozen=True)
class BatchShape:
    """Rows of a batch, tokens of a row, records of a row at most.

    Attributes:
        rows: R.
        row_length: W.
        records_per_row: N.
        num_records: records of a batch, on average.
    """

    rows: int
    row_length: int
    records_per_row: int
    num_records: float


def batch_shape(
    *,
    batch_size: int,
    mean_length: float,
    longest: int,
    max_seq_length: int,
    multiple: int,
) -> BatchShape:
    """The shape of batches that have about `batch_size` records.

        batch_size 256, mean_length 12.3, longest 47, max_seq_length 128, multiple 1
        -> 25 rows of 128, up to 21 records in each, 255 in a batch

    Args:
        batch_size: in records.
        mean_length: tokens of a record.
        longest: tokens of the longest record.
        max_seq_length: of the data; no row is longer.
        multiple: of which R shall be one: replicas times parts of a batch.
    """
    tokens = batch_size * mean_length / _EXPECTED_FILL
    shortest_row = min(max_seq_length, -(-longest // _LENGTH_UNIT) * _LENGTH_UNIT)
    lengths = sorted({*range(shortest_row, max_seq_length, _LENGTH_UNIT), max_seq_length})

    def rows(length: int) -> int:
        return max(1, round(tokens / length / multiple)) * multiple

    # Long rows are filled best.
    near = [n for n in lengths if abs(rows(n) * n / tokens - 1) <= _CLOSE]
    length = max(near) if near else min(lengths, key=lambda n: abs(rows(n) * n / tokens - 1))
    return BatchShape(
        rows=rows(length),
        row_length=length,
        records_per_row=max(1, min(length // 2, math.ceil(2 * length / mean_length))),
        num_records=rows(length) * length * _EXPECTED_FILL / mean_length,
    )


def packed_training_batches(
    paths: Sequence[str],
    *,
    shape: BatchShape,
    num_records: int,
    batch_size: int,
    seed: int,
    shuffle_buffer: int,
    start_batch: int = 0,
    with_locations: bool = False,
) -> tf.data.Dataset:
    """Endless batches of serialized records in rows.

    Args:
        paths: TFRecord files.
        shape: of the batches.
        num_records: records in all of the files.
        batch_size: about as many records a batch; pools have `POOL_BATCHES` times as many.
        seed: of the order.
        shuffle_buffer: records among which the next one is drawn.
        start_batch: how many batches the run has had before.
        with_locations: see `pipeline.training_batches`.

    Returns:
        A dataset of ({"serialized": string [R, N], "numbers": int64 [R, N], the number of each
        record in the whole run, with locations "files" and "file_numbers"}, int32 [R, N] the first
        token of each record in its row, -1 where there is no record).
    """
    records = pipeline.training_batches(
        paths,
        num_records=num_records,
        batch_size=POOL_BATCHES * batch_size,
        seed=seed,
        shuffle_buffer=shuffle_buffer,
        with_locations=with_locations,
    )
    names = ("serialized", "files", "file_numbers") if with_locations else ("serialized",)

    def named(pool: tf.Tensor, columns: Any) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        values = dict(zip(names, columns if with_locations else (columns,), strict=True))
        size = POOL_BATCHES * batch_size
        values["numbers"] = pool * size + tf.range(size, dtype=tf.int64)
        values["lengths"] = tf.cast(batching.record_lengths(values["serialized"]), tf.int32)
        values["waited"] = tf.zeros_like(values["lengths"])
        return pool, values

    pools = records.enumerate().map(named, num_parallel_calls=tf.data.AUTOTUNE)
    _, specs = pools.element_spec
    nothing = {name: tf.constant([], spec.dtype) for name, spec in specs.items()}

    def pack(left: dict[str, tf.Tensor], element: Any) -> tuple[dict[str, tf.Tensor], Any]:
        number, pool = element
        pool_seed = tf.stack([tf.constant(seed, tf.int64), number])
        return _pack_pool(left, pool, pool_seed, shape)

    packed = pools.scan(nothing, pack).flat_map(
        lambda *batches: tf.data.Dataset.from_tensor_slices(batches)
    )
    return packed.skip(start_batch)


def pack_parsed(
    batch: Mapping[str, tf.Tensor],
    starts: tf.Tensor,
    shape: BatchShape,
    token_features: Sequence[str] = (),
) -> dict[str, tf.Tensor]:
    """Puts parsed records where `packed_training_batches` wants them.

    Args:
        batch: tensors [B, …] of the records that are there, row by row.
        starts: int32 [R', N], -1 where there is no record; R' may be a share of R.
        shape: of the batches.
        token_features: see `packing.pack_batch`.

    Returns:
        see `packing.pack_batch`, with static shapes.
    """
    cells = tf.where(starts >= 0)  # [B, 2]
    return packing.put_in_rows(
        batch,
        token_features,
        rows=tf.cast(cells[:, 0], tf.int32),
        starts=tf.gather_nd(starts, cells),
        slots=tf.cast(cells[:, 1], tf.int32),
        num_rows=starts.shape[0],
        row_length=shape.row_length,
        num_slots=shape.records_per_row,
    )


def _pack_pool(
    left: Mapping[str, tf.Tensor], pool: Mapping[str, tf.Tensor], seed: tf.Tensor, shape: BatchShape
) -> tuple[dict[str, tf.Tensor], Any]:
    """Packs a pool and what the one before it left over.

    Returns:
        what is left over; and k batches: columns [k, R, N] and starts [k, R, N].
    """
    num_first = tf.math.count_nonzero(left["waited"] >= _PATIENCE, dtype=tf.int32)
    pool = {name: tf.concat([left[name], pool[name]], axis=0) for name in pool}
    # A record that is too long, or empty, is found by the parser, which says which it is.
    lengths = tf.clip_by_value(pool["lengths"], 1, shape.row_length)
    # Half a batch stays to choose from: else the last rows would take what is left.
    size = shape.rows * shape.row_length
    num_batches = tf.maximum(tf.reduce_sum(lengths) - size // 2, 0) // size
    source, starts = fill_rows(
        lengths, num_first, num_batches * shape.rows, shape.row_length, shape.records_per_row
    )
    # The first rows have the longest records.
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.shape(source)[0]), seed=seed)
    by_batch = [num_batches, shape.rows, shape.records_per_row]
    source = tf.reshape(tf.gather(source, order), by_batch)
    starts = tf.reshape(tf.gather(starts, order), by_batch)
    is_left = tf.tensor_scatter_nd_update(
        tf.ones_like(lengths, tf.bool),
        tf.boolean_mask(source, source >= 0)[:, tf.newaxis],
        tf.zeros_like(tf.boolean_mask(source, source >= 0), tf.bool),
    )
    rest = {name: tf.boolean_mask(tensor, is_left) for name, tensor in pool.items()}
    columns = {
        name: tf.gather(tensor, tf.maximum(source, 0))
        for name, tensor in pool.items()
        if name not in ("lengths", "waited")
    }
    rest["waited"] += 1
    return rest, (columns, starts)


def fill_rows(
    lengths: tf.Tensor, num_first: tf.Tensor | int, num_rows: tf.Tensor, row_length: int, most: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Fills rows with records; those that find no room stay out.

    In each round all rows, the emptiest first, take the longest record that fits and is not taken
    yet. One round is a few operations on vectors, where record after record would be a long loop.

        lengths [2, 5, 3, 4, 1], two rows of 6 -> [[1, 4], [3, 0]] and starts [[0, 5], [0, 4]]

    Args:
        lengths: of the records, int32 [n], 1 to `row_length`.
        num_first: so many of the records begin the rows, before the longest of the others.
        num_rows: K.
        row_length: of the rows.
        most: N, how many records a row may have.

    Returns:
        int32 [K, N], the records of each row; and the first token of each: -1 where there is none.
    """
    count = tf.size(lengths)
    numbers = tf.range(count)
    by_length = tf.argsort(lengths, direction="DESCENDING", stable=True)
    ranks = tf.range(num_rows)

    def put(places: list[tf.Tensor], rows: tf.Tensor, records: tf.Tensor) -> list[tf.Tensor]:
        """Gives rows a record each."""
        room, filled, row_of, start_of, slot_of = places
        at, of = rows[:, tf.newaxis], records[:, tf.newaxis]
        start = row_length - tf.gather(room, rows)
        return [
            tf.tensor_scatter_nd_sub(room, at, tf.gather(lengths, records)),
            tf.tensor_scatter_nd_add(filled, at, tf.ones_like(rows)),
            tf.tensor_scatter_nd_update(row_of, of, rows),
            tf.tensor_scatter_nd_update(start_of, of, start),
            tf.tensor_scatter_nd_update(slot_of, of, tf.gather(filled, rows)),
        ]

    def add_round(number: tf.Tensor, _: tf.Tensor, *places: tf.Tensor) -> tuple[tf.Tensor, ...]:
        room, _, row_of, *_ = places
        free = tf.boolean_mask(by_length, tf.gather(row_of, by_length) < 0)
        free_lengths = tf.gather(lengths, free)
        order = tf.argsort(room, direction="DESCENDING", stable=True)
        # Each row wants the first free record that fits, or the one behind that of the row before.
        wanted = tf.searchsorted(-free_lengths, -tf.gather(room, order), side="left")
        wanted = ranks + _running_maximum(wanted - ranks)
        finds = wanted < tf.size(free)
        records = tf.gather(free, tf.boolean_mask(wanted, finds))
        more = (tf.size(records) > 0) & (tf.size(records) < tf.size(free)) & (number + 1 < most)
        return number + 1, more, *put(list(places), tf.boolean_mask(order, finds), records)

    none = tf.fill([count], -1)
    places = [tf.fill([num_rows], row_length), tf.zeros([num_rows], tf.int32), none, none, none]
    first = tf.argsort(
        tf.where(numbers < num_first, numbers - count, row_length - lengths), stable=True
    )[:num_rows]
    places = put(places, tf.range(tf.size(first)), first)
    *_, row_of, start_of, slot_of = tf.while_loop(
        lambda number, more, *_: more, add_round, (tf.constant(1), tf.constant(most > 1), *places)
    )
    taken = tf.where(row_of >= 0)[:, 0]
    cells = tf.gather(tf.stack([row_of, slot_of], axis=1), taken)
    empty = tf.fill([num_rows, most], -1)
    return (
        tf.tensor_scatter_nd_update(empty, cells, tf.cast(taken, tf.int32)),
        tf.tensor_scatter_nd_update(empty, cells, tf.gather(start_of, taken)),
    )


def _running_maximum(values: tf.Tensor) -> tf.Tensor:
    """[3, 1, 4, 2] -> [3, 3, 4, 4]"""
    size = tf.size(values)

    def double(shift: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        shifted = tf.concat([values[:1] + tf.zeros([shift], values.dtype), values[:-shift]], axis=0)
        return 2 * shift, tf.maximum(values, shifted)

    _, values = tf.while_loop(lambda shift, _: shift < size, double, (tf.constant(1), values))
    return values
