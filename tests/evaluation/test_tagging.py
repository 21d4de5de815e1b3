import numpy as np
import pytest
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.scheme import IOB2

from official_bert.evaluation.tagging import entity_scores
from tests.decoding.iob2_rule import repaired


def test_an_entity_is_right_as_a_whole():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"]]
    said = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O"]]
    assert entity_scores(gold, said) == {
        "f1": pytest.approx(1 / 3),
        "precision": pytest.approx(1 / 3),
        "recall": pytest.approx(1 / 3),
        "token_accuracy": pytest.approx(4 / 6),
        "LOC_f1": pytest.approx(2 / 3),
        "LOC_precision": 1.0,
        "LOC_recall": 0.5,
        "PER_f1": 0.0,
        "PER_precision": 0.0,
        "PER_recall": 0.0,
    }


def test_entities_end_with_their_sentence():
    """The same tags in one sentence would be one entity of two words."""
    assert entity_scores([["O", "B-X"], ["B-X"]], [["O", "B-X"], ["B-X"]])["f1"] == 1.0
    assert entity_scores([["O", "B-X"], ["B-X"]], [["O", "B-X"], ["I-X"]])["f1"] == 2 / 3
    assert entity_scores([["O", "B-X", "B-X"]], [["O", "B-X", "I-X"]])["f1"] == 0.0


def test_nothing_to_count():
    zeros = {"f1": 0.0, "precision": 0.0, "recall": 0.0}
    assert entity_scores([["O"]], [["O"]]) == {**zeros, "token_accuracy": 1.0}
    assert entity_scores([], []) == {**zeros, "token_accuracy": 0.0}
    assert entity_scores([["O"]], [["I-X"]]) == {**zeros, "token_accuracy": 0.0}
    assert entity_scores([["O"]], [["B-X"]])["X_f1"] == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_equal_to_seqeval_in_strict_mode(seed):
    random = np.random.default_rng(seed)
    labels = ["O", "O", "B-A", "I-A", "B-B", "I-B", "B-C", "I-C"][: random.integers(3, 9)]
    lengths = random.integers(1, 12, size=8)
    gold = [repaired(random.choice(labels, n).tolist()) for n in lengths]
    said = [random.choice(labels, n).tolist() for n in lengths]
    for tags in (said, [repaired(row) for row in said]):
        # What is repaired has the entities that it had before, and no others.
        scores = entity_scores(gold, tags)
        for name, function in (
            ("f1", f1_score),
            ("precision", precision_score),
            ("recall", recall_score),
        ):
            expected = function(gold, said, mode="strict", scheme=IOB2, zero_division=0)
            assert scores[name] == pytest.approx(expected, abs=1e-12)
