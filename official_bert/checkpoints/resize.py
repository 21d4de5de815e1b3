"""Another vocabulary or more positions for a checkpoint, on request only."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from official_bert.checkpoints.source import Source
from official_bert.checkpoints.tensors import StoredTensor
from official_bert.errors import InputError
from official_bert.text.vocab import Vocab

_WORDS = "encoder/embeddings/word_embeddings"
_POSITIONS = "encoder/embeddings/position_embeddings"
_OUTPUT_BIAS = "masked_lm/output_bias"
_UNUSED = re.compile(r"\[unused\d+\]")


def resize_vocab(source: Source, vocab: Vocab) -> None:
    """Gives a checkpoint the rows of another vocabulary.

    A token that the old vocabulary has keeps its row. A token in the place of an [unusedN] takes
    that row, which was trained a little by weight decay alone. Any other gets the mean of the old
    rows plus noise of the initializer's standard deviation, so that new tokens start near the
    others and differ; the noise is the same each time.

    Raises:
        InputError: the checkpoint has no vocabulary, or not as many rows as its vocabulary says.
    """
    old = source.vocab
    if old is None:
        raise InputError(f"{source.path} has no vocabulary: nobody knows which row is which token")
    if len(old) > source.config.vocab_size:
        raise InputError(
            f"{source.path} has {source.config.vocab_size} word embeddings and a vocabulary of "
            f"{len(old)}: they do not belong together"
        )
    rows = np.array([_old_row(old, place, token) for place, token in enumerate(vocab.tokens)])
    rng = np.random.default_rng(0)
    deviation = source.config.initializer_range

    def resized(values: np.ndarray) -> np.ndarray:
        known = values[: len(old)]
        result = values[np.maximum(rows, 0)]
        new = result[rows < 0]
        noise = rng.normal(0.0, deviation, new.shape) if values.ndim == 2 else 0.0
        result[rows < 0] = known.mean(axis=0) + noise
        return result.astype(np.float32)

    for name in (_WORDS, _OUTPUT_BIAS):
        if name in source.tensors:
            _replace(source, name, len(vocab), resized)
    source.vocab = vocab
    source.config = source.config.replace(vocab_size=len(vocab))


def resize_positions(source: Source, positions: int) -> None:
    """Gives a checkpoint another number of position embeddings.

    Further positions repeat the table from its start (Beltagy et al. 2020, section 5): close to
    each other they stand as the model knows it.
    """

    def resized(values: np.ndarray) -> np.ndarray:
        return values[np.arange(positions) % len(values)]

    if _POSITIONS in source.tensors:
        _replace(source, _POSITIONS, positions, resized)
    source.config = source.config.replace(max_position_embeddings=positions)


def _old_row(old: Vocab, place: int, token: str) -> int:
    """The row of a token in the old table; -1 for a new one."""
    if token in old:
        return old.id_of(token)
    if place < len(old) and _UNUSED.fullmatch(old.tokens[place]):
        return place
    return -1


def _replace(
    source: Source, name: str, rows: int, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    tensor = source.tensors[name]
    source.tensors[name] = StoredTensor(
        tensor.name, (rows, *tensor.shape[1:]), lambda: change(tensor.read())
    )
