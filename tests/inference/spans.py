"""A small span labeler with weights of a fixed seed, and the words of its questions."""

from __future__ import annotations

from official_bert.checkpoints.load import Pretrained
from official_bert.models.span_labeler import BertSpanLabeler
from official_bert.text.tokenizer_config import TokenizerConfig
from tests.small_models import bundle_of, tiny_config

WORDS = ("the", "in", "paris", "river", "##s", ".", ",", "where", "?", "é", "中", "w1", "w2", "w3")
TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
MAX_POSITIONS = 48


def span_bundle(seed: int = 7) -> Pretrained:
    config = tiny_config(vocab_size=len(TOKENS), max_position_embeddings=MAX_POSITIONS)
    return bundle_of(
        "span_labeler",
        BertSpanLabeler(config),
        tokens=TOKENS,
        tokenizer_config=TokenizerConfig(lower_case=True, strip_accents=False),
        seed=seed,
    )
