"""Small taggers and choosers with weights of a fixed seed."""

from __future__ import annotations

from official_bert.checkpoints.load import Pretrained
from official_bert.models.multiple_choice import BertMultipleChoice
from official_bert.models.token_classifier import BertTokenClassifier
from tests.small_models import bundle_of, tiny_config

LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
_SEED = 11


def tagger(labels: tuple[str, ...] = LABELS, classes: int | None = None) -> Pretrained:
    model = BertTokenClassifier(tiny_config(), classes or len(labels))
    return bundle_of("token_classifier", model, labels=labels, seed=_SEED)


def chooser() -> Pretrained:
    return bundle_of("multiple_choice", BertMultipleChoice(tiny_config()), seed=_SEED)
