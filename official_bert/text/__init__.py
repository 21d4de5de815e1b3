"""Text to token ids: the vocabulary and the one tokenizer that training and serving share."""

from __future__ import annotations

from typing import Any

from official_bert.text.vocab import Vocab

__all__ = ["BertTokenizer", "Vocab"]


def __getattr__(name: str) -> Any:
    # The tokenizer brings TensorFlow with it; the vocabulary alone does not.
    if name == "BertTokenizer":
        from official_bert.text.tokenizer import BertTokenizer

        return BertTokenizer
    raise AttributeError(f"module 'official_bert.text' has no attribute {name!r}")
