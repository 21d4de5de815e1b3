"""Predicted tags, repaired."""

from __future__ import annotations

import numpy as np
import pytest

from official_bert.decoding.entity_tags import EntityTagger
from tests.decoding.iob2_rule import repaired


def _tags(*sentences, strict):
    """The repaired labels, entity types (None for none) and `continues` of each word."""
    labels = sorted({label for sentence in sentences for label in sentence.split()})
    tagger = EntityTagger(labels, strict=strict)
    ids = [labels.index(label) for sentence in sentences for label in sentence.split()]
    starts = [n == 0 for sentence in sentences for n, _ in enumerate(sentence.split())]
    tags = tagger(np.array(ids, np.int32), np.array(starts, bool))
    types = [None if type_ < 0 else tagger.types[type_] for type_ in tags.types.numpy()]
    return b" ".join(tags.labels.numpy()).decode(), types, tags.continues.numpy().tolist()


@pytest.mark.parametrize(
    ("said", "strict", "lenient"),
    [
        ("O O", "O O", "O O"),
        ("B-X I-X O", "B-X I-X O", "B-X I-X O"),
        ("I-X O I-X", "O O O", "B-X O B-X"),
        ("I-X I-X", "O O", "B-X I-X"),
        ("B-X I-Y I-Y", "B-X O O", "B-X B-Y I-Y"),
        ("B-X I-Y I-X", "B-X O O", "B-X B-Y B-X"),
        ("B-X B-X I-X", "B-X B-X I-X", "B-X B-X I-X"),
        (
            "O I-PER I-PER B-LOC I-LOC I-PER B-LOC I-LOC",
            "O O O B-LOC I-LOC O B-LOC I-LOC",
            "O B-PER I-PER B-LOC I-LOC B-PER B-LOC I-LOC",
        ),
        ("B-X E-X E-X S-X I-X", "B-X I-X O B-X O", "B-X I-X B-X B-X B-X"),
        ("NOUN NOUN VERB", "NOUN NOUN VERB", "NOUN NOUN VERB"),
    ],
)
def test_repaired_labels(said, strict, lenient):
    assert _tags(said, strict=True)[0] == strict
    assert _tags(said, strict=False)[0] == lenient


def test_no_entity_continues_from_another_sentence():
    assert _tags("O B-X", "I-X I-X B-X", strict=True) == (
        "O B-X O O B-X",
        [None, "X", None, None, "X"],
        [False, False, False, True, False],
    )


def test_no_words():
    tags = EntityTagger(["O", "B-X"], strict=True)(np.zeros(0, np.int32), np.zeros(0, bool))
    assert tags.labels.shape == tags.types.shape == tags.continues.shape == [0]


@pytest.mark.parametrize("seed", range(5))
def test_as_the_plain_rule(seed):
    random = np.random.default_rng(seed)
    labels = ["O", "B-A", "I-A", "B-B", "I-B", "B-C", "I-C"]
    sentences = [random.choice(labels, size).tolist() for size in random.integers(1, 12, size=40)]
    given = (" ".join(sentence) for sentence in sentences)
    expected = [tag for sentence in sentences for tag in repaired(sentence)]
    assert _tags(*given, strict=True)[0].split() == expected
