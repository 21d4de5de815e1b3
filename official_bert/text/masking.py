"""Masked-LM masking: which positions to predict, and what stands in their place.

Devlin et al. 2019, section 3.1 and A.1; whole words and n-grams as in google-research/bert and the
Model Garden. The same functions make the static masks of prepared records and, through
`tf.numpy_function`, new masks at each epoch of training. Every draw is keyed by the instance and
the position (`draws.py`), so a batch of any size and order gives the same masks.

B instances, S positions, P predictions at most.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from official_bert.errors import InputError
from official_bert.text import draws

# What a draw is for. Each purpose has its own stream of numbers under the instance's key.
_CHOICE, _ACTION, _REPLACEMENT, _NGRAM_SIZE = (1 << 32, 2 << 32, 3 << 32, 4 << 32)

RANDOM_TOKEN_POOLS = ("words", "all")


@dataclasses.dataclass(frozen=True)
class MaskingRule:
    """How to mask.

    Attributes:
        masked_lm_prob: share of an instance's tokens (special tokens counted) to predict.
        max_predictions_per_seq: P, an upper limit for each instance.
        whole_word: choose all pieces of a word together.
        max_ngram_size: choose up to this many neighbouring words together, shorter ones more
            often (weight 1/n); needs `whole_word` when above 1.
        mask_prob, random_prob, keep_prob: shares of chosen words that become [MASK], become random
            tokens, and stay (80/10/10 in the paper; other mixes are its ablation C.2).
        random_token_pool: "words" draws random tokens from all entries but the special tokens and
            [unusedN]; "all" from the whole vocabulary, as google-research/bert does.
    """

    masked_lm_prob: float = 0.15
    max_predictions_per_seq: int = 20
    whole_word: bool = False
    max_ngram_size: int = 1
    mask_prob: float = 0.8
    random_prob: float = 0.1
    keep_prob: float = 0.1
    random_token_pool: str = "words"

    def __post_init__(self) -> None:
        """Raises InputError naming the field, its value and what it may be."""
        if not 0 < self.masked_lm_prob <= 1:
            raise InputError(
                f"masked_lm_prob={self.masked_lm_prob} is outside (0, 1]: the paper has 0.15"
            )
        if self.max_predictions_per_seq < 1:
            raise InputError(
                f"max_predictions_per_seq={self.max_predictions_per_seq} is below 1: "
                "give about 0.15 * max_seq_length"
            )
        mix = {name: getattr(self, name) for name in ("mask_prob", "random_prob", "keep_prob")}
        for name, share in mix.items():
            if not 0 <= share <= 1:
                raise InputError(f"{name}={share} is outside [0, 1]: give a share")
        if abs(sum(mix.values()) - 1) > 1e-6:
            values = " + ".join(f"{name}={share}" for name, share in mix.items())
            raise InputError(f"{values} is {sum(mix.values()):g}: the three must add up to 1")
        if self.max_ngram_size < 1:
            raise InputError(f"max_ngram_size={self.max_ngram_size} is below 1: 1 masks words")
        if self.max_ngram_size > 1 and not self.whole_word:
            raise InputError(
                f"max_ngram_size={self.max_ngram_size} masks runs of whole words: "
                "set do_whole_word_mask as well"
            )
        if self.random_token_pool not in RANDOM_TOKEN_POOLS:
            raise InputError(
                f"random_token_pool={self.random_token_pool!r} is not one of {RANDOM_TOKEN_POOLS}"
            )


@dataclasses.dataclass(frozen=True)
class MaskedBatch:
    """Masked instances.

    Attributes:
        ids: int32 [B, S], the input with the replacements in it.
        positions: int32 [B, P], ascending; 0 behind the last prediction.
        labels: int32 [B, P], the original ids at the positions; 0 behind the last prediction.
        counts: int64 [B], number of predictions, from 1 to P.
    """

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]
    counts: NDArray[np.int64]

    def weights(self) -> NDArray[np.float32]:
        """float32 [B, P]: 1 for a prediction, 0 behind the last one."""
        columns = np.arange(self.positions.shape[1])
        return (columns < self.counts[:, None]).astype(np.float32)


def continuations(tokens: tuple[str, ...]) -> NDArray[np.bool_]:
    """bool [V]: which entries of a vocabulary continue a word: "##s", but not "##" itself."""
    return np.array([token.startswith("##") and len(token) > 2 for token in tokens])


def random_tokens(
    vocab_size: int, special_ids: frozenset[int], unused_ids: frozenset[int], pool: str
) -> NDArray[np.int32]:
    """The ids that a random replacement is drawn from.

    Args:
        vocab_size: V.
        special_ids: of [PAD] [UNK] [CLS] [SEP] [MASK].
        unused_ids: of the [unusedN] entries.
        pool: "words" or "all", see `MaskingRule`.

    Returns:
        int32 [V or fewer].
    """
    if pool == "all":
        return np.arange(vocab_size, dtype=np.int32)
    left_out = special_ids | unused_ids
    return np.array([i for i in range(vocab_size) if i not in left_out], np.int32)


def num_predictions(lengths: NDArray[np.int64], rule: MaskingRule) -> NDArray[np.int64]:
    """int64 [B]: how many positions to predict in instances of these lengths, [CLS] counted."""
    # Rounding is Python's and NumPy's alike: to even at one half.
    wanted = np.rint(lengths * rule.masked_lm_prob).astype(np.int64)
    return np.clip(wanted, 1, rule.max_predictions_per_seq)


def mask_instances(
    ids: NDArray[np.int32],
    candidates: NDArray[np.bool_],
    lengths: NDArray[np.int64],
    keys: NDArray[np.uint64],
    starts_word: NDArray[np.bool_],
    *,
    rule: MaskingRule,
    mask_id: int,
    pool: NDArray[np.int32],
) -> MaskedBatch:
    """Chooses positions and replaces what stands there.

    With `[CLS] my dog is hairy [SEP]` and one prediction, `hairy` becomes [MASK] in 80 % of
    cases, stays in 10 %, and becomes for example `apple` in 10 %; the label is always `hairy`.

    Args:
        ids: int32 [B, S], padded at the end with anything.
        candidates: bool [B, S], false for [CLS], [SEP] and padding; at least one a row is true.
        lengths: int64 [B], tokens of each instance with [CLS] and [SEP], without padding.
        keys: uint64 [B], one key an instance; it decides all of the instance's draws.
        starts_word: bool [B, S], false for a piece that continues the word before it. Used only
            where `rule.whole_word` is set.
        rule: how to mask.
        mask_id: id of [MASK].
        pool: int32, from `random_tokens`.

    Returns:
        A `MaskedBatch` with P = `rule.max_predictions_per_seq`.
    """
    wanted = np.minimum(num_predictions(lengths, rule), candidates.sum(axis=1))
    width = rule.max_predictions_per_seq
    if rule.whole_word:
        positions, units, counts = _choose_words(
            candidates, starts_word, wanted, keys, width, rule.max_ngram_size
        )
    else:
        positions, counts = _choose_tokens(candidates, wanted, keys, width)
        units = positions
    return _replace(ids, positions, units, counts, keys, rule, mask_id, pool)


def _choose_tokens(
    candidates: NDArray[np.bool_],
    wanted: NDArray[np.int64],
    keys: NDArray[np.uint64],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Single positions: those with the smallest draws. Returns positions [B, P] and counts [B]."""
    length = candidates.shape[1]
    ranks = _ranked(draws.fold(keys[:, None], _CHOICE + np.arange(length)), candidates)
    ranks = ranks[:, : min(width, length)]
    chosen = np.zeros((len(keys), width), np.int64)
    chosen[:, : ranks.shape[1]] = ranks
    return _ascending(chosen, wanted), wanted


def _ranked(bits: NDArray[np.uint64], valid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Columns in the order of their draws, valid ones first: uint64 [B, W] -> int64 [B, W].

    The column number takes the place of the low 16 bits, so that one plain sort (far quicker than
    an argsort) orders by draw and keeps the column.
    """
    columns = np.arange(bits.shape[1], dtype=np.uint64)
    low = np.uint64(0xFFFF)
    tagged = np.where(valid, bits >> np.uint64(1), bits | np.uint64(1 << 63))
    tagged = (tagged & ~low) | columns
    tagged.sort(axis=1)
    return (tagged & low).astype(np.int64)


def _ascending(chosen: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorts the first `counts` columns of each row; the others become 0."""
    beyond = np.arange(chosen.shape[1]) >= counts[:, None]
    in_order = np.sort(np.where(beyond, np.iinfo(np.int64).max, chosen), axis=1)
    in_order[beyond] = 0
    return in_order


def _choose_words(
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
        first word of the run and number of words, int64 [steps, B] each; a number of 0 fills up.
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
        shuffled = _ranked(bits, unbroken)
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


def _replace(
    ids: NDArray[np.int32],
    positions: NDArray[np.int64],
    units: NDArray[np.int64],
    counts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    rule: MaskingRule,
    mask_id: int,
    pool: NDArray[np.int32],
) -> MaskedBatch:
    """Puts [MASK], a random token or the token itself at the positions; one draw for each unit."""
    labels = np.take_along_axis(ids, positions, 1)
    action = draws.uniform(draws.fold(keys[:, None], _ACTION + units))
    random_index = draws.below(draws.fold(keys[:, None], _REPLACEMENT + positions), len(pool))
    new = np.where(action < rule.mask_prob, np.int32(mask_id), pool[random_index])
    new = np.where(action >= rule.mask_prob + rule.random_prob, labels, new)
    predicted = np.arange(positions.shape[1]) < counts[:, None]
    masked = ids.copy()
    row, slot = np.nonzero(predicted)
    masked[row, positions[row, slot]] = new[row, slot]
    return MaskedBatch(
        ids=masked,
        positions=positions.astype(np.int32),
        labels=np.where(predicted, labels, 0).astype(np.int32),
        counts=counts,
    )
