"""Which of two values of a metric is better, for each metric of every task."""

import math

import pytest

from official_bert.evaluation.metric_direction import is_better, lower_is_better

LOWER = [
    "loss",
    "masked_lm_loss",
    "next_sentence_loss",
    "masked_lm_perplexity",
    "mean_squared_error",
]
HIGHER = [
    "accuracy",
    "masked_lm_accuracy",
    "next_sentence_accuracy",
    "f1",
    "macro_f1",
    "PER_f1",
    "LOSS_f1",
    "precision",
    "recall",
    "token_accuracy",
    "exact_match",
    "HasAns_exact",
    "best_f1",
    "matthews_correlation",
    "pearson",
    "pearson_spearman",
]


@pytest.mark.parametrize("metric", LOWER)
def test_less_is_better(metric):
    assert lower_is_better(metric)
    assert is_better(metric, 1.0, 2.0) and not is_better(metric, 2.0, 1.0)


@pytest.mark.parametrize("metric", HIGHER)
def test_more_is_better(metric):
    assert not lower_is_better(metric)
    assert is_better(metric, 2.0, 1.0) and not is_better(metric, 1.0, 2.0)


@pytest.mark.parametrize("metric", ["loss", "f1"])
def test_equal_is_not_better_and_nan_is_worse_than_any_number(metric):
    assert not is_better(metric, 1.0, 1.0)
    assert not is_better(metric, math.nan, 1.0)
    assert not is_better(metric, math.nan, math.nan)
    assert is_better(metric, 1.0, math.nan)
