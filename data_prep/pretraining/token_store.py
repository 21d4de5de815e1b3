"""A tokenised corpus on disk, for random access with little memory.

Three kinds of flat little-endian files in one folder:

    tokens.bin             every token: 2 * id + 1 if it continues the word before it, else 2 * id;
                           uint16, or uint32 for vocabularies above 32,768 entries
    sentences.bin          int64: 0, then where each sentence ends in tokens.bin
    documents-SPLIT.bin    int64 triples: the document's number in the corpus, its first sentence,
                           the sentence after its last

Reads go through `pread`, not through a memory map, whose touched pages would count as memory of
the process and grow with the corpus.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

TOKENS_NAME = "tokens.bin"
SENTENCES_NAME = "sentences.bin"
_SMALL_VOCABULARY = 1 << 15


def documents_name(split: str) -> str:
    """File name of the split's documents."""
    return f"documents-{split}.bin"


def token_dtype(vocab_size: int) -> np.dtype:
    """The smallest type that holds `2 * id + 1` of every id."""
    return np.dtype("<u2") if vocab_size <= _SMALL_VOCABULARY else np.dtype("<u4")


class Ranges(Protocol):
    """An array of which ranges can be read, as `FlatFile` does."""

    def gather(self, starts: Sequence[int], lengths: Sequence[int]) -> NDArray:
        """Ranges of elements, one behind the other."""


class FlatFile:
    """An array on disk of which ranges are read.

    Args:
        path: the file.
        dtype: of an element.
    """

    def __init__(self, path: str | os.PathLike[str], dtype: np.dtype) -> None:
        self._dtype = np.dtype(dtype)
        self._descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size // self._dtype.itemsize

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def read(self, start: int, stop: int) -> NDArray:
        """Elements [start, stop)."""
        return self.gather([start], [stop - start])

    def gather(self, starts: Sequence[int], lengths: Sequence[int]) -> NDArray:
        """Ranges of elements, one behind the other: [sum(lengths)]."""
        width = self._dtype.itemsize
        buffer = np.empty(int(np.sum(lengths)), self._dtype)
        if len(buffer) == 0:
            return buffer
        view = buffer.view(np.uint8).data
        at = 0
        for start, length in zip(starts, lengths, strict=True):
            size = length * width
            # One call reads at most 2 GiB, and fewer if a signal comes between.
            done = os.preadv(self._descriptor, [view[at : at + size]], start * width)
            while done < size:
                more = os.preadv(
                    self._descriptor, [view[at + done : at + size]], start * width + done
                )
                if more == 0:
                    raise EOFError(f"element {start + length} is behind the end ({self.size})")
                done += more
            at += size
        return buffer


class Store:
    """Reads a tokenised corpus.

    Args:
        folder: where the files are.
        vocab_size: V, which decides how wide a token is.
        split: whose documents to read.
    """

    def __init__(self, folder: pathlib.Path, vocab_size: int, split: str) -> None:
        self.tokens = FlatFile(folder / TOKENS_NAME, token_dtype(vocab_size))
        self.sentences = FlatFile(folder / SENTENCES_NAME, np.dtype("<i8"))
        self._documents = FlatFile(folder / documents_name(split), np.dtype("<i8"))
        self.num_documents = self._documents.size // 3

    def close(self) -> None:
        """Closes the files."""
        for file in (self.tokens, self.sentences, self._documents):
            file.close()

    def documents(self, start: int, stop: int) -> NDArray[np.int64]:
        """int64 [stop - start, 3]: number, first sentence, sentence after the last."""
        return self._documents.read(3 * start, 3 * stop).reshape(-1, 3)

    def documents_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 [n, 3] of documents anywhere."""
        starts = (3 * indices).tolist()
        return self._documents.gather(starts, [3] * len(starts)).reshape(-1, 3)


class StoreWriter:
    """Appends to a tokenised corpus; what was appended up to a `state()` survives a killed process.

    Args:
        folder: where the files go.
        vocab_size: V, which decides how wide a token is.
        splits: names of the splits.
        split_of: int64 [D] document numbers -> int64 [D] indices into `splits`.
        state: what `state()` gave, to go on from there; None to begin anew.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        vocab_size: int,
        splits: Sequence[str],
        split_of: Callable[[NDArray[np.int64]], NDArray],
        state: dict[str, Any] | None = None,
    ) -> None:
        names = [TOKENS_NAME, SENTENCES_NAME, *map(documents_name, splits)]
        self._dtype = token_dtype(vocab_size)
        self._split_of = split_of
        sizes = state["sizes"] if state else dict.fromkeys(names, 0)
        self._files = {}
        for name in names:
            file = open(folder / name, "r+b" if state else "w+b")  # noqa: SIM115
            file.truncate(sizes[name])
            file.seek(sizes[name])
            self._files[name] = file
        self._documents = [self._files[documents_name(split)] for split in splits]
        self.num_tokens = state["num_tokens"] if state else 0
        self.num_sentences = state["num_sentences"] if state else 0
        self.num_documents = state["num_documents"] if state else 0
        self._open_since = state["open_since"] if state else 0
        if not state:
            self._files[SENTENCES_NAME].write(np.zeros(1, "<i8").tobytes())

    def append(
        self, tokens: NDArray, lengths: NDArray[np.int64], starts_document: NDArray[np.bool_]
    ) -> None:
        """Appends sentences.

        Args:
            tokens: [sum(lengths)], already coded as in tokens.bin.
            lengths: int64 [n], tokens of each sentence, none of them 0.
            starts_document: bool [n], whether a document boundary comes before the sentence.
        """
        self._files[TOKENS_NAME].write(tokens.astype(self._dtype, copy=False).tobytes())
        ends = self.num_tokens + np.cumsum(lengths)
        self._files[SENTENCES_NAME].write(ends.astype("<i8").tobytes())
        boundaries = self.num_sentences + np.flatnonzero(starts_document)
        self._close_documents(boundaries)
        self.num_tokens += int(lengths.sum())
        self.num_sentences += len(lengths)

    def end_document(self) -> None:
        """Ends the open document, if it has a sentence."""
        self._close_documents(np.array([self.num_sentences], np.int64))

    def _close_documents(self, boundaries: NDArray[np.int64]) -> None:
        first = np.concatenate([[self._open_since], boundaries])
        first, end = first[:-1], first[1:]
        whole = end > first
        first, end = first[whole], end[whole]
        if len(boundaries):
            self._open_since = int(boundaries[-1])
        numbers = self.num_documents + np.arange(len(first))
        self.num_documents += len(first)
        split = self._split_of(numbers)
        for index, file in enumerate(self._documents):
            rows = np.stack([numbers, first, end], axis=1)[split == index]
            file.write(rows.astype("<i8").tobytes())

    def state(self) -> dict[str, Any]:
        """Writes everything through to the disk and says where the files end now."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        return {
            "sizes": {name: file.tell() for name, file in self._files.items()},
            "num_tokens": self.num_tokens,
            "num_sentences": self.num_sentences,
            "num_documents": self.num_documents,
            "open_since": self._open_since,
        }

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()
