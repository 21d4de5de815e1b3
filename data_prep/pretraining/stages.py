"""The three kinds of jobs that workers do for pretraining data: tokenize, plan, write.

Each takes a `WorkerContext` and a small picklable job. What a job gives depends on its settings
alone, not on the worker or on other jobs.
"""

from __future__ import annotations

import bisect
import dataclasses
import os
import pathlib
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from data_prep.pretraining.packing import pack_instances
from data_prep.pretraining.planning import PLAN_DTYPE, plan_documents
from data_prep.pretraining.records import RecordMaker, RecordRule, gather_sequences
from data_prep.pretraining.settings import PretrainingSettings
from data_prep.pretraining.token_store import FlatFile, Store
from data_prep.pretraining.tokenizing import BlockTokenizer, TokenizedBlock
from data_prep.text.corpus import Block
from data_prep.text.segmenters import make_segmenter
from official_bert.data.manifest import shard_name
from official_bert.text.vocab import Vocab

# Plan entries that are held at once, and tokens of a batch of records.
BUCKET_ENTRIES = 1 << 17
_BATCH_TOKENS = 1 << 19


def plan_name(split: str) -> str:
    """File name of a split's plan: runs of PLAN_DTYPE, each sorted by key."""
    return f"plan-{split}.bin"


def block_tokenizer(settings: PretrainingSettings, vocab: Vocab) -> BlockTokenizer:
    """The tokenizer of a run."""
    rule = settings.records.instances
    return BlockTokenizer(
        vocab,
        lower_case=settings.lower_case,
        # Pairs are truncated; single segments are to use every token.
        max_sentence=None if rule.pairs else rule.room,
        segmenter=make_segmenter(settings.word_segmenter) if settings.word_segmenter else None,
    )


class WorkerContext:
    """What a worker keeps from job to job.

    Args:
        settings: of the run, and the two folders: of the work files and of the finished shards.
    """

    def __init__(self, settings: tuple[PretrainingSettings, pathlib.Path, pathlib.Path]) -> None:
        self.settings, self.work, self.shards = settings
        self.vocab = Vocab.from_file(self.settings.vocab_file)
        self._tokenizer: BlockTokenizer | None = None
        self._stores: dict[str, Store] = {}

    def tokenize(self, block: Block) -> TokenizedBlock:
        """Tokenizes a block of the corpus."""
        if self._tokenizer is None:
            self._tokenizer = block_tokenizer(self.settings, self.vocab)
        return self._tokenizer(block)

    def store(self, split: str) -> Store:
        """The tokenised documents of a split."""
        if split not in self._stores:
            self._stores[split] = Store(self.work, len(self.vocab), split)
        return self._stores[split]


def tokenize(context: WorkerContext, block: Block) -> TokenizedBlock:
    """Job of the first stage."""
    return context.tokenize(block)


@dataclasses.dataclass(frozen=True)
class PlanJob:
    """Documents [start, stop) of a split."""

    split: str
    start: int
    stop: int


def plan(context: WorkerContext, job: PlanJob) -> tuple[NDArray, int]:
    """Job of the second stage; see `plan_documents`."""
    settings = context.settings
    return plan_documents(
        context.store(job.split),
        job.start,
        job.stop,
        passes=settings.passes(job.split),
        seed=settings.seed,
        rule=settings.records.instances,
    )


@dataclasses.dataclass(frozen=True)
class WriteJob:
    """Shard `index` of `count` of a split, whose plan consists of sorted runs of these lengths."""

    split: str
    index: int
    count: int
    runs: tuple[int, ...]


def write(context: WorkerContext, job: WriteJob) -> Counter[str]:
    """Job of the third stage: writes one shard, in the order of the keys. Returns its counts."""
    import tensorflow as tf

    settings = context.settings
    rule = settings.records
    store = context.store(job.split)
    maker = RecordMaker(rule, context.vocab)
    name = shard_name(job.split, job.index, job.count, compressed=settings.gzip)
    # Beside the work files: what a killed worker leaves must not come into the finished folder.
    temporary = context.work / f"{name}.{os.getpid()}.tmp"
    try:
        options = tf.io.TFRecordOptions(compression_type="GZIP" if settings.gzip else "")
        with tf.io.TFRecordWriter(str(temporary), options) as writer:
            for bucket in _buckets(context.work / plan_name(job.split), job):
                for entries, row_sizes in record_batches(bucket, rule):
                    sequences = gather_sequences(
                        store.tokens, entries, rule.instances, context.vocab
                    )
                    for record in maker.make(
                        sequences, entries["key"], entries["next_kind"], row_sizes
                    ):
                        writer.write(record)
        os.replace(temporary, context.shards / name)
    finally:
        temporary.unlink(missing_ok=True)
    return maker.counts


def _buckets(path: pathlib.Path, job: WriteJob) -> Iterator[NDArray]:
    """The plan entries of a shard, sorted by key, in parts that fit into memory."""
    file = FlatFile(path, PLAN_DTYPE)
    run_starts = np.cumsum((0, *job.runs))
    for low, high in key_ranges(job.index, job.count, sum(job.runs)):
        pieces = []
        for start, length in zip(run_starts.tolist(), job.runs, strict=False):
            keys = _Keys(file, start, length)
            first, end = bisect.bisect_left(keys, low), bisect.bisect_left(keys, high)
            pieces.append(file.read(start + first, start + end))
        bucket = np.concatenate(pieces)
        yield bucket[np.argsort(bucket["key"], kind="stable")]
    file.close()


def key_ranges(shard: int, num_shards: int, num_instances: int) -> list[tuple[int, int]]:
    """The ranges of keys [low, high) that make up a shard, each of instances that fit into memory.

    A shard is a range of keys, and keys are uniform: any instance may come into any shard.

    Args:
        shard: its number.
        num_shards: of the split.
        num_instances: of the split.
    """
    parts = max(1, -(-num_instances // (num_shards * BUCKET_ENTRIES)))
    total = num_shards * parts
    return [
        ((part << 64) // total, ((part + 1) << 64) // total)
        for part in range(shard * parts, (shard + 1) * parts)
    ]


def record_batches(
    bucket: NDArray, rule: RecordRule
) -> Iterator[tuple[NDArray, NDArray[np.int64]]]:
    """Plan entries for some records at a time, and how many each of these records takes."""
    longest = rule.instances.max_seq_length
    row_sizes = np.ones(len(bucket), np.int64)
    if rule.pack:
        lengths = bucket["a_length"].astype(np.int64) + bucket["b_length"]
        lengths += longest - rule.instances.room
        order, row_sizes = pack_instances(lengths, bucket["key"], longest)
        bucket = bucket[order]
    rows = max(1, _BATCH_TOKENS // longest)
    ends = np.concatenate([[0], np.cumsum(row_sizes)])
    for start in range(0, len(row_sizes), rows):
        sizes = row_sizes[start : start + rows]
        yield bucket[ends[start] : ends[start + len(sizes)]], sizes


class _Keys:
    """The keys of one sorted run, read one at a time, for bisection."""

    def __init__(self, file: FlatFile, start: int, length: int) -> None:
        self._file, self._start, self._length = file, start, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        return int(self._file.read(self._start + index, self._start + index + 1)["key"][0])
