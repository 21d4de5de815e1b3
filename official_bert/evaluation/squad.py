"""The official metrics of SQuAD 1.1 and 2.0 (evaluate-v1.1.py, evaluate-v2.0.py).

All values are percentages. A question's gold answers are a list of texts; an empty list means that
the context has no answer.
"""

from __future__ import annotations

import collections
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence

Golds = Mapping[str, Sequence[str]]  # question id -> gold answers
Predictions = Mapping[str, str]  # question id -> answer, "" for none

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation, English articles and further white space.

    normalize_answer("The  Eiffel-Tower.") # "eiffeltower"
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> int:
    """1 where both are the same after normalisation, else 0."""
    return int(normalize_answer(prediction) == normalize_answer(gold))


def token_f1(prediction: str, gold: str) -> float:
    """F1 of the words that both have in common; 0 where one has no word."""
    predicted, wanted = normalize_answer(prediction).split(), normalize_answer(gold).split()
    common = sum((collections.Counter(predicted) & collections.Counter(wanted)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def evaluate_v1(golds: Golds, predictions: Predictions) -> dict[str, float]:
    """SQuAD 1.1: the best match with any gold answer; a question without a prediction scores 0.

    Args:
        golds: each question with at least one answer.
        predictions: the answers.

    Returns:
        `exact_match` and `f1`.
    """
    exact = f1 = 0.0
    for question, answers in golds.items():
        if question in predictions:
            exact += max(exact_match(predictions[question], gold) for gold in answers)
            f1 += max(token_f1(predictions[question], gold) for gold in answers)
    return {"exact_match": 100.0 * exact / len(golds), "f1": 100.0 * f1 / len(golds)}


def evaluate_v2(
    golds: Golds,
    predictions: Predictions,
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float = 1.0,
) -> dict[str, float]:
    """SQuAD 2.0: "" is the right answer where there is none.

    Questions without a prediction are left out. Where the null odds of a question are above the
    threshold, its prediction counts as "".

    Args:
        golds: the gold answers.
        predictions: the answers.
        null_odds: how surely the question has no answer; None: 0 for each.
        null_threshold: see above.

    Returns:
        `exact`, `f1`, `total`; the same with HasAns_ and NoAns_ before them for the questions with
        and without gold answers (where there are any); `best_exact` and `best_f1`, the best that
        another threshold would give, with `best_exact_thresh` and `best_f1_thresh`.
    """
    questions = [question for question in golds if question in predictions]
    odds = dict.fromkeys(predictions, 0.0) if null_odds is None else null_odds
    has_answer = {question: bool(golds[question]) for question in questions}
    raw = {
        "exact": _raw_scores(questions, golds, predictions, exact_match),
        "f1": _raw_scores(questions, golds, predictions, _token_f1_or_both_empty),
    }
    scores = {
        name: {
            question: float(not has_answer[question])
            if odds[question] > null_threshold
            else of_metric[question]
            for question in questions
        }
        for name, of_metric in raw.items()
    }
    results: dict[str, float] = {}
    for prefix, chosen in (
        ("", questions),
        ("HasAns_", [question for question in questions if has_answer[question]]),
        ("NoAns_", [question for question in questions if not has_answer[question]]),
    ):
        if chosen or not prefix:
            for name, of_metric in scores.items():
                total = sum(of_metric[question] for question in chosen)
                results[f"{prefix}{name}"] = 100.0 * total / len(chosen)
            results[f"{prefix}total"] = len(chosen)
    for name, of_metric in raw.items():
        best, threshold = _best_threshold(of_metric, predictions, odds, has_answer)
        results |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return results


def choose_null_threshold(
    golds: Golds, answers: Predictions, null_odds: Mapping[str, float]
) -> float:
    """The threshold that gives the best F1 where each question has its best answer that is not "".

    It is a little above the `best_f1_thresh` of these answers: half way to the next odds, so that
    no question lies on it. It is another one where that one answers too much: where questions share
    their odds and where it is best to answer nothing.

    Args:
        golds: the gold answers.
        answers: the best answers that are not empty ("" where there is none).
        null_odds: the question has no answer where they are above the threshold.
    """
    questions = [question for question in golds if question in answers]
    scores = _raw_scores(questions, golds, answers, _token_f1_or_both_empty)
    gains: dict[float, float] = collections.defaultdict(float)
    for question in questions:
        no_answer_scores = float(not golds[question])
        gains[null_odds[question]] += scores[question] - no_answer_scores
    in_order = sorted(gains)
    bounds = [in_order[0] - 1.0, *in_order, in_order[-1] + 1.0]
    gain = best_gain = 0.0
    best = 0  # how many of the distinct odds are answered
    for number, odds in enumerate(in_order, start=1):
        gain += gains[odds]
        if gain > best_gain:
            best_gain, best = gain, number
    return (bounds[best] + bounds[best + 1]) / 2


def _token_f1_or_both_empty(prediction: str, gold: str) -> float:
    """As evaluate-v2.0.py has it: 1 where neither has a word."""
    if not normalize_answer(prediction) or not normalize_answer(gold):
        return float(normalize_answer(prediction) == normalize_answer(gold))
    return token_f1(prediction, gold)


def _raw_scores(
    questions: Iterable[str],
    golds: Golds,
    predictions: Predictions,
    score: Callable[[str, str], float],
) -> dict[str, float]:
    """The best score of each prediction over its gold answers, before any threshold."""
    scores = {}
    for question in questions:
        answers = [gold for gold in golds[question] if normalize_answer(gold)] or [""]
        scores[question] = max(score(predictions[question], gold) for gold in answers)
    return scores


def _best_threshold(
    scores: Mapping[str, float],
    predictions: Predictions,
    null_odds: Mapping[str, float],
    has_answer: Mapping[str, bool],
) -> tuple[float, float]:
    """`find_best_thresh` of evaluate-v2.0.py: the best mean score in percent, and its threshold."""
    current: float = sum(not answerable for answerable in has_answer.values())
    best, threshold = current, 0.0
    for question in sorted(null_odds, key=lambda question: null_odds[question]):
        if question not in scores:
            continue
        if has_answer[question]:
            current += scores[question]
        elif predictions[question]:
            current -= 1
        if current > best:
            best, threshold = current, null_odds[question]
    return 100.0 * best / len(scores), threshold
