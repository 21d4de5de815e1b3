"""Several short records in one row, without attention between them.

A batch is then a random one, as without packing, and has next to no padding.

B records, W tokens of the longest record, R rows, N records of the fullest row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

# How many lengths of rows are tried, from the longest record's to half as much again.
_TRIED = 16
# In rows of this many tokens attention takes as long as the rest of a model (6 layers of 384
# on two cores: about 600; wider models more).
_ATTENTION_EQUALS = 1000
_TOKENS = ("input_word_ids", "input_mask", "input_type_ids")


def pack_batch(
    batch: Mapping[str, tf.Tensor], token_features: Sequence[str] = ()
) -> dict[str, tf.Tensor]:
    """Puts the records of a batch into rows by first-fit, longest first.

    Rows are as long as the longest record or up to half as long again, whichever costs the model
    least: a few more tokens in a row often leave less of it empty.

    Attention stays within a record by `pack_ids` (1, 2, … along a row; 0 is padding), positions
    restart at 0 with each, and `cls_positions` says where each starts.

        input_word_ids [[2, 7, 8, 3, 9], [2, 3, 0, 0, 0], [2, 9, 3, 0, 0]] of lengths 5, 2, 3
        -> input_word_ids [[2, 7, 8, 3, 9], [2, 9, 3, 2, 3]]
           position_ids [[0, 1, 2, 3, 4], [0, 1, 2, 0, 1]]
           pack_ids [[1, 1, 1, 1, 1], [1, 1, 1, 2, 2]]
           cls_positions [[0, 0], [0, 3]], record_weights [[1, 0], [1, 1]]

    Args:
        batch: `input_word_ids`, `input_mask`, `input_type_ids` int32 [B, W]; and anything [B, …].
        token_features: names of others that are [B, W], with something for each token.

    Returns:
        the three, the token features, `position_ids` and `pack_ids` [R, W]; `cls_positions` int32
        [R, N] and `record_weights` float32 [R, N], 0 where there is no record; the rest [R, N, …].
    """
    return pack_with_indices(batch, token_features)[0]


def pack_with_indices(
    batch: Mapping[str, tf.Tensor],
    token_features: Sequence[str] = (),
    row_shape: tuple[int, int] | None = None,
) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """As `pack_batch`, and where each record is: results can be put back in their order.

    Args:
        batch, token_features: see `pack_batch`.
        row_shape: W' >= W and N, where the model wants rows of one shape.

    Returns:
        what `pack_batch` returns; and the indices of each record, its row and its slot in the row,
        int32 [B, 2]: `tf.gather_nd` of something [R, N, …] with them is [B, …].
    """
    lengths = tf.reduce_sum(batch["input_mask"], axis=1)  # [B]
    if row_shape is None:
        longest = _largest(lengths)
        row_lengths = longest + longest * tf.range(_TRIED) // (2 * _TRIED)
        rows, starts, slots, row_length = _first_fit(lengths, row_lengths, tf.shape(lengths)[0])
        num_slots = _largest(slots + 1)
    else:
        row_length, num_slots = row_shape
        rows, starts, slots, _ = _first_fit(lengths, tf.constant([row_length]), num_slots)
    packed = put_in_rows(
        batch,
        token_features,
        rows=rows,
        starts=starts,
        slots=slots,
        num_rows=_largest(rows + 1),
        row_length=row_length,
        num_slots=num_slots,
    )
    return packed, tf.stack([rows, slots], axis=1)


def put_in_rows(
    batch: Mapping[str, tf.Tensor],
    token_features: Sequence[str],
    *,
    rows: tf.Tensor,
    starts: tf.Tensor,
    slots: tf.Tensor,
    num_rows: tf.Tensor | int,
    row_length: tf.Tensor | int,
    num_slots: tf.Tensor | int,
) -> dict[str, tf.Tensor]:
    """Puts records where they are to be.

    Args:
        batch, token_features: see `pack_batch`.
        rows, starts, slots: of each record, int32 [B]: its row, its first token
            and its number there.
        num_rows, row_length, num_slots: R, W and N; numbers give static shapes.

    Returns:
        see `pack_batch`.
    """
    mask = batch["input_mask"]
    real = tf.where(mask > 0)  # [tokens, 2]: record, position in it
    record, position = tf.cast(real[:, 0], tf.int32), tf.cast(real[:, 1], tf.int32)
    targets = tf.stack([tf.gather(rows, record), tf.gather(starts, record) + position], axis=1)
    token_shape = tf.stack([num_rows, row_length])
    static = [size if isinstance(size, int) else None for size in (num_rows, row_length, num_slots)]
    of_tokens = {name: tf.gather_nd(batch[name], real) for name in (*_TOKENS, *token_features)}
    of_tokens |= {"position_ids": position, "pack_ids": tf.gather(slots, record) + 1}
    packed = {
        name: tf.ensure_shape(tf.scatter_nd(targets, values, token_shape), static[:2])
        for name, values in of_tokens.items()
    }
    of_records = {name: value for name, value in batch.items() if name not in of_tokens}
    of_records |= {
        "cls_positions": starts,
        "record_weights": tf.ones_like(starts, tf.float32),
    }
    indices = tf.stack([rows, slots], axis=1)
    for name, value in of_records.items():
        shape = tf.concat([[num_rows, num_slots], tf.shape(value)[1:]], axis=0)
        packed[name] = tf.ensure_shape(
            tf.scatter_nd(indices, value, shape), [static[0], static[2], *value.shape[1:]]
        )
    return packed


def _first_fit(
    lengths: tf.Tensor, room: tf.Tensor, most: tf.Tensor | int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Row, first token and slot in the row of each record, int32 [B] each; length of the rows.

    Args:
        lengths: of the records, int32 [B].
        room: lengths of rows, int32 [T]; all are tried at once, and the cheapest is taken.
        most: how many records a row may have.
    """
    tried, count = tf.shape(room)[0], tf.shape(lengths)[0]
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)

    def put(
        index: tf.Tensor,
        used: tf.Tensor,
        filled: tf.Tensor,
        rows: tf.TensorArray,
        starts: tf.TensorArray,
        slots: tf.TensorArray,
    ) -> tuple[Any, ...]:
        length = lengths[order[index]]
        # The first row with room; an empty one always has it.
        fits = tf.logical_and(used + length <= room[:, tf.newaxis], filled < most)  # [T, B]
        row = tf.argmax(tf.cast(fits, tf.int32), axis=1, output_type=tf.int32)  # [T]
        one = tf.one_hot(row, count, dtype=tf.int32)
        return (
            index + 1,
            used + one * length,
            filled + one,
            rows.write(order[index], row),
            starts.write(order[index], tf.gather(used, row, batch_dims=1)),
            slots.write(order[index], tf.gather(filled, row, batch_dims=1)),
        )

    empty = tf.zeros([tried, count], tf.int32)
    arrays = [tf.TensorArray(tf.int32, size=count) for _ in range(3)]
    _, used, _, *found = tf.while_loop(
        lambda index, *_: index < count, put, (tf.constant(0), empty, empty, *arrays)
    )
    row_lengths = _largest(used, axis=1)  # [T]
    tokens = row_lengths * tf.math.count_nonzero(used, axis=1, dtype=tf.int32)
    cost = tf.cast(tokens, tf.float32) * tf.cast(_ATTENTION_EQUALS + row_lengths, tf.float32)
    best = tf.argmin(cost)
    rows, starts, slots = (array.stack()[:, best] for array in found)
    return rows, starts, slots, row_lengths[best]


def _largest(counts: tf.Tensor, axis: int | None = None) -> tf.Tensor:
    """The largest of some counts; 0 of none."""
    return tf.maximum(tf.reduce_max(counts, axis=axis), 0)
