from __future__ import annotations

import functools

import pytest

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import TESTDATA, public_data

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@functools.cache
def published(name: str, lower_case: bool) -> BertTokenizer:
    """A tokenizer with one of the published vocabularies."""
    vocab = Vocab.from_file(public_data(f"vocab/bert-base-{name}/vocab.txt"))
    return BertTokenizer(vocab, lower_case)


@pytest.fixture
def uncased() -> BertTokenizer:
    """A small vocabulary of the tests' own."""
    return BertTokenizer(Vocab.from_file(TESTDATA / "vocab.txt"), lower_case=True)


@pytest.fixture
def cased() -> BertTokenizer:
    """A small vocabulary of the tests' own."""
    return BertTokenizer(Vocab.from_file(TESTDATA / "cased_vocab.txt"), lower_case=False)
