"""A function of many rows, computed for a few of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tensorflow as tf

_Rows = TypeVar("_Rows")
_Results = TypeVar("_Results")


def in_blocks(
    function: Callable[[_Rows], _Results],
    rows: _Rows,
    block_size: int,
    output_signature: _Results,
) -> _Results:
    """Calls `function` on blocks of rows, one after another, and concatenates the results.

    Memory stays bounded however many rows there are: one block is computed at a time.

        in_blocks(lambda x: 10 * x, [1, 2, 3, 4, 5], 2, tf.TensorSpec([None], tf.int32))
        # `function` is called on [1, 2], [3, 4] and [5]; the result is [10, 20, 30, 40, 50]

    Args:
        function: maps a block of at most `block_size` rows to one result a row. It is traced once
            in a graph. Without any rows it is called on a block of none.
        rows: a tensor [N, …], or a structure of tensors (`tf.nest`) with the same N.
        block_size: the most rows of a block.
        output_signature: the structure of the results, with a `tf.TensorSpec` [None, …] for each.

    Returns:
        the results in the structure of `output_signature`, [N, …] each.
    """
    count = tf.shape(tf.nest.flatten(rows)[0])[0]
    # At least one: an empty TensorArray has nothing to concatenate.
    blocks = tf.maximum(1, (count + block_size - 1) // block_size)

    def compute(number: tf.Tensor, *arrays: tf.TensorArray) -> tuple[tf.Tensor, ...]:
        block = slice(number * block_size, (number + 1) * block_size)
        results = function(tf.nest.map_structure(lambda tensor: tensor[block], rows))
        flat = tf.nest.flatten(results)
        written = [array.write(number, part) for array, part in zip(arrays, flat, strict=True)]
        return (number + 1, *written)

    arrays = [
        tf.TensorArray(spec.dtype, size=blocks, infer_shape=False, element_shape=spec.shape)
        for spec in tf.nest.flatten(output_signature)
    ]
    _, *arrays = tf.while_loop(
        lambda number, *_: number < blocks, compute, (0, *arrays), parallel_iterations=1
    )
    results: _Results = tf.nest.pack_sequence_as(
        output_signature, [array.concat() for array in arrays]
    )
    return results
