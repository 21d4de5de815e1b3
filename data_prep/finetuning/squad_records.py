"""Questions and contexts -> windows with the place of the answer.

W windows of a batch, S their sequence.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data_prep.finetuning.answer_spans import TokenSpan, find_answer, to_tokens
from data_prep.finetuning.base import Example, Record
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.windows import WindowRule, Windows, cut_windows

# google-research/bert's.
_FIRST_UNIQUE_ID = 1_000_000_000
# Examples whose windows are in memory at a time: so many, or contexts of so many characters.
EXAMPLES_AT_ONCE = 256
CHARS_AT_ONCE = 1_000_000


class _Tokens(NamedTuple):
    """The tokens of one context; starts and ends int64 [T]: bytes [start, end)."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class WindowMaker:
    """Makes the records of one split and lists the answers that are at fault.

    Args:
        tokenizer: with the checkpoint's settings.
        vocab: for the special ids.
        rule: how contexts are cut.
        for_training: whether records have the place of the answer; then a question whose answer is
            not in its context is skipped.

    Attributes:
        listed: the ids of the questions, in order, whose answer is "moved" (found near the place
            that the file says), "within_a_word" (begins or ends in the middle of a token, all of
            which is taken), "not_found" (left out in training) or, in training, "in_no_window"
            (longer than a window).
        found_if_normalized: how many answers that were not found are in their context once both
            are in the normal form NFC.
    """

    def __init__(
        self, tokenizer: BertTokenizer, vocab: Vocab, rule: WindowRule, *, for_training: bool
    ) -> None:
        self._tokenizer = tokenizer
        self._vocab = vocab
        self._rule = rule
        self._for_training = for_training
        self._windows_made = 0
        self.found_if_normalized = 0
        self.listed: dict[str, list[str]] = {
            "moved": [],
            "within_a_word": [],
            "not_found": [],
            "in_no_window": [],
        }

    def records(self, rows: Iterable[Example]) -> Iterator[Record]:
        """The windows of each question, question behind question; features of data/records.py.

        Args:
            rows: as from `squad_files.read_squad`.
        """
        first = 0
        for batch in _batches(rows):
            yield from self._batch_records(batch, first)
            first += len(batch)

    def _batch_records(self, rows: list[Example], first_index: int) -> Iterator[Record]:
        contexts = list(dict.fromkeys(row["context"] for row in rows))
        tokens = dict(zip(contexts, self._tokenize(contexts), strict=True))
        spans = [self._span(row, tokens[row["context"]]) for row in rows]
        kept = [
            number
            for number, (row, span) in enumerate(zip(rows, spans, strict=True))
            if span is not None or row["is_impossible"] or not self._for_training
        ]
        if not kept:
            return
        windows = self._cut([rows[number] for number in kept], tokens)
        of_question = windows.rows.numpy()
        answered = np.zeros(len(kept), bool)
        for window, fields in enumerate(self._fields(windows)):
            row = kept[of_question[window]]
            span = spans[row]
            of_context = tokens[rows[row]["context"]]
            record = _record(fields, of_context)
            record["unique_ids"] = _one(_FIRST_UNIQUE_ID + self._windows_made)
            record["example_index"] = _one(first_index + row)
            if self._for_training:
                start, end = _positions(fields["context_tokens"], span)
                record["start_positions"], record["end_positions"] = _one(start), _one(end)
                record["is_impossible"] = _one(end == 0)
                answered[of_question[window]] |= end > 0
            self._windows_made += 1
            yield record
        if self._for_training:
            self.listed["in_no_window"] += [
                rows[row]["id"]
                for number, row in enumerate(kept)
                if spans[row] is not None and not answered[number]
            ]

    def _tokenize(self, texts: list[str]) -> Iterator[_Tokens]:
        ids, starts, ends = self._tokenizer.tokenize_with_offsets(texts)
        splits = ids.row_splits.numpy()
        arrays = [
            ids.values.numpy(),
            starts.values.numpy().astype(np.int64),
            ends.values.numpy().astype(np.int64),
        ]
        for start, end in itertools.pairwise(splits):
            yield _Tokens(*(array[start:end] for array in arrays))

    def _span(self, row: Example, tokens: _Tokens) -> TokenSpan | None:
        """The span of the first answer that is in the context; None for no answer."""
        if not row["answers"] and (row["is_impossible"] or not self._for_training):
            return None
        for answer in row["answers"]:
            in_text = find_answer(row["context"], answer["text"], answer["answer_start"])
            if in_text is None:
                continue
            span = to_tokens(row["context"], in_text, tokens.starts, tokens.ends)
            if span is None:
                continue
            if in_text.moved:
                self.listed["moved"].append(row["id"])
            if not span.exact:
                self.listed["within_a_word"].append(row["id"])
            return span
        self.listed["not_found"].append(row["id"])
        context = unicodedata.normalize("NFC", row["context"])
        texts = [answer["text"].strip() for answer in row["answers"]]
        self.found_if_normalized += any(
            unicodedata.normalize("NFC", text) in context and text not in row["context"]
            for text in texts
        )
        return None

    def _cut(self, rows: list[Example], tokens: dict[str, _Tokens]) -> Windows:
        import tensorflow as tf

        of_context = [tokens[row["context"]].ids for row in rows]
        return cut_windows(
            self._tokenizer.tokenize([row["question"] for row in rows]),
            tf.RaggedTensor.from_row_lengths(
                np.concatenate(of_context), [len(ids) for ids in of_context]
            ),
            self._vocab,
            self._rule,
        )

    def _fields(self, windows: Windows) -> Iterator[dict[str, NDArray[Any]]]:
        """What each window has at its tokens, without padding."""
        arrays = {name: tensor.numpy() for name, tensor in windows.inputs.items()}
        arrays["context_tokens"] = windows.context_tokens.numpy()
        arrays["is_max_context"] = windows.is_max_context.numpy()
        for number, length in enumerate(windows.lengths.numpy()):
            yield {name: array[number, :length] for name, array in arrays.items()}


def _batches(rows: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    size = 0
    for row in rows:
        if batch and (len(batch) == EXAMPLES_AT_ONCE or size + len(row["context"]) > CHARS_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row["context"])
    if batch:
        yield batch


def _record(fields: dict[str, NDArray[Any]], tokens: _Tokens) -> Record:
    """What does not depend on the answer."""
    context_tokens = fields["context_tokens"]
    in_context = context_tokens >= 0
    paragraph_mask = in_context.astype(np.int64)
    # [CLS] stands for "no answer", so it may be the answer as well.
    paragraph_mask[0] = 1
    starts, ends = np.full((2, len(context_tokens)), -1, np.int64)
    starts[in_context] = tokens.starts[context_tokens[in_context]]
    ends[in_context] = tokens.ends[context_tokens[in_context]]
    return {
        "input_ids": fields["input_word_ids"].astype(np.int64),
        "input_mask": fields["input_mask"].astype(np.int64),
        "segment_ids": fields["input_type_ids"].astype(np.int64),
        "paragraph_mask": paragraph_mask,
        "class_index": _one(0),
        "max_context_mask": fields["is_max_context"].astype(np.int64),
        "token_starts": starts,
        "token_limits": ends,
    }


def _positions(context_tokens: NDArray[np.int64], span: TokenSpan | None) -> tuple[int, int]:
    """First and last token of the answer in the window; both 0, [CLS], if it is not all there."""
    if span is None:
        return 0, 0
    first = np.flatnonzero(context_tokens == span.start)
    last = np.flatnonzero(context_tokens == span.end - 1)
    return (int(first[0]), int(last[0])) if len(first) and len(last) else (0, 0)


def _one(value: int | bool) -> NDArray[np.int64]:
    return np.array([value], np.int64)
