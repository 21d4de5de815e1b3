"""Whether more or less of a metric is better: a property of the metric, which its name tells."""

from __future__ import annotations

import math

# The last word of the names of metrics of which less is better.
_LOWER_IS_BETTER = ("loss", "perplexity", "error")


def lower_is_better(metric: str) -> bool:
    """Whether the lower of two values of a metric is the better one.

        lower_is_better("masked_lm_perplexity")  # True
        lower_is_better("PER_f1")                # False

    Args:
        metric: a name as in `eval_results.json`. The names of metrics of which less is better end
            with "loss", "perplexity" or "error".
    """
    return metric.rpartition("_")[2] in _LOWER_IS_BETTER


def is_better(metric: str, value: float, best: float) -> bool:
    """Whether `value` is better than `best`; NaN is worse than any number."""
    if math.isnan(value) or math.isnan(best):
        return math.isnan(best) and not math.isnan(value)
    return value < best if lower_is_better(metric) else value > best
