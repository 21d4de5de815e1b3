"""Masked-LM masking: literal cases, rules, shares, independence of the batch."""

from __future__ import annotations

import numpy as np
import pytest

from official_bert.errors import InputError
from official_bert.text import draws, masking
from official_bert.text.masking import MaskingRule

CLS, SEP, MASK = 101, 102, 103
POOL = np.arange(1000, 2000, dtype=np.int32)


def _batch(num_rows: int, length: int, sep_at: int):
    """Rows [CLS] 5000 5001 … [SEP] … [SEP]: every text id differs."""
    ids = np.tile(np.arange(5000, 5000 + length, dtype=np.int32), (num_rows, 1))
    candidates = np.ones_like(ids, bool)
    for column, token in ((0, CLS), (sep_at, SEP), (length - 1, SEP)):
        ids[:, column] = token
        candidates[:, column] = False
    return ids, candidates, np.full(num_rows, length), draws.fold(7, np.arange(num_rows))


def _mask(ids, candidates, lengths, keys, starts_word=None, **rule):
    return masking.mask_instances(
        ids,
        candidates,
        lengths,
        keys,
        np.ones_like(candidates) if starts_word is None else starts_word,
        rule=MaskingRule(**rule),
        mask_id=MASK,
        pool=POOL,
    )


def _predicted(batch: masking.MaskedBatch, row: int) -> list[int]:
    return batch.positions[row, : batch.counts[row]].tolist()


@pytest.mark.parametrize(
    ("length", "limit", "expected"),
    # round(128 * 0.15) = 19; round(10 * 0.15) = 2 (1.5 rounds to even); at least 1; at most P.
    [(128, 20, 19), (128, 10, 10), (10, 20, 2), (4, 20, 1)],
)
def test_number_of_predictions(length, limit, expected):
    batch = _mask(*_batch(5, length, length // 2), max_predictions_per_seq=limit)
    np.testing.assert_array_equal(batch.counts, expected)
    assert batch.positions.shape == (5, limit)
    np.testing.assert_array_equal(batch.weights().sum(axis=1), expected)


def test_labels_are_the_originals_and_nothing_else_changes():
    ids, candidates, lengths, keys = _batch(200, 40, 17)
    batch = _mask(ids, candidates, lengths, keys)
    for row in range(200):
        positions = _predicted(batch, row)
        assert positions == sorted(set(positions))
        assert candidates[row, positions].all()
        count = batch.counts[row]
        assert batch.labels[row, :count].tolist() == ids[row, positions].tolist()
        assert not batch.labels[row, count:].any()
        assert not batch.positions[row, count:].any()
        others = np.delete(np.arange(40), positions)
        np.testing.assert_array_equal(batch.ids[row, others], ids[row, others])


def test_every_position_is_chosen_equally_often():
    ids, candidates, lengths, keys = _batch(30_000, 23, 11)  # 20 candidates, 3 predictions
    batch = _mask(ids, candidates, lengths, keys)
    counts = np.bincount(batch.positions[:, :3].ravel(), minlength=23)
    assert counts[[0, 11, 22]].tolist() == [0, 0, 0]
    expected = 30_000 * 3 / 20
    chi_square = ((counts[candidates[0]] - expected) ** 2 / expected).sum()
    assert chi_square < 43.8  # 19 degrees of freedom, p = 0.001


@pytest.mark.parametrize("mix", [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.0, 0.2, 0.8)])
def test_shares_of_replacements(mix):
    ids, candidates, lengths, keys = _batch(20_000, 40, 17)
    batch = _mask(ids, candidates, lengths, keys, **dict(zip(_MIX, mix, strict=True)))
    predicted = batch.weights() > 0
    now = np.take_along_axis(batch.ids, batch.positions.astype(np.int64), 1)[predicted]
    labels = batch.labels[predicted]
    shares = (now == MASK).mean(), np.isin(now, POOL).mean(), (now == labels).mean()
    np.testing.assert_allclose(shares, mix, atol=0.005)
    if mix[1]:
        drawn = np.bincount(now[np.isin(now, POOL)] - 1000, minlength=1000)
        expected = drawn.mean()
        assert ((drawn - expected) ** 2 / expected).sum() < 1143  # 999 degrees, p = 0.001


_MIX = ("mask_prob", "random_prob", "keep_prob")


def test_masks_do_not_depend_on_the_batch():
    ids, candidates, lengths, keys = _batch(64, 40, 17)
    starts = np.arange(40) % 3 != 2
    rule = {"whole_word": True, "max_ngram_size": 3}
    whole = _mask(ids, candidates, lengths, keys, np.tile(starts, (64, 1)), **rule)
    order = np.array([40, 3, 17])
    wider = np.pad(ids[order], [(0, 0), (0, 9)])
    some = _mask(
        wider,
        np.pad(candidates[order], [(0, 0), (0, 9)]),
        lengths[order],
        keys[order],
        np.pad(np.tile(starts, (3, 1)), [(0, 0), (0, 9)]),
        **rule,
    )
    np.testing.assert_array_equal(some.positions, whole.positions[order])
    np.testing.assert_array_equal(some.ids[:, :40], whole.ids[order])


def test_whole_words_are_masked_whole_and_alike():
    ids, candidates, lengths, keys = _batch(3000, 50, 20)
    starts = np.tile(np.arange(50) % 3 == 1, (3000, 1))  # words at 1-3, 4-6, …, 19, 21, 22-24, …
    batch = _mask(ids, candidates, lengths, keys, starts, whole_word=True)
    kinds = set()
    for row in range(3000):
        positions = set(_predicted(batch, row))
        for word in [range(1, 4), range(4, 7), range(16, 19), range(22, 25), range(46, 49)]:
            inside = positions & set(word)
            assert len(inside) in (0, 3)
            if inside:
                now = batch.ids[row, list(word)]
                kinds.add(
                    ((now == MASK).all(), np.isin(now, POOL).all(), (now == ids[row, word]).all())
                )
    # All pieces of a word are masked, or all random, or all kept: one draw for the word.
    assert kinds == {(True, False, False), (False, True, False), (False, False, True)}


def test_a_piece_behind_sep_begins_its_own_word():
    ids, candidates, lengths, keys = _batch(2000, 12, 5)
    starts = np.zeros((2000, 12), bool)  # nothing but "##" pieces: two words, 1-4 and 6-10
    batch = _mask(ids, candidates, lengths, keys, starts, whole_word=True, masked_lm_prob=5 / 12)
    chosen = {tuple(_predicted(batch, row)) for row in range(2000)}
    assert chosen == {(1, 2, 3, 4), (6, 7, 8, 9, 10)}


def test_a_word_longer_than_allowed_is_masked_as_far_as_allowed():
    ids, candidates, lengths, keys = _batch(500, 12, 5)
    starts = np.zeros((500, 12), bool)
    batch = _mask(ids, candidates, lengths, keys, starts, whole_word=True)  # 2 predictions
    assert {tuple(_predicted(batch, row)) for row in range(500)} == {(1, 2), (6, 7)}


def test_a_long_word_is_passed_over_where_a_short_one_fits():
    ids, candidates, lengths, keys = _batch(500, 12, 5)
    starts = np.zeros((500, 12), bool)
    starts[:, [9, 10]] = True  # words 1-4, 6-8, 9, 10; 2 predictions
    batch = _mask(ids, candidates, lengths, keys, starts, whole_word=True)
    assert {tuple(_predicted(batch, row)) for row in range(500)} == {(9, 10)}


def test_ngrams_of_one_are_whole_words():
    arguments = _batch(50, 40, 17)
    starts = np.tile(np.arange(40) % 2 == 0, (50, 1))
    plain = _mask(*arguments, starts, whole_word=True)
    ngram = _mask(*arguments, starts, whole_word=True, max_ngram_size=1)
    np.testing.assert_array_equal(plain.ids, ngram.ids)


def test_ngram_sizes_follow_one_over_n():
    # A single prediction of up to 3 words in a long row: the first run in the order is taken.
    ids, candidates, lengths, keys = _batch(3000, 200, 100)
    batch = _mask(
        ids,
        candidates,
        lengths,
        keys,
        whole_word=True,
        max_ngram_size=3,
        max_predictions_per_seq=3,
        mask_prob=1.0,
        random_prob=0.0,
        keep_prob=0.0,
    )
    positions = batch.positions[batch.counts == 3].astype(int)
    runs = np.diff(positions, axis=1) == 1
    # Three in a row come from a run of 3 with probability (1/3) / (1 + 1/2 + 1/3) = 0.18 at the
    # first draw; nothing else gives them but rarely. Runs never cross [SEP] at 100.
    assert runs.all(axis=1).mean() == pytest.approx(0.18, abs=0.025)
    assert 100 not in positions


def test_ngrams_do_not_cross_sep():
    ids, candidates, lengths, keys = _batch(3000, 7, 3)  # words 1 2 | 4 5
    batch = _mask(
        ids,
        candidates,
        lengths,
        keys,
        whole_word=True,
        max_ngram_size=2,
        masked_lm_prob=2 / 7,
    )
    chosen = {tuple(_predicted(batch, row)) for row in range(3000)}
    assert chosen == {(1, 2), (4, 5), (1, 4), (1, 5), (2, 4), (2, 5)}


def test_pools():
    special, unused = frozenset({0, 3}), frozenset({1, 2})
    assert masking.random_tokens(6, special, unused, "words").tolist() == [4, 5]
    assert masking.random_tokens(6, special, unused, "all").tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"masked_lm_prob": 1.5}, r"masked_lm_prob=1\.5 is outside"),
        ({"max_predictions_per_seq": 0}, "max_predictions_per_seq=0 is below 1"),
        ({"mask_prob": -0.1}, r"mask_prob=-0\.1 is outside"),
        ({"mask_prob": 0.9}, "must add up to 1"),
        ({"max_ngram_size": 3}, "set do_whole_word_mask"),
        ({"random_token_pool": "any"}, "random_token_pool='any'"),
    ],
)
def test_bad_rules_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        MaskingRule(**settings)


def test_draws_are_fixed():
    # Records made today and tomorrow must be the same: these numbers may not change.
    assert draws.fold(0, 0) == 0xE220A8397B1DCDAF  # SplitMix64, seed 0, first output
    assert draws.fold(1234567, [0, 1]).tolist() == [6457827717110365317, 3203168211198807973]


def test_heads_are_binomial():
    tosses = np.array([0, 1, 64, 65, 1000])
    heads = np.array([draws.heads(draws.fold(k, np.arange(5)), tosses) for k in range(4000)])
    assert (heads <= tosses).all()
    np.testing.assert_allclose(heads.mean(axis=0), tosses / 2, atol=1)
    np.testing.assert_allclose(heads.var(axis=0), tosses / 4, rtol=0.1, atol=0.01)
