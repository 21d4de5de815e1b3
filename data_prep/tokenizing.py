"""Blocks of text -> token ids with sentence and document boundaries."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_prep.corpus import Block
from data_prep.token_store import token_dtype


@dataclasses.dataclass(frozen=True)
class TokenizedBlock:
    """The sentences of a block: its lines that have a token.

    Attributes:
        tokens: [T], 2 * id + 1 for a piece that continues the word before it, else 2 * id.
        lengths: int64 [n], tokens of each sentence.
        starts_document: bool [n], whether an empty line stands before the sentence.
        ends_document: whether an empty line stands behind the last sentence.
        counts: what was counted: "sentences", "tokens", "unknown_tokens", "lines_without_token",
            "invalid_utf8_bytes".
    """

    tokens: NDArray
    lengths: NDArray[np.int64]
    starts_document: NDArray[np.bool_]
    ends_document: bool
    counts: Counter[str]


def tokenize_block(
    block: Block, tokenizer: Any, continues: NDArray[np.bool_], max_sentence: int | None = None
) -> TokenizedBlock:
    """Tokenizes the lines of a block.

    Args:
        block: whole lines.
        tokenizer: a `BertTokenizer`.
        continues: from `masking.continuations`.
        max_sentence: cut sentences into pieces of at most so many tokens; None leaves them whole.
    """
    lines = block.text.split(b"\n")
    if not lines[-1]:
        lines.pop()  # What follows the last line end is not a line.
    ragged = tokenizer.tokenize(lines)
    ids, lengths = ragged.flat_values.numpy(), ragged.row_lengths().numpy().astype(np.int64)
    has_tokens = lengths > 0
    boundary = np.zeros(len(lines), bool)
    for i in np.flatnonzero(~has_tokens):
        # A line of invisible characters or invalid bytes is not an empty one. Whitespace is what
        # Python strips.
        boundary[i] = not lines[i].decode("utf-8", "replace").strip()
    boundaries_before = np.cumsum(boundary)[has_tokens]
    starts_document = np.diff(boundaries_before, prepend=0) > 0
    total = int(boundary.sum())
    counts = Counter(
        sentences=int(has_tokens.sum()),
        tokens=len(ids),
        unknown_tokens=int((ids == tokenizer.vocab.unk_id).sum()),
        lines_without_token=len(lines) - int(has_tokens.sum()) - total,
        invalid_utf8_bytes=_invalid_bytes(block.text),
    )
    lengths = lengths[has_tokens]
    if max_sentence is not None:
        lengths, starts_document = _split_long(lengths, starts_document, max_sentence)
    return TokenizedBlock(
        tokens=(ids * 2 + continues[ids]).astype(token_dtype(len(continues))),
        lengths=lengths,
        starts_document=starts_document,
        ends_document=total > (int(boundaries_before[-1]) if len(boundaries_before) else 0),
        counts=counts,
    )


def documents(
    blocks: Iterable[tuple[TokenizedBlock, bool]],
) -> Iterator[tuple[NDArray, NDArray[np.int64]]]:
    """Puts the documents of blocks together.

    Args:
        blocks: tokenized blocks in order, each with whether a file ends behind it.

    Yields:
        tokens [T] and the lengths of the sentences, int64 [n], of each document that has one.
    """
    tokens: list[NDArray] = []
    lengths: list[NDArray[np.int64]] = []

    def document() -> Iterator[tuple[NDArray, NDArray[np.int64]]]:
        if lengths:
            yield np.concatenate(tokens), np.concatenate(lengths)
            tokens.clear()
            lengths.clear()

    for block, ends_file in blocks:
        starts = np.flatnonzero(block.starts_document)
        token_at = np.concatenate([[0], np.cumsum(block.lengths)])
        bounds = [0, *starts.tolist(), len(block.lengths)]
        for number, (first, end) in enumerate(itertools.pairwise(bounds)):
            if number > 0:
                yield from document()
            if end > first:
                tokens.append(block.tokens[token_at[first] : token_at[end]])
                lengths.append(block.lengths[first:end])
        if block.ends_document or ends_file:
            yield from document()


def _invalid_bytes(text: bytes) -> int:
    """How many bytes are not part of a UTF-8 character."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return len(text) - len(text.decode("utf-8", "ignore").encode("utf-8"))
    return 0


def _split_long(
    lengths: NDArray[np.int64], starts_document: NDArray[np.bool_], most: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Lengths [250], 100 at most -> [100, 100, 50]; only the first piece may start a document."""
    pieces = -(-lengths // most)
    is_last = np.zeros(int(pieces.sum()), bool)
    is_last[np.cumsum(pieces) - 1] = True
    is_first = np.roll(is_last, 1)
    result = np.full(len(is_last), most, np.int64)
    result[is_last] = lengths - (pieces - 1) * most
    starts = np.zeros(len(is_last), bool)
    starts[is_first] = starts_document
    return result, starts
