"""The official metrics of GLUE (Wang et al. 2019), for any table of texts and labels.

n examples, C classes.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy import stats
from sklearn import metrics as sklearn_metrics

CLASSIFICATION, MULTI_LABEL, REGRESSION = "classification", "multi_label", "regression"

# The metric that decides; "accuracy" for data sets that are not here.
_MAIN_METRICS = {
    "cola": "matthews_correlation",
    "ax": "matthews_correlation",
    "mrpc": "f1",
    "qqp": "f1",
}


def main_metric(dataset: str, problem: str) -> str:
    """The name of the metric that decides which of two models is better."""
    if problem == REGRESSION:
        return "pearson_spearman"
    if problem == MULTI_LABEL:
        return "micro_f1"
    return _MAIN_METRICS.get(dataset, "accuracy")


def metric_names(problem: str, num_classes: int) -> tuple[str, ...]:
    """The keys of `metrics` for such data."""
    if problem == REGRESSION:
        return ("pearson", "spearman", "pearson_spearman", "mean_squared_error")
    if problem == MULTI_LABEL:
        return ("micro_f1", "macro_f1", "accuracy")
    names = ("accuracy", "matthews_correlation", "macro_f1")
    return (*names, "f1") if num_classes == 2 else names


def metrics(problem: str, logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """All metrics of a kind of problem.

    Args:
        problem: "classification", "multi_label" or "regression".
        logits: float [n, C]; C is 1 for regression.
        labels: int [n, 1]; float [n, C] of 0 and 1 for several labels; float [n, 1] for regression.

    Returns:
        Classification: `accuracy`, `matthews_correlation`, `macro_f1`; with two classes also `f1`
        (of class 1). Several labels: `micro_f1`, `macro_f1`,
        `accuracy` (all labels of an example right). Regression: `pearson`, `spearman`,
        `pearson_spearman` (their mean), `mean_squared_error`. A correlation with a constant is 0.
    """
    if problem == REGRESSION:
        return _regression(logits[:, 0], labels[:, 0])
    if problem == MULTI_LABEL:
        return _multi_label(probabilities(problem, logits) > 0.5, labels > 0.5)
    predicted, wanted = np.argmax(logits, axis=1), labels[:, 0]
    with warnings.catch_warnings():
        # One class in all rows: the correlation is 0.
        warnings.simplefilter("ignore", UserWarning)
        correlation = float(sklearn_metrics.matthews_corrcoef(wanted, predicted))
    values = {
        "accuracy": float(np.mean(predicted == wanted)),
        "matthews_correlation": correlation,
        "macro_f1": _f1(wanted, predicted, average="macro", labels=np.arange(logits.shape[1])),
    }
    if logits.shape[1] == 2:
        values["f1"] = _f1(wanted, predicted, average="binary")
    return values


def probabilities(problem: str, logits: np.ndarray) -> np.ndarray:
    """float [n, C]: softmax of classes that exclude each other, else the sigmoid of each."""
    if problem == MULTI_LABEL:
        return 1.0 / (1.0 + np.exp(-logits.astype(np.float64)))
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    return exponents / exponents.sum(axis=1, keepdims=True)


def confusion_matrix(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """int [C, C]: rows are the true classes, columns the predicted ones; labels int [n, 1]."""
    classes = np.arange(logits.shape[1])
    return sklearn_metrics.confusion_matrix(labels[:, 0], np.argmax(logits, axis=1), labels=classes)


def _f1(wanted: np.ndarray, predicted: np.ndarray, **settings: object) -> float:
    return float(sklearn_metrics.f1_score(wanted, predicted, zero_division=0, **settings))


def _regression(predicted: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        pearson = _or_zero(stats.pearsonr(predicted, wanted).statistic) if len(wanted) > 1 else 0.0
        spearman = (
            _or_zero(stats.spearmanr(predicted, wanted).statistic) if len(wanted) > 1 else 0.0
        )
    return {
        "pearson": pearson,
        "spearman": spearman,
        "pearson_spearman": (pearson + spearman) / 2,
        "mean_squared_error": float(np.mean((predicted - wanted) ** 2)),
    }


def _multi_label(predicted: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    return {
        "micro_f1": _f1(wanted, predicted, average="micro"),
        "macro_f1": _f1(wanted, predicted, average="macro"),
        "accuracy": float(np.mean(np.all(predicted == wanted, axis=1))),
    }


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else float(value)
