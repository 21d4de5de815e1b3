"""Records in random order, in bounded memory.

Training draws from a buffer of some thousand records, so a file that is sorted by label would come
label by label.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

# At the end one pile is in memory at a time.
_NUM_PILES = 64
_MAX_BYTES = 256 * 2**20


def shuffled(
    records: Iterable[bytes],
    *,
    seed: int,
    folder: str | os.PathLike[str],
    max_bytes: int = _MAX_BYTES,
) -> Iterator[bytes]:
    """All records in an order that is a function of the seed and their number alone.

    Each goes on a pile that is drawn for it; then pile after pile is shuffled. All orders are
    equally likely.

    Args:
        records: serialized.
        seed: of the order.
        folder: where files may lie for the time being.
        max_bytes: in memory before piles go into files.
    """
    piles: list[list[bytes]] = [[] for _ in range(_NUM_PILES)]
    draw, num_bytes = np.random.default_rng([seed, 0]), 0
    with tempfile.TemporaryDirectory(prefix=".shuffling-", dir=folder) as directory:
        files = [pathlib.Path(directory) / str(number) for number in range(_NUM_PILES)]
        parts = 0
        for record in records:
            piles[draw.integers(_NUM_PILES)].append(record)
            num_bytes += len(record)
            if num_bytes > max_bytes:
                for file, pile in zip(files, piles, strict=True):
                    _write(f"{file}-{parts}", pile)
                    pile.clear()
                parts, num_bytes = parts + 1, 0
        order = np.random.default_rng([seed, 1])
        for file, pile in zip(files, piles, strict=True):
            names = [f"{file}-{part}" for part in range(parts)]
            whole = [*_read(names), *pile]
            pile.clear()
            for number in order.permutation(len(whole)):
                yield whole[number]


def _write(path: str, records: Iterable[bytes]) -> None:
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def _read(paths: list[str]) -> Iterator[bytes]:
    if paths:
        yield from tf.data.TFRecordDataset(paths).as_numpy_iterator()
