"""What is in records of pretraining data: instances to read, and statistics."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from official_bert.data import records
from official_bert.errors import InputError
from official_bert.path import to_path
from official_bert.text.vocab import Vocab

_BATCH = 1000


@dataclasses.dataclass(frozen=True)
class Record:
    """A record without its padding; names as in `official_bert/data/records.py`.

    Attributes:
        ids, types: [S] tokens and segments.
        positions, labels: [P] predictions; empty where there are no masks.
        next_labels: [N], 1 for a random second segment; empty where there are no pairs.
        starts: [N], where each packed instance begins; (0,) where they are not packed.
        stored_length: tokens with padding.
    """

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    positions: NDArray[np.int64]
    labels: NDArray[np.int64]
    next_labels: NDArray[np.int64]
    starts: NDArray[np.int64]
    stored_length: int


def read_records(paths: Sequence[str]) -> Iterator[Record]:
    """The records of TFRecord files, padded or not, with either set of names.

    Raises:
        InputError: a file is broken, or its records are no pretraining data.
    """
    import tensorflow as tf

    for path in paths:
        dataset = tf.data.TFRecordDataset(path, "GZIP" if path.endswith(".gz") else "")
        serialized = dataset.as_numpy_iterator()
        number = 0
        broken = ""
        while not broken:
            batch: list[bytes] = []
            try:
                batch.extend(itertools.islice(serialized, _BATCH))
            except tf.errors.OpError as error:
                broken = re.sub(r"\{\{.*?\}\}|\[Op:.*", "", error.message).strip()
            if batch:
                yield from _parse(path, batch)
            elif not broken:
                break
            number += len(batch)
        if broken:
            raise InputError(f"{path} is broken behind record {number}: {broken}; make it again")


def _parse(path: str, serialized: list[bytes]) -> Iterator[Record]:
    import tensorflow as tf

    try:
        names = set(tf.train.Example.FromString(serialized[0]).features.feature)
        present = records.present_features("pretraining", names)
        parsed = tf.io.parse_example(serialized, records.parsing_spec(present))
    except (InputError, tf.errors.InvalidArgumentError) as error:
        raise InputError(f"{path}: {error}") from error
    return _unbatch(records.rename(parsed, present), len(serialized))


def _unbatch(batch: dict[str, Any], size: int) -> Iterator[Record]:
    def rows(name: str, default: int | None = None) -> list[NDArray[np.int64]]:
        if name not in batch:
            row = np.zeros(0, np.int64) if default is None else np.array([default])
            return [row] * size
        return np.split(batch[name].values.numpy(), batch[name].row_splits.numpy()[1:-1])

    for ids, mask, types, positions, labels, weights, next_labels, starts in zip(
        rows("input_word_ids"),
        rows("input_mask"),
        rows("input_type_ids"),
        rows("masked_lm_positions"),
        rows("masked_lm_ids"),
        rows("masked_lm_weights"),
        rows("next_sentence_labels"),
        rows("cls_positions", 0),
        strict=True,
    ):
        used, predicted = mask > 0, weights > 0
        yield Record(
            ids[used],
            types[used],
            positions[predicted],
            labels[predicted],
            next_labels,
            starts,
            len(ids),
        )


def to_text(record: Record, vocab: Vocab) -> list[str]:
    """A line for each instance: pieces joined to words, predictions as (label > what stands there).

    `random: [CLS] the man (went > [MASK]) to the store [SEP] penguins are flight ##less [SEP]`
    """
    tokens = [_token(i, vocab) for i in record.ids]
    for position, label in zip(record.positions, record.labels, strict=True):
        tokens[position] = f"({_token(label, vocab)} > {tokens[position]})"
    kinds = [("next: ", "random: ")[label] for label in record.next_labels] or [""] * len(
        record.starts
    )
    parts = np.split(np.array(tokens, object), record.starts[1:])
    return [kind + " ".join(part) for kind, part in zip(kinds, parts, strict=True)]


def _token(number: int, vocab: Vocab) -> str:
    return vocab.tokens[number] if number < len(vocab) else f"<{number}>"


class Statistics:
    """Sums over records.

    Args:
        vocab: of the records.

    Attributes:
        lengths: tokens of each record -> how many.
        counts: "records", "instances", "tokens", "padding", "unknown", "predictions", "masked",
            "random", "kept", "special" (predictions of special tokens: there should be none),
            "pairs", "random_next".
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._specials = (vocab.pad_id, vocab.cls_id, vocab.sep_id)
        self.lengths: Counter[int] = Counter()
        self.counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Counts a record."""
        now = record.ids[record.positions]
        is_mask, is_kept = now == self._vocab.mask_id, now == record.labels
        self.lengths[len(record.ids)] += 1
        self.counts.update(
            records=1,
            instances=len(record.starts),
            tokens=len(record.ids),
            padding=record.stored_length - len(record.ids),
            unknown=int((record.ids == self._vocab.unk_id).sum()),
            predictions=len(now),
            masked=int(is_mask.sum()),
            kept=int((is_kept & ~is_mask).sum()),
            random=int((~is_kept & ~is_mask).sum()),
            special=int(np.isin(record.labels, self._specials).sum()),
            pairs=len(record.next_labels),
            random_next=int(record.next_labels.sum()),
        )

    def lines(self, max_seq_length: int | None) -> list[str]:
        """The statistics to read.

        Args:
            max_seq_length: L, for the share of padding at full length; None for the longest seen.
        """
        counts = self.counts
        values = np.array(sorted(self.lengths.elements()))
        full = max_seq_length or int(values[-1])
        lines = [
            f"{counts['records']:,} records, {counts['instances']:,} instances, "
            f"{counts['tokens']:,} tokens",
            f"length: {values[0]} to {values[-1]}, mean {values.mean():.1f}, "
            f"median {np.median(values):.0f}",
            f"padding: {_percent(counts['padding'], counts['padding'] + counts['tokens'])} in the "
            f"files, {100 * (1 - values.mean() / full):.2f} % at length {full}",
            f"[UNK]: {_percent(counts['unknown'], counts['tokens'])}",
        ]
        if counts["pairs"]:
            lines.append(f"random next: {_percent(counts['random_next'], counts['pairs'])}")
        if counts["predictions"]:
            of = counts["predictions"]
            lines.append(
                f"predicted: {_percent(of, counts['tokens'])} of the tokens; of these "
                f"{_percent(counts['masked'], of)} [MASK], {_percent(counts['random'], of)} "
                f"random, {_percent(counts['kept'], of)} kept; {counts['special']} special tokens"
            )
        return lines

    def plot(self, path: str) -> None:
        """Draws the histogram of lengths."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(8, 4))
        longest = max(self.lengths)
        axes.hist(
            list(self.lengths),
            bins=min(longest + 1, 64),
            weights=list(self.lengths.values()),
            range=(0, longest + 1),
        )
        axes.set_xlabel("tokens of a record")
        axes.set_ylabel("records")
        figure.tight_layout()
        figure.savefig(path)
        pyplot.close(figure)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "0 %"


def expand(names: Sequence[str]) -> list[str]:
    """Names of TFRecord files, and folders of them -> files.

    Raises:
        InputError: a name is missing, or a folder has no such file.
    """
    paths = []
    for name in names:
        path = to_path(name)
        if path.is_dir():
            found = sorted(str(entry) for entry in path.iterdir() if ".tfrecord" in entry.name)
            if not found:
                raise InputError(f"{name} has no .tfrecord file: give prepared data")
            paths += found
        elif path.exists():
            paths.append(name)
        else:
            raise InputError(f"{name} does not exist: give a TFRecord file or a folder of them")
    return paths
