"""BERT (Devlin et al. 2019) for TensorFlow 2 and tf_keras: from raw text to served answers."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Resolved on first use, so that `python -m official_bert.train --help` does not load TensorFlow.
_PUBLIC = {
    "BertConfig": "official_bert.config",
    "BertEncoder": "official_bert.models.encoder",
    "BertPretrainer": "official_bert.models.pretrainer",
    "BertClassifier": "official_bert.models.classifier",
    "BertSpanLabeler": "official_bert.models.span_labeler",
    "BertTokenClassifier": "official_bert.models.token_classifier",
    "BertMultipleChoice": "official_bert.models.multiple_choice",
    "load_pretrained": "official_bert.checkpoints.load",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'official_bert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
