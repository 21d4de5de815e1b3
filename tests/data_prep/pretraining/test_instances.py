"""Instances: the algorithm against a plain loop, literal joins, uniform random documents."""

from __future__ import annotations

import numpy as np
import pytest

from data_prep.pretraining import instances as pretraining
from data_prep.pretraining.instances import InstanceRule
from data_prep.pretraining.planning import plan_documents
from data_prep.pretraining.token_store import Store, StoreWriter
from official_bert.errors import InputError
from official_bert.text import draws


def _plain_walk(lengths: list[int], key: int, rule: InstanceRule, has_other: bool):
    """google-research/bert's loop over the sentences of one document, with our draws."""
    target = int(pretraining.targets(np.array([key], np.uint64), rule)[0])
    result = []
    i, chunk, size = 0, [], 0
    while i < len(lengths):
        chunk.append(i)
        size += lengths[i]
        if i == len(lengths) - 1 or size >= target:
            bits = draws.fold(key, 2 + chunk[0])
            a_count = 1
            if len(chunk) >= 2:
                a_count = 1 + int(draws.below(draws.fold(bits, 0), len(chunk) - 1))
            is_random = len(chunk) == 1 or draws.uniform(draws.fold(bits, 1)) < 0.5
            is_random = bool(is_random and has_other)
            result.append((chunk[0], chunk[0] + a_count, i + 1, is_random))
            if is_random:
                i -= len(chunk) - a_count
            chunk, size = [], 0
        i += 1
    return result


@pytest.mark.parametrize("has_other", [True, False])
def test_cut_is_the_plain_loop(has_other):
    rule = InstanceRule(max_seq_length=40, short_seq_prob=0.5)
    rng = np.random.default_rng(1)
    sizes = [1, 2, 3, 17, 80, 1]
    documents = [rng.integers(1, 30, size).tolist() for size in sizes]
    ends = np.cumsum(sizes)
    first = ends - sizes
    token_starts = np.concatenate([[0], np.cumsum(np.concatenate(documents))])
    numbers = np.arange(len(sizes)) + 10
    expected = []
    for pass_number in range(20):
        keys = pretraining.pass_keys(3, numbers, pass_number)
        spans, after = pretraining.cut(
            token_starts,
            first,
            first,
            np.stack([ends, ends], axis=1),
            keys,
            rule,
            has_other_document=has_other,
        )
        assert after.tolist() == ends.tolist()
        expected = [
            (d, first[d] + start, first[d] + a_end, first[d] + end, is_random)
            for d, lengths in enumerate(documents)
            for start, a_end, end, is_random in _plain_walk(lengths, int(keys[d]), rule, has_other)
        ]
        found = zip(
            spans.document, spans.start, spans.a_end, spans.end, spans.is_random, strict=True
        )
        assert [tuple(map(int, span)) for span in found] == expected


def test_single_segments_take_what_fits():
    rule = InstanceRule(max_seq_length=12, short_seq_prob=0.0, objective="full_sentences")
    lengths = [4, 6, 1, 10, 3, 3, 3, 3]  # room for 10
    token_starts = np.concatenate([[0], np.cumsum(lengths)])
    spans, _ = pretraining.cut(
        token_starts,
        np.array([0]),
        np.array([0]),
        np.array([[8, 8]]),
        pretraining.pass_keys(1, np.array([0]), 0),
        rule,
        has_other_document=True,
    )
    assert list(zip(spans.start, spans.a_end, strict=True)) == [
        (0, 2),
        (2, 3),
        (3, 4),
        (4, 7),
        (7, 8),
    ]
    assert not spans.is_random.any()


def _drop_one_by_one(a: int, b: int, room: int) -> tuple[int, int]:
    while a + b > room:
        if a > b:
            a -= 1
        else:
            b -= 1
    return a, b


@pytest.mark.parametrize("room", [5, 6, 125])
def test_truncation_ends_where_dropping_one_by_one_ends(room):
    pairs = [(a, b) for a in range(1, 3 * room, 3) for b in range(1, 3 * room, 2)]
    a, b = np.array(pairs).T
    cut = pretraining.truncate(draws.fold(5, np.arange(len(a))), a, b, room)
    expected = [_drop_one_by_one(*pair, room) for pair in pairs]
    assert list(zip(cut.a_length, cut.b_length, strict=True)) == expected
    assert (cut.a_front >= 0).all() and (cut.a_front + cut.a_length <= a).all()
    assert (cut.b_front >= 0).all() and (cut.b_front + cut.b_length <= b).all()
    dropped = a - cut.a_length
    assert cut.a_front.sum() / dropped.sum() == pytest.approx(0.5, abs=0.02)


def test_join_literal():
    ids = np.array([11, 12, 21, 31, 41, 42], np.int32)
    joined = pretraining.join(
        ids,
        np.array([True, True, True, False, False, True]),
        np.array([2, 1]),
        np.array([1, 2]),
        cls_id=101,
        sep_id=102,
        pairs=True,
    )
    assert joined.ids.tolist() == [[101, 11, 12, 102, 21, 102], [101, 31, 102, 41, 42, 102]]
    assert joined.is_text.astype(int).tolist() == [[0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0]]
    # The first piece of a segment begins a word, even if it was cut off from one.
    assert joined.continues_word.astype(int).tolist() == [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0]]
    single = pretraining.join(
        ids,
        np.zeros(6, bool),
        np.array([4, 2]),
        np.array([0, 0]),
        cls_id=101,
        sep_id=102,
        pairs=False,
    )
    assert single.ids.tolist() == [[101, 11, 12, 21, 31, 102], [101, 41, 42, 102, 0, 0]]
    assert single.lengths.tolist() == [6, 4]


def test_random_documents_are_uniform_and_never_the_same():
    number, draws_each = 30, 4000
    own = np.repeat(np.arange(number), draws_each)
    key = draws.fold(11, np.arange(len(own)))
    other = pretraining.random_documents(key, own, number)
    assert (other != own).all()
    counts = np.zeros((number, number))
    np.add.at(counts, (own, other), 1)
    expected = draws_each / (number - 1)
    chi_square = ((counts[~np.eye(number, dtype=bool)] - expected) ** 2 / expected).sum()
    # 30 * 28 degrees of freedom; within 4 standard deviations of its mean.
    assert abs(chi_square - 840) < 4 * np.sqrt(2 * 840)


def test_target_lengths():
    rule = InstanceRule(max_seq_length=23, short_seq_prob=0.25)  # room 20
    target = pretraining.targets(draws.fold(1, np.arange(100_000)), rule)
    assert target.min() == 2 and target.max() == 20
    # 19 values of [2, 20] share a quarter evenly; 20 has the other three quarters as well.
    assert (target == 20).mean() == pytest.approx(0.75 + 0.25 / 19, abs=0.005)
    assert (target == 2).mean() == pytest.approx(0.25 / 19, abs=0.002)


def test_held_out_documents():
    numbers = np.arange(50_000)
    held_out = pretraining.in_held_out_split(1, numbers, 0.02)
    assert held_out.mean() == pytest.approx(0.02, abs=0.003)
    np.testing.assert_array_equal(
        held_out[1000:], pretraining.in_held_out_split(1, numbers[1000:], 0.02)
    )
    assert (held_out != pretraining.in_held_out_split(2, numbers, 0.02)).any()


@pytest.fixture
def store(tmp_path):
    """Three documents of 400, 1 and 30 sentences; token t of the corpus has the value 2 * t."""
    rng = np.random.default_rng(4)
    writer = StoreWriter(tmp_path, 30_000, ["train"], lambda numbers: np.zeros(len(numbers)))
    start = 0
    for size in (400, 1, 30):
        lengths = rng.integers(1, 12, size)
        tokens = 2 * (start + np.arange(lengths.sum()))
        start += int(lengths.sum())
        writer.append(tokens, lengths, np.zeros(size, bool))
        writer.end_document()
    writer.state()
    writer.close()
    store = Store(tmp_path, 30_000, "train")
    yield store
    store.close()


@pytest.mark.parametrize("objective", ["bert", "full_sentences"])
def test_a_long_document_is_planned_alike_in_windows(store, objective):
    rule = InstanceRule(max_seq_length=30, short_seq_prob=0.3, objective=objective)
    arguments = {"passes": 3, "seed": 9, "rule": rule}
    whole, _ = plan_documents(store, 0, 1, **arguments)
    windows, _ = plan_documents(store, 0, 1, **arguments, window=7)
    together, _ = plan_documents(store, 0, 3, **arguments)
    by_key = np.sort(whole, order="key")
    np.testing.assert_array_equal(by_key, np.sort(windows, order="key"))
    np.testing.assert_array_equal(by_key, np.sort(together[np.isin(together["key"], whole["key"])]))


def test_second_segments(store):
    rule = InstanceRule(max_seq_length=30, short_seq_prob=0.3)
    plan, skipped = plan_documents(store, 0, 3, passes=20, seed=9, rule=rule)
    assert skipped == 0
    bounds = store.sentences.read(0, store.sentences.size)
    ends = bounds[store.documents(0, 3)[:, 2]]
    a_document = np.searchsorted(ends, plan["a_start"], "right")
    b_document = np.searchsorted(ends, plan["b_start"], "right")
    np.testing.assert_array_equal(a_document != b_document, plan["next_kind"] > 0)
    for name in "ab":
        stop = plan[f"{name}_start"] + plan[f"{name}_length"]
        assert (stop <= ends[a_document if name == "a" else b_document]).all()
        assert (plan[f"{name}_length"] > 0).all()
    total = plan["a_length"].astype(int) + plan["b_length"]
    assert total.max() == rule.room
    # The one-sentence document can only be followed by a random one.
    assert (plan["next_kind"][a_document == 1] == pretraining.ONLY_RANDOM).all()
    # Which of the two others follows document 1 is a fair coin.
    assert set(b_document[a_document == 1]) == {0, 2}


def test_one_document_has_only_true_neighbours(tmp_path):
    writer = StoreWriter(tmp_path, 30_000, ["train"], lambda numbers: np.zeros(len(numbers)))
    writer.append(np.arange(12), np.array([4, 4, 4]), np.zeros(3, bool))
    writer.end_document()
    writer.close()
    store = Store(tmp_path, 30_000, "train")
    rule = InstanceRule(max_seq_length=11, short_seq_prob=0.0)  # room for two sentences
    plan, skipped = plan_documents(store, 0, 1, passes=1, seed=1, rule=rule)
    store.close()
    # Sentences 0 and 1 make a pair; nothing follows sentence 2.
    assert plan[["a_start", "a_length", "b_start", "b_length", "next_kind"]].tolist() == [
        (0, 4, 4, 4, 0)
    ]
    assert skipped == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_seq_length": 7}, r"max_seq_length=7 is outside \[8"),
        ({"short_seq_prob": 1.1}, r"short_seq_prob=1\.1 is outside"),
        ({"objective": "gpt"}, "objective='gpt'"),
    ],
)
def test_bad_rules_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        InstanceRule(**settings)
