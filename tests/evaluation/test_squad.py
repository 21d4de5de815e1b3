"""The metrics beside the official scripts, which tf-models-official carries."""

from __future__ import annotations

import json
import random

import pytest
from official.nlp.tools import squad_evaluate_v1_1, squad_evaluate_v2_0

from official_bert.evaluation import squad
from tests.public_data import public_data

# Gold answers and a prediction each.
CASES = {
    "the same": (["France"], "France"),
    "articles": (["The Eiffel Tower"], "an eiffel  tower"),
    "punctuation": (["U.S.A."], "usa"),
    "one of several": (["10th century", "the 10th", "in the 10th and 11th centuries"], "10th"),
    "partly": (["in the 10th and 11th centuries"], "11th centuries of the"),
    "repeated words": (["New York New York"], "york new york york"),
    "empty prediction": (["France"], ""),
    "nothing left of the prediction": (["France"], "the ..."),
    "nothing left of the gold answer": (["the", "?"], "the"),
    "one gold answer of two is empty": (["!", "yes"], ""),
    "no-break space": (["5\u00a0km"], "5 km"),
    "accents": (["café"], "cafe\u0301"),
    "Chinese": (["三百零八"], "三百零八分"),
    "typographic quotes": (["\u201cHello\u201d"], "hello"),
    "dotted capital I": (["İstanbul"], "i̇stanbul"),
    "zero-width space": (["a\u200bb"], "ab"),
}
IMPOSSIBLE = {"rightly none": ([], ""), "wrongly some": ([], "France"), "an article": ([], "the")}


def _dataset(golds):
    """The official scripts' layout."""
    qas = [
        {"id": question, "question": "?", "answers": [{"text": text} for text in answers]}
        for question, answers in golds.items()
    ]
    return [{"title": "t", "paragraphs": [{"context": "c", "qas": qas}]}]


def _official_v1(golds, predictions):
    results = squad_evaluate_v1_1.evaluate(_dataset(golds), predictions)
    return {"exact_match": 100.0 * results["exact_match"], "f1": 100.0 * results["final_f1"]}


def _official_v2(golds, predictions, odds=None):
    results = squad_evaluate_v2_0.evaluate(_dataset(golds), predictions, odds)
    # evaluate-v2.0.py calls "best" what this copy of it calls "final".
    return {
        name.replace("final_", "best_"): value
        for name, value in results.items()
        if not name.startswith("pr_")
    }


def _cases(cases):
    golds = {question: answers for question, (answers, _) in cases.items()}
    return golds, {question: prediction for question, (_, prediction) in cases.items()}


@pytest.mark.parametrize("case", CASES)
def test_v1_equals_the_official_script(case):
    golds, predictions = _cases({case: CASES[case]})
    assert squad.evaluate_v1(golds, predictions) == _official_v1(golds, predictions)


@pytest.mark.parametrize("case", {**CASES, **IMPOSSIBLE})
def test_v2_equals_the_official_script(case):
    golds, predictions = _cases({case: {**CASES, **IMPOSSIBLE}[case]})
    assert squad.evaluate_v2(golds, predictions) == _official_v2(golds, predictions)


def test_values_by_hand():
    golds = {"q1": ["10th and 11th centuries"], "q2": ["France", "in France"], "q3": []}
    predictions = {"q1": "the 11th centuries", "q2": "france.", "q3": ""}
    v1 = squad.evaluate_v1({"q1": golds["q1"], "q2": golds["q2"]}, predictions)
    assert v1 == {"exact_match": 50.0, "f1": pytest.approx(100 * (2 / 3 + 1) / 2)}
    v2 = squad.evaluate_v2(golds, predictions)
    assert v2["exact"] == pytest.approx(200 / 3)
    assert (v2["HasAns_exact"], v2["HasAns_total"], v2["NoAns_f1"]) == (50.0, 2, 100.0)


def test_missing_predictions_count_as_in_the_official_scripts():
    golds = {"q1": ["a b"], "q2": ["c"], "q3": []}
    predictions = {"q1": "b"}
    v1_golds = {"q1": ["a b"], "q2": ["c"]}
    assert squad.evaluate_v1(v1_golds, predictions) == _official_v1(v1_golds, predictions)
    assert squad.evaluate_v2(golds, predictions) == _official_v2(golds, predictions)


def _real_golds():
    data = json.loads(public_data("squad/cs224n/dev-v2.0.json").read_text(encoding="utf-8"))
    return {
        qa["id"]: (paragraph["context"], [answer["text"] for answer in qa["answers"]])
        for article in data["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    }


@pytest.mark.parametrize("seed", range(3))
def test_real_questions_with_made_up_predictions(seed):
    """6,078 questions: gold answers, other spans of the context, and none."""
    rng = random.Random(seed)
    golds, predictions, odds = {}, {}, {}
    for question, (context, answers) in _real_golds().items():
        start = rng.randrange(len(context))
        spans = [*answers, "", context[start : start + rng.randrange(60)]]
        golds[question] = answers
        predictions[question] = rng.choice(spans)
        # Few distinct values, so that many questions share theirs.
        odds[question] = round(rng.gauss(0.5 if answers else 1.5, 1.0), 1)
    assert squad.evaluate_v2(golds, predictions, odds) == _official_v2(golds, predictions, odds)
    assert squad.evaluate_v2(golds, predictions) == _official_v2(golds, predictions)
    answerable = {question: answers for question, answers in golds.items() if answers}
    # The official one divides first, then makes percentages: another rounding.
    official = _official_v1(answerable, predictions)
    assert squad.evaluate_v1(answerable, predictions) == pytest.approx(official, rel=1e-14)


def _f1_at(golds, answers, odds, threshold):
    final = {q: "" if odds[q] > threshold else answers[q] for q in golds}
    return squad.evaluate_v2(golds, final)["f1"]


def test_the_chosen_threshold_is_between_best_f1_thresh_and_the_next_odds():
    golds = {"q1": ["x"], "q2": [], "q3": ["y"], "q4": [], "q5": ["z"]}
    answers = {"q1": "x", "q2": "x", "q3": "y", "q4": "x", "q5": "x"}
    odds = {"q1": -2.0, "q2": 3.0, "q3": 0.5, "q4": 1.0, "q5": 0.7}
    threshold = squad.choose_null_threshold(golds, answers, odds)
    assert threshold == pytest.approx(0.6)
    assert squad.evaluate_v2(golds, answers, odds)["best_f1_thresh"] == 0.5
    assert _f1_at(golds, answers, odds, threshold) == 80.0


def test_the_chosen_threshold_may_answer_nothing_or_all():
    golds = {"q1": [], "q2": [], "q3": ["y"]}
    answers = {"q1": "x", "q2": "x", "q3": "z"}
    odds = {"q1": -4.0, "q2": 3.0, "q3": -4.0}
    nothing = squad.choose_null_threshold(golds, answers, odds)
    assert _f1_at(golds, answers, odds, nothing) == pytest.approx(200 / 3)
    golds = {question: ["x"] for question in golds}
    assert squad.choose_null_threshold(golds, answers, odds) == 3.5


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_is_better_than_the_chosen_one(seed):
    rng = random.Random(seed)
    golds = {str(i): rng.choice([[], ["x y"]]) for i in range(12)}
    answers = {question: rng.choice(["x", "x y", "z", ""]) for question in golds}
    odds = {question: float(rng.randrange(4)) for question in golds}
    chosen = _f1_at(golds, answers, odds, squad.choose_null_threshold(golds, answers, odds))
    assert chosen == pytest.approx(max(_f1_at(golds, answers, odds, t) for t in range(-1, 5)))
