"""Masked-LM masking: which positions to predict, and what replaces their tokens.

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
from official_bert.text.word_masking import choose_words

# What a draw is for. Each purpose has its own stream of numbers under the instance's key.
_CHOICE, _ACTION, _REPLACEMENT = (1 << 32, 2 << 32, 3 << 32)

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
    """Chooses positions and replaces their tokens.

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
        positions, units, counts = choose_words(
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
    ranks = draws.ranked(draws.fold(keys[:, None], _CHOICE + np.arange(length)), candidates)
    ranks = ranks[:, : min(width, length)]
    chosen = np.zeros((len(keys), width), np.int64)
    chosen[:, : ranks.shape[1]] = ranks
    return _ascending(chosen, wanted), wanted


def _ascending(chosen: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorts the first `counts` columns of each row; the others become 0."""
    beyond = np.arange(chosen.shape[1]) >= counts[:, None]
    in_order = np.sort(np.where(beyond, np.iinfo(np.int64).max, chosen), axis=1)
    in_order[beyond] = 0
    return in_order


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
