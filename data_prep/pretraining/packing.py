"""Packing: several instances in one row, longest pack first by histogram.

Krell et al. 2021, arXiv 2107.02027 ("Efficient sequence packing without cross-contamination"),
algorithm LPFHP: from the longest length to the shortest, each instance goes into the pack in which
it leaves the least room. Working on the histogram of lengths, not on instances, makes it quick.
"""

from __future__ import annotations

import bisect
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from official_bert.text import draws

_ORDER = 1 << 40


def pack_lengths(counts: dict[int, int], row_length: int) -> list[tuple[int, tuple[int, ...]]]:
    """Packs lengths into rows.

    `pack_lengths({100: 1, 60: 2, 40: 1}, 100)` gives [(1, (100,)), (1, (60, 40)), (1, (60,))] in
    some order.

    Args:
        counts: length -> how many instances have it; no length is above `row_length`.
        row_length: L.

    Returns:
        (how many rows, lengths in such a row).
    """
    open_packs: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    rooms: list[int] = []  # keys of open_packs, ascending

    def add(count: int, pack: tuple[int, ...], room: int) -> None:
        if not open_packs[room]:
            bisect.insort(rooms, room)
        open_packs[room].append((count, pack))

    for length in sorted(counts, reverse=True):
        left = counts[length]
        while left:
            index = bisect.bisect_left(rooms, length)
            if index == len(rooms):
                add(left, (length,), row_length - length)
                break
            room = rooms[index]
            count, pack = open_packs[room].pop()
            if count > left:
                open_packs[room].append((count - left, pack))
            elif not open_packs[room]:
                rooms.pop(index)
            add(min(count, left), (*pack, length), room - length)
            left -= min(count, left)
    return [entry for entries in open_packs.values() for entry in entries]


def pack_instances(
    lengths: NDArray[np.int64], keys: NDArray[np.uint64], row_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assigns instances to rows.

    Args:
        lengths: int64 [n], of the instances, in any order.
        keys: uint64 [n], their random keys, which decide the order of the rows.
        row_length: L.

    Returns:
        int64 [n]: the instances, row behind row; int64 [rows]: how many are in each row.
    """
    by_length = np.argsort(lengths, kind="stable")
    values, firsts, counts = np.unique(lengths[by_length], return_index=True, return_counts=True)
    following = dict(zip(values.tolist(), firsts.tolist(), strict=True))
    rows: list[NDArray[np.int64]] = []
    for count, pack in pack_lengths(
        dict(zip(values.tolist(), counts.tolist(), strict=True)), row_length
    ):
        members = np.empty((count, len(pack)), np.int64)
        for column, length in enumerate(pack):
            first = following[length]
            members[:, column] = by_length[first : first + count]
            following[length] = first + count
        rows.extend(members)
    # Rows were made from the longest lengths to the shortest; their order is to tell nothing.
    order = np.argsort(draws.fold(keys[[row[0] for row in rows]], _ORDER), kind="stable")
    return (
        np.concatenate([rows[i] for i in order]),
        np.array([len(rows[i]) for i in order], np.int64),
    )
