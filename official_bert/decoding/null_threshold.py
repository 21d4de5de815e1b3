"""The threshold of "no answer" that evaluation chose, where several models answer together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def mean_null_threshold(results: Sequence[Mapping[str, Any]]) -> float | None:
    """The mean null threshold of the evaluation results of several models; None without any."""
    known = [each["null_threshold"] for each in results if "null_threshold" in each]
    return sum(known) / len(known) if known else None
