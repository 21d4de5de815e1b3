"""Several short records in one row of S tokens, each blind to the others.

B records, R rows, N records of the fullest row, S tokens of a row.
"""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

_TOKENS = ("input_word_ids", "input_mask", "input_type_ids")


def pack_batch(batch: Mapping[str, tf.Tensor], max_seq_length: int) -> dict[str, tf.Tensor]:
    """Puts the records of a batch into as few rows as first-fit, longest first, finds.

    Attention stays within a record by `pack_ids` (1, 2, … along a row; 0 is padding), positions
    begin anew with each, and `cls_positions` says where each starts.

        input_word_ids [[2, 7, 3], [2, 8, 0]] of lengths 3 and 2, max_seq_length 6
        -> input_word_ids [[2, 7, 3, 2, 8, 0]], position_ids [[0, 1, 2, 0, 1, 0]],
           pack_ids [[1, 1, 1, 2, 2, 0]], cls_positions [[0, 3]], record_weights [[1, 1]]

    Args:
        batch: `input_word_ids`, `input_mask`, `input_type_ids` int32 [B, W]; and anything [B, …].
        max_seq_length: S.

    Returns:
        the three and `position_ids`, `pack_ids` int32 [R, S]; `cls_positions` int32 [R, N] and
        `record_weights` float32 [R, N], 0 where there is no record; the rest [R, N, …].
    """
    mask = batch["input_mask"]
    lengths = tf.reduce_sum(mask, axis=1)  # [B]
    rows, starts, slots = _places(lengths, max_seq_length)
    num_rows, num_slots = tf.reduce_max(rows) + 1, tf.reduce_max(slots) + 1

    real = tf.where(mask > 0)  # [tokens, 2]: record, place in it
    record, place = tf.cast(real[:, 0], tf.int32), tf.cast(real[:, 1], tf.int32)
    targets = tf.stack([tf.gather(rows, record), tf.gather(starts, record) + place], axis=1)
    token_shape = tf.stack([num_rows, max_seq_length])
    of_tokens = {name: tf.gather_nd(batch[name], real) for name in _TOKENS}
    of_tokens |= {"position_ids": place, "pack_ids": tf.gather(slots, record) + 1}
    packed = {
        name: tf.ensure_shape(tf.scatter_nd(targets, values, token_shape), [None, max_seq_length])
        for name, values in of_tokens.items()
    }
    of_records = {name: value for name, value in batch.items() if name not in _TOKENS}
    of_records |= {
        "cls_positions": starts,
        "record_weights": tf.ones_like(starts, tf.float32),
    }
    seats = tf.stack([rows, slots], axis=1)
    for name, value in of_records.items():
        shape = tf.concat([[num_rows, num_slots], tf.shape(value)[1:]], axis=0)
        packed[name] = tf.ensure_shape(
            tf.scatter_nd(seats, value, shape), [None, None, *value.shape[1:]]
        )
    return packed


def _places(lengths: tf.Tensor, room: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Row, first token and slot in the row of each record; int32 [B] each."""
    count = tf.shape(lengths)[0]
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)

    def put(index, used, filled, rows, starts, slots):
        length = lengths[order[index]]
        # The first row with room; an empty one always has it.
        row = tf.argmax(tf.cast(used + length <= room, tf.int32), output_type=tf.int32)
        one = tf.one_hot(row, count, dtype=tf.int32)
        return (
            index + 1,
            used + one * length,
            filled + one,
            rows.write(order[index], row),
            starts.write(order[index], used[row]),
            slots.write(order[index], filled[row]),
        )

    empty = tf.zeros_like(lengths)
    arrays = [tf.TensorArray(tf.int32, size=count) for _ in range(3)]
    *_, rows, starts, slots = tf.while_loop(
        lambda index, *_: index < count, put, (tf.constant(0), empty, empty, *arrays)
    )
    return rows.stack(), starts.stack(), slots.stack()
