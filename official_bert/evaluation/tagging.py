"""Scores of tagged words: precision, recall and F1 of whole entities, as seqeval counts them in its
strict mode.

An entity is right if its type, its first and its last word are.
"""

from __future__ import annotations

from collections.abc import Sequence

Sequences = Sequence[Sequence[str]]


def entity_scores(gold: Sequences, predicted: Sequences) -> dict[str, float]:
    """Precision, recall and F1 of entities, over all (micro) and for each type.

    This is seqeval's strict mode for IOB2: an I- without a B- in front of it is no entity.

    Args:
        gold, predicted: IOB2 tags of each sentence; as many predicted as gold in each.

    Returns:
        `precision`, `recall`, `f1`, `token_accuracy`, and for each type in either `PER_precision`,
        `PER_recall`, `PER_f1`; from 0 to 1, 0 where nothing is there to count.
    """
    from seqeval.metrics import classification_report
    from seqeval.scheme import IOB2

    pairs = [
        (right, said)
        for tags, guesses in zip(gold, predicted, strict=True)
        for right, said in zip(tags, guesses, strict=True)
    ]
    hits = sum(right == said for right, said in pairs)
    scores = {"f1": 0.0, "precision": 0.0, "recall": 0.0}
    scores["token_accuracy"] = hits / len(pairs) if pairs else 0.0
    if not any(tag[0] == "B" for pair in pairs for tag in pair):
        return scores
    report = classification_report(
        [list(tags) for tags in gold],
        [list(tags) for tags in predicted],
        output_dict=True,
        mode="strict",
        scheme=IOB2,
        zero_division=0,
    )
    averages = {"micro avg", "macro avg", "weighted avg"}
    for name in ["micro avg", *(kind for kind in report if kind not in averages)]:
        prefix = "" if name == "micro avg" else f"{name}_"
        scores |= {
            f"{prefix}f1": float(report[name]["f1-score"]),
            f"{prefix}precision": float(report[name]["precision"]),
            f"{prefix}recall": float(report[name]["recall"]),
        }
    return scores
