"""A model in memory as a loaded checkpoint, for the tests that write it."""

from __future__ import annotations

import pathlib

import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import TokenizerConfig

VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"t{i}" for i in range(45))])


def bundle_of(model: tf_keras.Model, kind: str, labels: tuple[str, ...] = ()) -> Pretrained:
    """As `load_pretrained` would give it; the vocabulary fits `tests.small_models.TINY`."""
    return Pretrained(
        path=pathlib.Path("memory"),
        format="official_bert",
        kind=kind,
        model=model,
        vocab=VOCAB,
        labels=labels,
        tokenizer_config=TokenizerConfig(lower_case=False),
        dropped={},
        new_variables=(),
    )
