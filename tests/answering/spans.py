"""A small span labeler with weights of a fixed seed, and questions for it."""

from __future__ import annotations

import pathlib

import tensorflow as tf

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.models.span_labeler import BertSpanLabeler
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import TokenizerConfig

WORDS = ("the", "in", "paris", "river", "##s", ".", ",", "where", "?", "é", "中", "w1", "w2", "w3")
TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
MAX_POSITIONS = 48


def span_bundle(seed: int = 7) -> Pretrained:
    """Weights are wide, so that the answers are far from uniform."""
    config = BertConfig(
        vocab_size=len(TOKENS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=MAX_POSITIONS,
    )
    model = BertSpanLabeler(config)
    generator = tf.random.Generator.from_seed(seed)
    for variable in model.variables:
        shift = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(shift + 0.5 * generator.normal(variable.shape))
    return Pretrained(
        path=pathlib.Path(),
        format="official_bert",
        kind="span_labeler",
        model=model,
        vocab=Vocab(TOKENS),
        labels=(),
        tokenizer_config=TokenizerConfig(lower_case=True, strip_accents=False),
        dropped={},
        new_variables=(),
    )
