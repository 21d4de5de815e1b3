"""Which whole words, or runs of words, to mask.

As in google-research/bert (`do_whole_word_mask`) and the Model Garden (`max_ngram_size`).
B instances, S positions, P predictions at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from official_bert.text import draws

# What a draw is for; see masking.py, whose streams these must not meet.
_CHOICE, _NGRAM_SIZE = (4 << 32, 5 << 32)


def choose_words(
    candidates: NDArray[np.bool_],
    starts_word: NDArray[np.bool_],
    wanted: NDArray[np.int64],
    keys: NDArray[np.uint64],
    width: int,
    max_ngram_size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Whole words, or runs of up to `max_ngram_size` neighbouring ones, in random order.

    A run that would exceed what is still wanted is passed over. Where every word of an instance is
    longer than that, the first one in the order is masked from its start as far as it goes.

    Returns:
        positions int64 [B, P]; units int64 [B, P]: the first position of the run that each belongs
        to; counts int64 [B].
    """
    batch, length = candidates.shape
    # A word starts at a marked piece, and at any candidate behind a special token.
    before = np.zeros_like(candidates)
    before[:, 1:] = candidates[:, :-1]
    starts = candidates & (starts_word | ~before)
    word_of = np.cumsum(starts, axis=1) - 1  # [B, S], the word's number within the row
    num_words = starts.sum(axis=1)
    max_words = int(num_words.max())
    row, column = np.nonzero(starts)
    first = np.full((batch, max_words + 1), length, np.int64)  # where each word starts
    first[row, word_of[row, column]] = column
    flat_word = (np.arange(batch)[:, None] * (max_words + 1) + word_of)[candidates]
    size = np.bincount(flat_word, minlength=batch * (max_words + 1))  # and its number of pieces
    size = size.reshape(batch, max_words + 1)

    run_start, run_length = _run_order(first, size, num_words, keys, max_ngram_size)
    taken = np.zeros((batch, max_words + 1), np.int64)  # 1 + first word of the run, 0 if free
    left = wanted.copy()
    active = np.arange(batch)
    for step in range(len(run_start)):
        active = active[left[active] > 0]
        if len(active) == 0:
            break
        w, n = run_start[step, active], run_length[step, active]
        fits = n > 0
        pieces = np.zeros(len(active), np.int64)
        for offset in range(max_ngram_size):
            inside = offset < n
            at = np.where(inside, w + offset, max_words)
            pieces += size[active, at]
            fits &= ~inside | (taken[active, at] == 0)
        fits &= pieces <= left[active]
        rows, w, n = active[fits], w[fits], n[fits]
        left[rows] -= pieces[fits]
        for offset in range(max_ngram_size):
            inside = offset < n
            taken[rows[inside], w[inside] + offset] = w[inside] + 1
    unit_word = np.where(candidates, np.take_along_axis(taken, np.maximum(word_of, 0), 1), 0) - 1

    none = np.flatnonzero(left == wanted)
    if len(none):
        word = run_start[0, none]
        within = np.arange(length) - first[none, word][:, None]
        cut = (within >= 0) & (within < wanted[none, None])
        unit_word[none] = np.where(cut, word[:, None], -1)
        left[none] = 0

    chosen = unit_word >= 0
    counts = chosen.sum(axis=1)
    row, column = np.nonzero(chosen)
    slot = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = np.zeros((batch, width), np.int64)
    units = np.zeros((batch, width), np.int64)
    positions[row, slot] = column
    units[row, slot] = first[row, unit_word[row, column]]
    return positions, units, counts


def _run_order(
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    num_words: NDArray[np.int64],
    keys: NDArray[np.uint64],
    max_ngram_size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order in which runs of words are tried.

    The Model Garden repeats: draw a size n with weight 1/n, take the next of the shuffled runs of
    that size. The same order in distribution, without a loop: the runs of size n, shuffled, arrive
    as a Poisson process of rate 1/n, and all sizes are merged by time of arrival.

    Returns:
        first word of the run and number of words, int64 [steps, B] each; 0 is padding.
    """
    batch, max_words = first.shape[0], first.shape[1] - 1
    word = np.arange(max_words)
    unbroken = word < num_words[:, None]  # whether a run of n words may start at each word
    starts, times = [], []
    for n in range(1, max_ngram_size + 1):
        if n > 1:
            # No special token between the last word of the run and the one before it.
            last = np.minimum(word + n - 1, max_words)
            end_of_previous = first[:, last - 1] + size[:, last - 1]
            unbroken = unbroken & (word + n <= num_words[:, None])
            unbroken &= first[:, last] == end_of_previous
        bits = draws.fold(keys[:, None], _CHOICE + first[:, :-1] * max_ngram_size + (n - 1))
        shuffled = draws.ranked(bits, unbroken)
        gaps = draws.uniform(draws.fold(keys[:, None], _NGRAM_SIZE + word * max_ngram_size + n))
        arrival = np.cumsum(-np.log1p(-gaps) * n, axis=1)
        arrival[word >= unbroken.sum(axis=1)[:, None]] = np.inf
        starts.append(shuffled)
        times.append(arrival)
    run_start = np.concatenate(starts, axis=1)
    run_length = np.repeat(np.arange(1, max_ngram_size + 1), max_words)[None].repeat(batch, 0)
    arrival = np.concatenate(times, axis=1)
    run_length[np.isinf(arrival)] = 0
    if max_ngram_size > 1:
        merged = np.argsort(arrival, axis=1, kind="stable")
        run_start = np.take_along_axis(run_start, merged, 1)
        run_length = np.take_along_axis(run_length, merged, 1)
    return np.ascontiguousarray(run_start.T), np.ascontiguousarray(run_length.T)
