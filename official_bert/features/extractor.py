"""Texts -> hidden states of their pieces, words and wholes (Devlin et al. 2019, section 5.3).

S sequence, T tokens of a text with [CLS] and [SEP], W words, H width of the features.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from official_bert.checkpoints.load import Pretrained
from official_bert.errors import InputError, shown
from official_bert.features.windows import best_windows, overlapping_windows
from official_bert.models.states import all_states, check_choice, chosen_states

# Words are separated by what the tokenizer treats as white space.
_WORD = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")

Vectors = dict[str, np.ndarray]

# Of the vectors of one text.
MOST_BYTES = 1 << 30


@dataclasses.dataclass
class TextFeatures:
    """The features of one text, or of a pair.

    Attributes:
        tokens: its pieces, with [CLS] in front and [SEP] behind each part.
        ids: int64 [T].
        words: the text between white space.
        word_ids: int64 [T - 2], the word of each piece between the first [CLS] and the last [SEP];
            -1 for a [SEP].
        token_vectors: layer -> float32 [T, H].
    """

    tokens: list[str]
    ids: np.ndarray
    words: list[str]
    word_ids: np.ndarray
    token_vectors: Vectors

    @functools.cached_property
    def word_vectors(self) -> Vectors:
        """layer -> float32 [W, H], the mean of the word's pieces; 0 without pieces."""
        return {
            name: _mean_by_word(values[1:-1], self.word_ids, len(self.words))
            for name, values in self.token_vectors.items()
        }

    def pooled(self, kind: str) -> Vectors:
        """One vector of the text for each layer: layer -> float32 [H].

        Args:
            kind: "cls", the vector of [CLS], of a long text that of its first window; or "mean",
                that of all tokens, [CLS] and [SEP] among them.
        """
        tokens = self.token_vectors.items()
        if kind == "cls":
            return {name: vectors[0] for name, vectors in tokens}
        return {name: vectors.mean(axis=0) for name, vectors in tokens}


@dataclasses.dataclass(frozen=True)
class _Encoded:
    """A text between its first [CLS] and its last [SEP]; a pair has a [SEP] within."""

    ids: np.ndarray
    type_ids: np.ndarray
    words: list[str]
    # The word of each piece; -1 for [SEP].
    word_ids: np.ndarray


class FeatureExtractor:
    """Hidden states of texts of any length.

    A text that is longer than S is read in overlapping windows, and each of its tokens is taken
    from the window in which it has most context on both sides.

    Args:
        bundle: a loaded checkpoint.
        layers: names as `states.chosen_states` has them.
        max_seq_length: S, tokens of a window with [CLS] and [SEP]; None: the most of the model.
        stride: from window to window, in tokens; None: half a window.
        batch_size: windows that are computed together.

    Raises:
        InputError: no vocabulary, or the model has no such layer, or not that length.
    """

    def __init__(
        self,
        bundle: Pretrained,
        layers: Sequence[str],
        *,
        max_seq_length: int | None = None,
        stride: int | None = None,
        batch_size: int = 32,
    ):
        if bundle.tokenizer is None or bundle.vocab is None:
            raise InputError(f"{bundle.path} has no vocabulary: put its vocab.txt into the folder")
        for name in layers:
            check_choice(name, bundle.config.num_hidden_layers)
        most = bundle.config.max_position_embeddings
        length = most if max_seq_length is None else max_seq_length
        if not 3 <= length <= most:
            raise InputError(
                f"max_seq_length is {length}: it must be from 3 to the model's "
                f"max_position_embeddings {most}"
            )
        self._room = length - 2
        self._stride = max(1, self._room // 2) if stride is None else stride
        if not 1 <= self._stride <= self._room:
            raise InputError(
                f"stride is {stride}: it must be from 1 to {self._room}, the tokens of a window"
            )
        self._vocab, self._tokenizer = bundle.vocab, bundle.tokenizer
        self._batch_size = batch_size
        encoder = bundle.encoder
        # The widest choice of layers is four side by side.
        width = sum(4 if name == "concat_last_four" else 1 for name in layers)
        self._most_tokens = MOST_BYTES // (4 * width * bundle.config.hidden_size)

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 3, autograph=False)
        def compute(ids: tf.Tensor, mask: tf.Tensor, types: tf.Tensor) -> dict[str, tf.Tensor]:
            inputs = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": types}
            states = all_states(encoder, inputs)
            return {name: tf.cast(chosen_states(states, name), tf.float32) for name in layers}

        self._compute = compute

    def __call__(self, texts: Sequence[Sequence[str]]) -> list[TextFeatures]:
        """The features of texts, each given as its one or two parts.

        Raises:
            InputError: the vectors of a text would take more than a gibibyte.
        """
        encoded = self._encode(texts)
        for text, parts in zip(encoded, texts, strict=True):
            if len(text.ids) > self._most_tokens:
                raise InputError(
                    f"the text {shown(parts[0])} has {len(text.ids):,} tokens; with these layers "
                    f"at most {self._most_tokens:,} fit into memory: split it into lines"
                )
        windows = [overlapping_windows(len(text.ids), self._room, self._stride) for text in encoded]
        best = [
            best_windows(len(text.ids), of_text)
            for text, of_text in zip(encoded, windows, strict=True)
        ]
        jobs = [
            (row, number) for row, of_text in enumerate(windows) for number in range(len(of_text))
        ]
        # Windows of about one length together: little padding.
        jobs.sort(key=lambda job: np.subtract(*windows[job[0]][job[1]]))
        collected: list[Vectors] = [{} for _ in encoded]
        for first in range(0, len(jobs), self._batch_size):
            batch = jobs[first : first + self._batch_size]
            outputs = self._run([self._window(encoded[row], *windows[row][n]) for row, n in batch])
            for index, (row, number) in enumerate(batch):
                taken, columns = _taken(best[row], number, windows[row])
                for name, states in outputs.items():
                    if name not in collected[row]:
                        shape = (len(encoded[row].ids) + 2, states.shape[-1])
                        collected[row][name] = np.empty(shape, np.float32)
                    collected[row][name][taken] = states[index, columns]
        return [
            self._features(text, vectors) for text, vectors in zip(encoded, collected, strict=True)
        ]

    def _encode(self, texts: Sequence[Sequence[str]]) -> list[_Encoded]:
        parts = [part for text in texts for part in text]
        ids, starts, _ = self._tokenizer.tokenize_with_offsets(tf.constant(parts, tf.string))
        splits = ids.row_splits.numpy()
        all_ids, all_starts = ids.values.numpy().astype(np.int64), starts.values.numpy()
        encoded = []
        index = 0
        for text in texts:
            columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
            words: list[str] = []
            for number, part in enumerate(text):
                first, last = splits[index], splits[index + 1]
                index += 1
                if number:
                    columns.append(
                        (np.array([self._vocab.sep_id]), np.array([number - 1]), np.array([-1]))
                    )
                of_part, word_ids = _words(part, all_starts[first:last])
                types = np.full(last - first, number)
                columns.append((all_ids[first:last], types, word_ids + len(words)))
                words += of_part
            ids_, types_, word_ids_ = (
                np.concatenate(column) for column in zip(*columns, strict=True)
            )
            encoded.append(_Encoded(ids_, types_, words, word_ids_))
        return encoded

    def _window(self, text: _Encoded, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and type ids of [CLS] window [SEP]."""
        types = text.type_ids[start:end]
        ids = np.concatenate([[self._vocab.cls_id], text.ids[start:end], [self._vocab.sep_id]])
        return ids, np.concatenate([[0], types, types[-1:] if len(types) else [0]])

    def _run(self, rows: list[tuple[np.ndarray, np.ndarray]]) -> Vectors:
        width = max(len(ids) for ids, _ in rows)
        ids = np.full((len(rows), width), self._vocab.pad_id, np.int32)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, (row_ids, row_types) in enumerate(rows):
            ids[row, : len(row_ids)] = row_ids
            types[row, : len(row_ids)] = row_types
            mask[row, : len(row_ids)] = 1
        return {name: value.numpy() for name, value in self._compute(ids, mask, types).items()}

    def _features(self, text: _Encoded, vectors: Vectors) -> TextFeatures:
        ids = np.concatenate([[self._vocab.cls_id], text.ids, [self._vocab.sep_id]])
        return TextFeatures(
            tokens=[self._vocab.tokens[id_] for id_ in ids.tolist()],
            ids=ids,
            words=text.words,
            word_ids=text.word_ids,
            token_vectors=vectors,
        )


def _taken(
    best: np.ndarray, number: int, windows: list[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the T tokens are taken from a window, and their positions in its row."""
    start, end = windows[number]
    chosen = np.flatnonzero(best == number)
    taken, columns = chosen + 1, chosen - start + 1
    if number == 0:
        taken, columns = np.append(taken, 0), np.append(columns, 0)
    if number == len(windows) - 1:
        taken, columns = np.append(taken, len(best) + 1), np.append(columns, end - start + 1)
    return taken, columns


def _words(text: str, piece_starts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The words of a text, separated by white space, and the word of each piece (int64).

    Args:
        text: the text.
        piece_starts: where each piece begins, in bytes of the text.
    """
    matches = list(_WORD.finditer(text))
    starts = np.array([match.start() for match in matches], np.int64)
    if not text.isascii():
        sizes = [len(character.encode()) for character in text]
        starts = np.cumsum([0, *sizes])[starts]
    word_ids = np.searchsorted(starts, piece_starts, side="right") - 1
    return [match.group() for match in matches], word_ids


def _mean_by_word(vectors: np.ndarray, word_ids: np.ndarray, count: int) -> np.ndarray:
    """The mean of each word's rows: [pieces, H] -> [W, H]."""
    inside = word_ids >= 0
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(sums, word_ids[inside], vectors[inside])
    pieces = np.bincount(word_ids[inside], minlength=count)
    return sums / np.maximum(pieces, 1)[:, np.newaxis].astype(np.float32)
