"""Tagged sentences -> records: pieces, a label on the first piece of each word, windows, context.

S tokens of a record, N words.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from data_prep.finetuning.base import Example, Record
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.word_windows import clause_end_ids, word_windows

IGNORED = -1


@dataclasses.dataclass(frozen=True)
class Pieces:
    """The word pieces of some sentences, and how these are cut into windows.

    Attributes:
        ids: int64, of all words in a row.
        splits: int64 [N + 1], where the pieces of each word begin and end.
        windows: int64 [K, 3]: sentence, first word and the word behind the last, among all N.
        sentence_starts: int64, the first word of each sentence.
        unknown: words without a piece, which get [UNK].
        cut: words with more pieces than a record has room for; the first ones stay.
    """

    ids: np.ndarray
    splits: np.ndarray
    windows: np.ndarray
    sentence_starts: np.ndarray
    unknown: int
    cut: int


class TaggingConverter:
    """Sentences -> the features of tagging records.

    Args:
        tokenizer, vocab: of the prepared data.
        labels: in id order.
        max_seq_length: S of the longest record.
        document_context: whether the room that a window leaves is filled with what stands around
            it (Devlin et al. 2019, section 5.3: "the maximal document context").
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        vocab: Vocab,
        labels: Sequence[str],
        max_seq_length: int,
        document_context: bool,
    ):
        self._vocab = vocab
        self._label_ids = {label: number for number, label in enumerate(labels)}
        self._room = max_seq_length - 2  # [CLS] and [SEP]
        self._document_context = document_context
        self._tokenizer = tokenizer
        self._clause_ends = clause_end_ids(vocab)

    def pieces(self, sentences: Sequence[Sequence[str]]) -> Pieces:
        """The pieces and windows of sentences, each a list of words."""
        words = [word for sentence in sentences for word in sentence]
        ragged = self._tokenizer.tokenize(tf.constant(words, tf.string)).with_row_splits_dtype(
            tf.int64
        )
        lengths = ragged.row_lengths()
        unknown = lengths == 0
        filled = tf.concat(
            [
                ragged,
                tf.RaggedTensor.from_row_lengths(
                    tf.fill([tf.math.count_nonzero(unknown, dtype=tf.int32)], self._vocab.unk_id),
                    tf.cast(unknown, tf.int64),
                ),
            ],
            axis=1,
        )[:, : self._room]
        row_splits = np.cumsum([0, *map(len, sentences)])
        rows, starts, ends = word_windows(filled, row_splits, self._room, self._clause_ends)
        return Pieces(
            ids=filled.values.numpy().astype(np.int64),
            splits=filled.row_splits.numpy(),
            windows=np.stack([rows, starts, ends], axis=1),
            sentence_starts=row_splits[:-1],
            unknown=int(np.count_nonzero(unknown)),
            cut=int(np.count_nonzero(lengths > self._room)),
        )

    def records(self, sentences: Sequence[Example], pieces: Pieces) -> Iterator[Record]:
        """The features of each window, sentence by sentence.

        Args:
            sentences: with `sentence_id` and `tags`; a whole document where it is the context.
            pieces: of their words.
        """
        label_ids = np.array(
            [self._label_ids[tag] for sentence in sentences for tag in sentence["tags"]], np.int64
        )
        window_number = 0
        for number, (row, start, end) in enumerate(pieces.windows.tolist()):
            same = number and pieces.windows[number - 1, 0] == row
            window_number = window_number + 1 if same else 0
            yield self._record(
                pieces,
                label_ids,
                start,
                end,
                sentences[row]["sentence_id"],
                window_number,
                start - int(pieces.sentence_starts[row]),
            )

    def _record(
        self,
        pieces: Pieces,
        label_ids: np.ndarray,
        start: int,
        end: int,
        sentence_id: int,
        window_number: int,
        first_word: int,
    ) -> Record:
        first, last = int(pieces.splits[start]), int(pieces.splits[end])
        left, right = self._context(first, last, len(pieces.ids))
        lengths = np.diff(pieces.splits[start : end + 1])
        starts = pieces.splits[start:end] - first
        word_ids = np.repeat(np.arange(first_word, first_word + end - start), lengths)
        labels = np.full(last - first, IGNORED)
        labels[starts] = label_ids[start:end]

        def framed(middle: np.ndarray) -> np.ndarray:
            """The values of the window's pieces, -1 for all around them."""
            return np.concatenate([np.full(left + 1, IGNORED), middle, np.full(right + 1, IGNORED)])

        ids = np.concatenate(
            [[self._vocab.cls_id], pieces.ids[first - left : last + right], [self._vocab.sep_id]]
        )
        return {
            "input_ids": ids,
            "input_mask": np.ones_like(ids),
            "segment_ids": np.zeros_like(ids),
            "label_ids": framed(labels),
            "sentence_id": np.array([sentence_id]),
            "sub_sentence_id": np.array([window_number]),
            "word_ids": framed(word_ids),
        }

    def _context(self, first: int, last: int, count: int) -> tuple[int, int]:
        """How many pieces before and behind a window are its context: half of the room each.

        What one side does not have, the other gets.
        """
        if not self._document_context:
            return 0, 0
        spare = self._room - (last - first)
        left = min(first, max(spare // 2, spare - (count - last)))
        return left, min(count - last, spare - left)
