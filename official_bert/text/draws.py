"""Counter-based random draws: a draw is a pure function of a key and a counter.

A generator with a state gives numbers that depend on everything drawn before, so the result of a
job would depend on how its work is divided. Here each draw is `hash(key, counter)`: any worker, in
any order, in a batch of any size, gets the same number for the same instance and position.

The hash is the finaliser of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom
number generators"), which passes BigCrush; NumPy applies it to whole arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53


def fold(key: ArrayLike, counter: ArrayLike) -> NDArray[np.uint64]:
    """Hashes a key and a counter into a new key; the two broadcast against each other.

    `fold(fold(seed, document), sentence)` is the key of a sentence; a further `fold` with a small
    number names one of its draws.

    Args:
        key: uint64 (or non-negative integers), any shape.
        counter: non-negative integers, any shape that broadcasts with `key`.

    Returns:
        uint64 of the broadcast shape, uniform over all 64-bit values.
    """
    with np.errstate(over="ignore"):  # Arithmetic modulo 2**64 is what the hash is made of.
        state = np.asarray(counter, np.uint64) * _GOLDEN
        state = state + (np.asarray(key, np.uint64) + _GOLDEN)
        state = (state ^ (state >> np.uint64(30))) * _MULTIPLIER_1
        state = (state ^ (state >> np.uint64(27))) * _MULTIPLIER_2
    return state ^ (state >> np.uint64(31))


def uniform(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """64 random bits -> float64 in [0, 1)."""
    return (bits >> np.uint64(11)) * _TO_UNIT


def below(bits: NDArray[np.uint64], limit: ArrayLike) -> NDArray[np.int64]:
    """64 random bits -> int64 in [0, limit); `limit` broadcasts and is at least 1."""
    return (uniform(bits) * np.asarray(limit, np.float64)).astype(np.int64)


def heads(key: NDArray[np.uint64], tosses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of heads in `tosses` fair coins: Binomial(tosses, 1/2), exactly.

    Args:
        key: uint64 [n], one key for each result.
        tosses: int64 [n], at least 0.

    Returns:
        int64 [n]: the number of ones among the first `tosses` bits of the key's stream.
    """
    words = (tosses + 63) // 64
    total = int(words.sum())
    result = np.zeros(len(tosses), np.int64)
    if total == 0:
        return result
    owner = np.repeat(np.arange(len(tosses)), words)
    number = np.arange(total) - np.repeat(np.cumsum(words) - words, words)
    bits = fold(key[owner], number)
    surplus = np.clip((number + 1) * 64 - tosses[owner], 0, 63).astype(np.uint64)
    np.add.at(result, owner, np.bitwise_count(bits >> surplus).astype(np.int64))
    return result


def ranked(bits: NDArray[np.uint64], valid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Columns in the order of their draws, valid ones first: uint64 [B, W] -> int64 [B, W].

    The column number replaces the low 16 bits, so that one plain sort (far quicker than
    an argsort) orders by draw and keeps the column.
    """
    columns = np.arange(bits.shape[1], dtype=np.uint64)
    low = np.uint64(0xFFFF)
    tagged = np.where(valid, bits >> np.uint64(1), bits | np.uint64(1 << 63))
    tagged = (tagged & ~low) | columns
    tagged.sort(axis=1)
    return (tagged & low).astype(np.int64)
