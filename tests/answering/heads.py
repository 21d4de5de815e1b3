"""Small taggers and choosers with weights of a fixed seed."""

from __future__ import annotations

import pathlib

import tensorflow as tf
import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.models.multiple_choice import BertMultipleChoice
from official_bert.models.token_classifier import BertTokenClassifier
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import TokenizerConfig
from tests.answering.tiny import MAX_POSITIONS, TOKENS

LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def _config() -> BertConfig:
    return BertConfig(
        vocab_size=len(TOKENS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=MAX_POSITIONS,
    )


def _bundle(kind: str, model: tf_keras.Model, labels: tuple[str, ...]) -> Pretrained:
    generator = tf.random.Generator.from_seed(11)
    for variable in model.variables:
        shift = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(shift + 0.5 * generator.normal(variable.shape))
    return Pretrained(
        path=pathlib.Path(),
        format="official_bert",
        kind=kind,
        model=model,
        vocab=Vocab(TOKENS),
        labels=labels,
        tokenizer_config=TokenizerConfig(),
        dropped={},
        new_variables=(),
    )


def tagger(labels: tuple[str, ...] = LABELS, classes: int | None = None) -> Pretrained:
    model = BertTokenClassifier(_config(), classes or len(labels))
    return _bundle("token_classifier", model, labels)


def chooser() -> Pretrained:
    return _bundle("multiple_choice", BertMultipleChoice(_config()), ())
