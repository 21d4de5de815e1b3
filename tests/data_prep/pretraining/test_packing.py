"""Packing: literal rows, every instance once, no row too long, little padding."""

from __future__ import annotations

import numpy as np

from data_prep.pretraining.packing import pack_instances, pack_lengths
from official_bert.text import draws


def test_literal():
    packs = pack_lengths({100: 1, 60: 2, 40: 1}, 100)
    assert sorted(packs) == [(1, (60,)), (1, (60, 40)), (1, (100,))]
    # 30 goes beside 60, where it leaves 10, not beside 50; three of 10 fill up.
    packs = pack_lengths({60: 1, 50: 1, 30: 1, 10: 3}, 100)
    assert sorted(packs) == [(1, (50, 10, 10)), (1, (60, 30, 10))]


def test_every_instance_once_and_rows_full():
    rng = np.random.default_rng(3)
    lengths = np.minimum(rng.geometric(1 / 90, 20_000) + 4, 512)
    members, sizes = pack_instances(lengths, draws.fold(1, np.arange(20_000)), 512)
    assert sorted(members.tolist()) == list(range(20_000))
    rows = np.add.reduceat(lengths[members], np.cumsum(sizes) - sizes)
    assert rows.max() <= 512
    assert rows.mean() / 512 > 0.99


def test_order_of_rows_tells_nothing_about_them():
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 129, 20_000)
    _, sizes = pack_instances(lengths, draws.fold(1, np.arange(20_000)), 128)
    halves = np.split(sizes[: len(sizes) // 2 * 2], 2)
    assert abs(halves[0].mean() - halves[1].mean()) < 0.05
    assert sizes.std() > 0.3
