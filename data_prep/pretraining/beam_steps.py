"""The steps of the Beam pipeline (beam_pipeline.py).

A document is (tokens [T], sentence lengths int64 [n]), tokens coded as in token_store.py. An
instance is ((split, shard), (key, tokens of A, tokens of B, next kind)).
"""

from __future__ import annotations

import dataclasses
import functools
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from numpy.typing import NDArray

from data_prep.pretraining import beam_files, tokenizing
from data_prep.pretraining import instances as pretraining
from data_prep.pretraining.planning import PLAN_DTYPE, sentences_until
from data_prep.pretraining.records import RecordMaker, gather_sequences
from data_prep.pretraining.settings import PretrainingSettings
from data_prep.pretraining.stages import block_tokenizer, key_ranges, record_batches
from data_prep.text.corpus import file_blocks
from official_bert.data.manifest import shard_name
from official_bert.text.vocab import Vocab


@dataclasses.dataclass(frozen=True)
class CorpusIndex:
    """Where the documents of each file stand in the whole corpus.

    Attributes:
        sizes: number of documents of each file.
        first_number: for each file, the number of its first document.
        first_ordinal: for each split and file, how many of the split's documents come before.
        split_sizes: number of documents of each split.
    """

    sizes: list[int]
    first_number: list[int]
    first_ordinal: list[list[int]]
    split_sizes: list[int]

    @classmethod
    def make(cls, counts: dict[int, int], settings: PretrainingSettings) -> CorpusIndex:
        sizes = [counts.get(file, 0) for file in range(len(settings.inputs))]
        first_number = (np.cumsum(sizes) - sizes).tolist()
        per_split = np.zeros((len(settings.splits), len(sizes)), np.int64)
        for file, (first, size) in enumerate(zip(first_number, sizes, strict=True)):
            splits = _splits_of(settings, first, size)
            per_split[:, file] = np.bincount(splits, minlength=len(settings.splits))
        before = np.cumsum(per_split, axis=1) - per_split
        return cls(sizes, first_number, before.tolist(), per_split.sum(axis=1).tolist())


def _splits_of(settings: PretrainingSettings, first: int, size: int) -> NDArray[np.int64]:
    """Which split each of the documents [first, first + size) is in."""
    numbers = np.arange(first, first + size)
    held_out = pretraining.in_held_out_split(settings.seed, numbers, settings.dev_fraction)
    return held_out.astype(np.int64)


class ReadDocuments(beam.DoFn):
    """(file number, path) -> ((file number, number in the file), (tokens, sentence lengths))."""

    def __init__(self, settings: PretrainingSettings, vocab: Vocab) -> None:
        self._settings = settings
        self._vocab = vocab

    def setup(self) -> None:
        self._tokenizer = block_tokenizer(self._settings, self._vocab)

    def process(self, element: tuple[int, str]) -> Iterator[Any]:
        file_number, path = element
        counts: Counter[str] = Counter()
        for number, document in enumerate(tokenizing.documents(self._blocks(path, counts))):
            yield (file_number, number), document
        report = ("text", path, beam_files.sha256(path), dict(counts))
        yield beam.pvalue.TaggedOutput("reports", report)

    def _blocks(
        self, path: str, counts: Counter[str]
    ) -> Iterator[tuple[tokenizing.TokenizedBlock, bool]]:
        with beam_files.open_text(path) as file:
            for block in file_blocks(path, file):
                tokenized = self._tokenizer(block)
                counts.update(tokenized.counts)
                yield tokenized, block.ends_file


class CutDocument(beam.DoFn):
    """A document -> its instances; requests for random second segments; itself, by its number."""

    def __init__(self, settings: PretrainingSettings) -> None:
        self._settings = settings

    def setup(self) -> None:
        @functools.lru_cache(maxsize=4)
        def splits_and_ordinals(first: int, size: int) -> tuple[NDArray, NDArray]:
            splits = _splits_of(self._settings, first, size)
            ordinals = np.zeros(size, np.int64)
            for split in range(len(self._settings.splits)):
                ordinals[splits == split] = np.arange((splits == split).sum())
            return splits, ordinals

        self._splits_and_ordinals = splits_and_ordinals

    def process(self, element: Any, index: CorpusIndex) -> Iterator[Any]:
        (file, number), (tokens, lengths) = element
        settings = self._settings
        first_number = index.first_number[file]
        splits, ordinals = self._splits_and_ordinals(first_number, index.sizes[file])
        split = int(splits[number])
        ordinal = int(ordinals[number]) + index.first_ordinal[split][file]
        name = settings.splits[split]
        yield beam.pvalue.TaggedOutput("documents", ((name, ordinal), (tokens, lengths)))
        yield beam.pvalue.TaggedOutput("counts", ((name, "num_documents"), 1))

        token_starts = np.concatenate([[0], np.cumsum(lengths)])
        first = np.zeros(1, np.int64)
        limits = np.full((1, 2), len(lengths))
        for pass_number in range(settings.passes(name)):
            keys = pretraining.pass_keys(
                settings.seed, np.array([first_number + number]), pass_number
            )
            spans, _ = pretraining.cut(
                token_starts,
                first,
                first,
                limits,
                keys,
                settings.records.instances,
                has_other_document=index.split_sizes[split] > 1,
            )
            bounds = np.stack([token_starts[s] for s in (spans.start, spans.a_end, spans.end)])
            true = np.flatnonzero(~spans.is_random)
            if settings.records.instances.pairs:
                whole = bounds[2, true] > bounds[1, true]
                skipped = len(true) - int(whole.sum())
                yield beam.pvalue.TaggedOutput("counts", ((name, "skipped"), skipped))
                true = true[whole]
            segments = [
                (tokens[start:middle], tokens[middle:end])
                for start, middle, end in bounds[:, true].T
            ]
            yield from _instances(settings, name, spans.key[true], segments, spans.next_kind[true])
            random = np.flatnonzero(spans.is_random)
            if len(random) == 0:
                continue
            others = pretraining.random_documents(
                spans.key[random], np.full(len(random), ordinal), index.split_sizes[split]
            )
            for i, other in zip(random, others, strict=True):
                start, middle, _ = bounds[:, i]
                wanted = max(int(spans.target[i] - (middle - start)), 1)
                kind = int(spans.next_kind[i])
                request = (int(spans.key[i]), tokens[start:middle], wanted, kind)
                yield beam.pvalue.TaggedOutput("requests", ((name, int(other)), request))


def _instances(
    settings: PretrainingSettings,
    split: str,
    keys: NDArray[np.uint64],
    segments: Sequence[tuple[NDArray, NDArray]],
    next_kinds: NDArray[np.uint8],
) -> Iterator[Any]:
    """Truncated instances under their shards: ((split, shard), (key, A, B, next kind))."""
    kept = pretraining.truncate(
        keys,
        np.array([len(a) for a, _ in segments], np.int64),
        np.array([len(b) for _, b in segments], np.int64),
        settings.records.instances.room,
    )
    for i, (key, (a, b)) in enumerate(zip(keys.tolist(), segments, strict=True)):
        a = a[kept.a_front[i] : kept.a_front[i] + kept.a_length[i]]
        b = b[kept.b_front[i] : kept.b_front[i] + kept.b_length[i]]
        yield (split, (key * settings.shards(split)) >> 64), (key, a, b, int(next_kinds[i]))


class SecondSegments(beam.DoFn):
    """A document and the requests to it -> instances."""

    def __init__(self, settings: PretrainingSettings) -> None:
        self._settings = settings

    def process(self, element: Any) -> Iterator[Any]:
        (split, _), joined = element
        requests = list(joined["requests"])
        if not requests:
            return
        ((tokens, lengths),) = joined["documents"]
        keys = np.array([key for key, _, _, _ in requests], np.uint64)
        number = np.full(len(keys), len(lengths))
        start, length = sentences_until(
            _Array(np.concatenate([[0], np.cumsum(lengths)])),
            pretraining.random_starts(keys, number),
            number,
            np.array([wanted for _, _, wanted, _ in requests]),
        )
        segments = [
            (a, tokens[begin : begin + size])
            for (_, a, _, _), begin, size in zip(requests, start, length, strict=True)
        ]
        kinds = np.array([kind for _, _, _, kind in requests], np.uint8)
        yield from _instances(self._settings, split, keys, segments, kinds)


class _Array:
    """Ranges of an array in memory."""

    def __init__(self, values: NDArray) -> None:
        self._values = values

    def gather(self, starts: Sequence[int], lengths: Sequence[int]) -> NDArray:
        return np.concatenate(
            [self._values[i : i + n] for i, n in zip(starts, lengths, strict=True)]
        )


class WriteShard(beam.DoFn):
    """All instances of a shard -> its file, in the order of their keys, and what is in it."""

    def __init__(self, settings: PretrainingSettings, vocab: Vocab, partial: str) -> None:
        self._settings = settings
        self._vocab = vocab
        self._partial = partial

    def process(self, element: Any, totals: dict[str, int]) -> Iterator[Any]:
        import tensorflow as tf

        (split, shard), instances = element
        settings = self._settings
        rule = settings.records
        count = settings.shards(split)
        plan, tokens = _plan([instance for instance in instances if instance is not None])
        maker = RecordMaker(rule, self._vocab)
        name = shard_name(split, shard, count, compressed=settings.gzip)
        options = tf.io.TFRecordOptions(compression_type="GZIP" if settings.gzip else "")
        with tempfile.TemporaryDirectory() as folder:
            local = os.path.join(folder, name)
            with tf.io.TFRecordWriter(local, options) as writer:
                for low, high in key_ranges(shard, count, totals.get(split, 0)):
                    # The last limit is one more than a key can be.
                    inside = (plan["key"] >= low) & (plan["key"] <= np.uint64(high - 1))
                    for entries, row_sizes in record_batches(plan[inside], rule):
                        sequences = gather_sequences(tokens, entries, rule.instances, self._vocab)
                        for record in maker.make(
                            sequences, entries["key"], entries["next_kind"], row_sizes
                        ):
                            writer.write(record)
            temporary = f"{self._partial}/{name}.{uuid.uuid4().hex}.tmp"
            beam_files.upload(local, temporary)
        target = f"{self._partial}/data/{name}"
        beam_files.delete(target)  # Of an attempt whose answer was lost.
        beam_files.rename(temporary, target)
        yield ("shard", split, shard, dict(maker.counts))


def _plan(instances: list[tuple[int, NDArray, NDArray, int]]) -> tuple[NDArray, _Array]:
    """Instances in the order of their keys as plan entries, and the tokens they point to."""
    instances.sort(key=lambda instance: instance[0])
    plan = np.zeros(len(instances), PLAN_DTYPE)
    plan["key"] = [key for key, _, _, _ in instances]
    plan["a_length"] = [len(a) for _, a, _, _ in instances]
    plan["b_length"] = [len(b) for _, _, b, _ in instances]
    plan["next_kind"] = [kind for _, _, _, kind in instances]
    sizes = plan["a_length"].astype(np.int64) + plan["b_length"]
    plan["a_start"] = np.cumsum(sizes) - sizes
    plan["b_start"] = plan["a_start"] + plan["a_length"]
    segments = [segment for _, a, b, _ in instances for segment in (a, b)]
    return plan, _Array(np.concatenate(segments) if segments else np.zeros(0, np.int64))
