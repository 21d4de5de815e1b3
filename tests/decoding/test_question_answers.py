"""Ranking of answers beside the Model Garden's copy of run_squad.py."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tensorflow as tf
from official.nlp.data import squad_lib

from official_bert.decoding.question_answers import Candidate, Ranking, rank_answers
from official_bert.decoding.span_search import SpanRule, best_spans

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
        in_context, most = np.zeros((2, width, WIDTH), bool)
        tokens = np.full((width, WIDTH), -1)
        for number, places in enumerate(self.places):
            columns = slice(BEFORE, BEFORE + len(places))
            in_context[number, columns] = True
            tokens[number, columns] = places
            most[number, columns] = [self.most_context[place] == number for place in places]
        spans = best_spans(
            {"start_logits": tf.constant(self.start), "end_logits": tf.constant(self.end)},
            tf.constant(in_context), tf.constant(most), rule,
        )  # fmt: skip
        starts = np.cumsum([0, *(len(word) + 1 for word in self.words)])
        for number in range(width):
            first = tokens[number][np.maximum(spans.starts[number], 0)]
            last = tokens[number][np.maximum(spans.ends[number], 0)]
            yield {
                "span_starts": starts[first],
                "span_limits": starts[last + 1] - 1,
                "start_logits": spans.start_logits[number].numpy(),
                "end_logits": spans.end_logits[number].numpy(),
                "null_start_logit": self.start[number, 0],
                "null_end_logit": self.end[number, 0],
            }


@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("count", [1, 9, 40])
def test_equals_run_squad(count, v2):
    rule = SpanRule(max_answer_length=6, n_best_size=20, version_2_with_negative=v2)
    empty = 0
    for seed in range(12):
        question = _Question(seed, count)
        threshold = (-2.0, -9.0)[seed % 2]
        prediction, nbest, odds = question.official(v2, threshold)
        ranking = rank_answers(question.context, list(question.windows(rule)), rule)
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
            ranking.probabilities()[:5], [entry["probability"] for entry in nbest[:5]], rtol=0.02
        )
        if v2:
            assert ranking.null_odds == pytest.approx(odds)
    assert empty == 0 if not v2 else empty > 0


def test_nothing_to_answer_with():
    window = {
        "span_starts": np.zeros(2, int), "span_limits": np.zeros(2, int),
        "start_logits": np.full(2, -np.inf), "end_logits": np.full(2, -np.inf),
        "null_start_logit": np.float32(1.0), "null_end_logit": np.float32(0.5),
    }  # fmt: skip
    rule = SpanRule(n_best_size=1)
    ranking = rank_answers(" ", [window], rule)
    assert ranking == Ranking(None, [Candidate("", 0.0, 0.0)], 1.5)
    assert ranking.prediction(rule, 0.0) == "" and ranking.probabilities() == [1.0]
    v2 = SpanRule(n_best_size=1, version_2_with_negative=True)
    ranking = rank_answers("", [window], v2)
    assert ranking == Ranking(None, [Candidate("", 1.0, 0.5)], 1.5)
    assert ranking.prediction(v2, 100.0) == ""
