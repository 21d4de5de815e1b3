from __future__ import annotations

import functools

import pytest

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import public_data

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@functools.cache
def published(name: str, lower_case: bool) -> BertTokenizer:
    """A tokenizer with one of the published vocabularies."""
    vocab = Vocab.from_file(public_data(f"vocab/bert-base-{name}/vocab.txt"))
    return BertTokenizer(vocab, lower_case)


@pytest.fixture
def uncased() -> BertTokenizer:
    return published("uncased", True)


@pytest.fixture
def cased() -> BertTokenizer:
    return published("cased", False)
