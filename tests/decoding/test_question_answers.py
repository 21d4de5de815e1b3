"""Ranking of answers beside the Model Garden's copy of run_squad.py."""

from __future__ import annotations

import collections
import math

import numpy as np
import pytest
import tensorflow as tf
from official.nlp.data import squad_lib

from official_bert.decoding.question_answers import Candidate, Ranking, rank_examples
from official_bert.decoding.span_search import ContextTokens, SpanRule, window_answers

# With this many tokens the twenty best starts and ends of run_squad.py are all there are.
WIDTH = 18
BEFORE = 4  # [CLS] where is [SEP]
Result = collections.namedtuple("Result", "unique_id start_logits end_logits")


class _Question:
    """Windows of one question, as both programs see them."""

    def __init__(self, seed, count):
        random = np.random.default_rng(seed)
        self.words = [f"w{random.integers(8)}" for _ in range(count)]
        room, stride = WIDTH - BEFORE - 1, 5
        starts = [0]
        while starts[-1] + room < count:
            starts.append(starts[-1] + stride)
        self.places = [list(range(start, min(start + room, count))) for start in starts]
        best = {}
        for number, places in enumerate(self.places):
            for place in places:
                score = min(place - places[0], places[-1] - place) + 0.01 * len(places)
                if score > best.get(place, (-1, 0))[0]:
                    best[place] = (score, number)
        self.most_context = {place: number for place, (_, number) in best.items()}
        self.start, self.end = random.normal(0, 2, (2, len(starts), WIDTH)).astype(np.float32)

    @property
    def context(self):
        return " ".join(self.words)

    def official(self, v2, threshold):
        features = [
            squad_lib.InputFeatures(
                unique_id=number,
                example_index=0,
                doc_span_index=number,
                tokens=["[CLS]", "where", "is", "[SEP]", *(self.words[p] for p in places), "[SEP]"],
                token_to_orig_map={BEFORE + i: place for i, place in enumerate(places)},
                token_is_max_context={
                    BEFORE + i: self.most_context[place] == number for i, place in enumerate(places)
                },
                input_ids=None, input_mask=None, segment_ids=None, paragraph_mask=None,
                class_index=0,
            )
            for number, places in enumerate(self.places)
        ]  # fmt: skip
        example = squad_lib.SquadExample("q", "where is", self.words)
        results = [
            Result(number, self.start[number].tolist(), self.end[number].tolist())
            for number in range(len(features))
        ]
        predictions, nbest, odds = squad_lib.postprocess_output(
            [example], features, results, n_best_size=20, max_answer_length=6,
            do_lower_case=True, version_2_with_negative=v2, null_score_diff_threshold=threshold,
        )  # fmt: skip
        return predictions["q"], nbest["q"], odds.get("q")

    def windows(self, rule):
        width = len(self.places)
        most = np.zeros((width, WIDTH), bool)
        starts, ends = np.full((2, width, WIDTH), -1)
        word_starts = np.cumsum([0, *(len(word) + 1 for word in self.words)])
        for number, places in enumerate(self.places):
            columns = slice(BEFORE, BEFORE + len(places))
            starts[number, columns] = word_starts[places]
            ends[number, columns] = word_starts[np.add(places, 1)] - 1
            most[number, columns] = [self.most_context[place] == number for place in places]
        found = window_answers(
            {"start_logits": tf.constant(self.start), "end_logits": tf.constant(self.end)},
            ContextTokens(tf.constant(starts), tf.constant(ends), tf.constant(most)), rule,
        )  # fmt: skip
        for number in range(width):
            yield {name: values[number].numpy() for name, values in found._asdict().items()}


def _rank(context, windows, rule):
    [(_, ranking)] = rank_examples([({"context": context}, windows)], rule)
    return ranking


@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("count", [1, 9, 40])
def test_equals_run_squad(count, v2):
    rule = SpanRule(max_answer_length=6, n_best_size=20, version_2_with_negative=v2)
    empty = 0
    for seed in range(12):
        question = _Question(seed, count)
        threshold = (-2.0, -9.0)[seed % 2]
        prediction, nbest, odds = question.official(v2, threshold)
        ranking = _rank(question.context, list(question.windows(rule)), rule)
        assert ranking.prediction(rule, threshold) == prediction
        empty += prediction == ""
        # Both leave a text out that is there already; run_squad.py has more to fill up with.
        texts = [candidate.text for candidate in ranking.candidates]
        listed = [entry for entry in nbest if entry["text"] in texts]
        assert texts == [entry["text"] for entry in listed]
        assert texts[:12] == [entry["text"] for entry in nbest[:12]]
        for candidate, entry in zip(ranking.candidates, listed, strict=True):
            assert (candidate.start_logit, candidate.end_logit) == pytest.approx(
                (entry["start_logit"], entry["end_logit"])
            )
        np.testing.assert_allclose(
            [candidate.probability for candidate in ranking.candidates[:5]],
            [entry["probability"] for entry in nbest[:5]],
            rtol=0.02,
        )
        if v2:
            assert ranking.null_odds == pytest.approx(odds)
    assert empty == 0 if not v2 else empty > 0


def test_nothing_to_answer_with():
    window = {
        "starts": np.zeros(2, int), "ends": np.zeros(2, int),
        "start_logits": np.full(2, -np.inf, np.float32),
        "end_logits": np.full(2, -np.inf, np.float32),
        "null_start_logits": np.float32(1.0), "null_end_logits": np.float32(0.5),
    }  # fmt: skip
    rule = SpanRule(n_best_size=1)
    ranking = _rank(" ", [window], rule)
    assert ranking == Ranking(None, [Candidate("", 0.0, 0.0, 1.0)], 1.5)
    assert ranking.prediction(rule, 0.0) == ""
    v2 = SpanRule(n_best_size=1, version_2_with_negative=True)
    ranking = _rank("", [window], v2)
    assert ranking == Ranking(None, [Candidate("", 1.0, 0.5, 1.0)], 1.5)
    assert ranking.prediction(v2, 100.0) == ""


def _window(*spans, null):
    """A window with spans (start, end, start logit, end logit) of a context, two at most."""
    starts, ends, start_logits, end_logits = zip(
        *spans, *[(0, 0, -np.inf, -np.inf)] * (2 - len(spans)), strict=True
    )
    return {
        "starts": np.array(starts), "ends": np.array(ends),
        "start_logits": np.array(start_logits, np.float32),
        "end_logits": np.array(end_logits, np.float32),
        "null_start_logits": np.float32(null[0]), "null_end_logits": np.float32(null[1]),
    }  # fmt: skip


@pytest.mark.parametrize("windows_at_once", [1, 3, 1000])
def test_examples_do_not_depend_on_those_beside_them(monkeypatch, windows_at_once):
    monkeypatch.setattr("official_bert.decoding.question_answers.WINDOWS_AT_ONCE", windows_at_once)
    long = [
        _window((0, 3, 2.0, 1.0), null=(1.0, 1.0)),
        _window((7, 10, 4.0, 0.0), (4, 6, 0.5, 0.0), null=(0.25, 0.25)),
        _window((0, 6, 1.0, 0.0), null=(3.0, 3.0)),
    ]
    examples = [
        ({"context": "né to né"}, long),
        ({"context": ""}, [_window(null=(0.0, 2.0))]),
        ({"context": "ab"}, [_window((1, 2, 1.0, 1.0), (0, 2, 1.0, 0.5), null=(0.0, 0.0))]),
    ]
    rule = SpanRule(n_best_size=1, version_2_with_negative=True)
    ranked = list(rank_examples(examples, rule))
    assert [example for example, _ in ranked] == [example for example, _ in examples]
    best = Candidate("né", 4.0, 0.0, pytest.approx(1 / (1 + math.exp(-3.5))))
    null = Candidate("", 0.25, 0.25, pytest.approx(1 / (1 + math.exp(3.5))))
    assert ranked[0][1] == Ranking(best, [best, null], -3.5)
    assert ranked[1][1] == Ranking(None, [Candidate("", 0.0, 2.0, 1.0)], 2.0)
    best = Candidate("b", 1.0, 1.0, pytest.approx(1 / (1 + math.exp(-2.0))))
    null = Candidate("", 0.0, 0.0, pytest.approx(1 / (1 + math.exp(2.0))))
    assert ranked[2][1] == Ranking(best, [best, null], -2.0)


def test_no_answer_takes_the_last_rank_where_it_is_better():
    window = _window((0, 1, 1.0, 1.0), (1, 2, 1.0, 0.5), null=(2.0, 2.0))
    ranking = _rank("ab", [window], SpanRule(n_best_size=1, version_2_with_negative=True))
    best = Candidate("a", 1.0, 1.0, 0.0)
    assert ranking == Ranking(best, [Candidate("", 2.0, 2.0, 1.0)], 2.0)
