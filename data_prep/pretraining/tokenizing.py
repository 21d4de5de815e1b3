"""Blocks of text -> token ids with sentence and document boundaries."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from data_prep.pretraining.token_store import token_dtype
from data_prep.text.corpus import Block, invalid_bytes
from data_prep.text.segmenters import Segmenter
from official_bert.text import masking
from official_bert.text.vocab import Vocab


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


class BlockTokenizer:
    """Tokenizes the lines of blocks.

    Args:
        vocab: the vocabulary.
        lower_case: lower-case the text and strip accents.
        max_sentence: cut sentences into pieces of at most so many tokens; None leaves them whole.
        segmenter: tells where words begin in a script that is written without spaces; None where
            the vocabulary tells by "##".
    """

    def __init__(
        self,
        vocab: Vocab,
        *,
        lower_case: bool,
        max_sentence: int | None = None,
        segmenter: Segmenter | None = None,
    ) -> None:
        from official_bert.text.tokenizer import BertTokenizer  # TensorFlow comes with it.

        self._tokenizer = BertTokenizer(vocab, lower_case=lower_case)
        self._unk_id = vocab.unk_id
        self._continues = masking.continuations(vocab.tokens)
        self._max_sentence = max_sentence
        self._segmenter = segmenter

    def __call__(self, block: Block) -> TokenizedBlock:
        """The sentences of a block."""
        lines = block.text.split(b"\n")
        if not lines[-1]:
            lines.pop()  # What follows the last line end is not a line.
        ids, lengths, continues = self._tokens(lines)
        has_tokens = lengths > 0
        boundary = np.zeros(len(lines), bool)
        for i in np.flatnonzero(~has_tokens):
            # A line of invisible characters or invalid bytes is not an empty one. Whitespace is
            # what Python strips.
            boundary[i] = not lines[i].decode("utf-8", "replace").strip()
        boundaries_before = np.cumsum(boundary)[has_tokens]
        starts_document = np.diff(boundaries_before, prepend=0) > 0
        total = int(boundary.sum())
        counts = Counter(
            sentences=int(has_tokens.sum()),
            tokens=len(ids),
            unknown_tokens=int((ids == self._unk_id).sum()),
            lines_without_token=len(lines) - int(has_tokens.sum()) - total,
            invalid_utf8_bytes=invalid_bytes(block),
        )
        lengths = lengths[has_tokens]
        if self._max_sentence is not None:
            lengths, starts_document = _split_long(lengths, starts_document, self._max_sentence)
        return TokenizedBlock(
            tokens=(ids * 2 + continues).astype(token_dtype(len(self._continues))),
            lengths=lengths,
            starts_document=starts_document,
            ends_document=total > (int(boundaries_before[-1]) if len(boundaries_before) else 0),
            counts=counts,
        )

    def _tokens(
        self, lines: list[bytes]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Ids of all lines in a row, how many each line has, whether each continues a word."""
        if self._segmenter is None:
            ragged = self._tokenizer.tokenize(lines)
            ids = ragged.flat_values.numpy()
            continues = self._continues[ids]
        else:
            ragged, starts, _ = self._tokenizer.tokenize_with_offsets(lines)
            ids = ragged.flat_values.numpy()
            within = [
                self._segmenter.within_words(line, line_starts)
                for line, line_starts in zip(
                    lines,
                    np.split(starts.flat_values.numpy(), ragged.row_splits[1:-1]),
                    strict=True,
                )
            ]
            continues = self._continues[ids] | np.concatenate([*within, np.zeros(0, bool)])
        return ids, ragged.row_lengths().numpy().astype(np.int64), continues


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
