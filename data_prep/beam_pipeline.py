"""Pretraining data on Apache Beam: the same functions, the same instances, on a cluster.

    files -> documents      a file is read by one worker, so give many files
          -> instances      cut; a true pair is ready, a random one asks another document for its
                            second segment (a join by document)
          -> shards         grouped by ranges of the random keys, masked, written by one worker each

A worker needs memory for a document, or for the instances of a shard. All files go through Beam's
file systems. Shards are written under temporary names; the manifest comes last.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions
from numpy.typing import NDArray

from data_prep import beam_files, pretraining, tokenizing
from data_prep.corpus import file_blocks
from data_prep.instance_records import RecordMaker, gather_sequences
from data_prep.planning import PLAN_DTYPE, sentences_until
from data_prep.pretraining_settings import PretrainingSettings
from data_prep.pretraining_stages import block_tokenizer, key_ranges, record_batches
from data_prep.pretraining_summary import check_documents, make_manifest, no_instances
from official_bert.data.manifest import MANIFEST_NAME, Manifest, shard_name
from official_bert.errors import InputError
from official_bert.text import tokenizer_config
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab


def prepare(
    settings: PretrainingSettings, output_dir: str, *, options: list[str], overwrite: bool = False
) -> Manifest:
    """Writes a folder of prepared data, as `pretraining_job.prepare` does.

    Args:
        settings: what to make. The vocabulary must be on this machine.
        output_dir: the folder.
        options: of Beam and its runner, for example ["--runner=FlinkRunner", …].
        overwrite: replace `output_dir` if it is there.

    Returns:
        the manifest of the folder.

    Raises:
        InputError: the settings or files are wrong; nothing is left behind.
    """
    output_dir = output_dir.rstrip("/")
    if beam_files.exists(output_dir) and not overwrite:
        raise InputError(
            f"{output_dir} is there already: give another name, or --overwrite to replace it"
        )
    vocab = Vocab.from_file(settings.vocab_file)
    partial = f"{output_dir}.partial"
    beam_files.delete(partial)
    beam_files.make_folders(f"{partial}/data")
    try:
        with beam.Pipeline(options=PipelineOptions(options)) as pipeline:
            _build(pipeline, settings, vocab, partial)
        manifest = make_manifest(settings, vocab, _progress(settings, partial))
        beam_files.delete(output_dir)
        beam_files.make_folders(output_dir)
        for path in beam_files.matching(f"{partial}/data/*"):
            beam_files.rename(path, f"{output_dir}/{os.path.basename(path)}")
        _write_last_files(settings, vocab, manifest, output_dir)
    finally:
        beam_files.delete(partial)
    return manifest


def _write_last_files(
    settings: PretrainingSettings, vocab: Vocab, manifest: Manifest, output_dir: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_config.save(folder, vocab, TokenizerConfig(lower_case=settings.lower_case))
        manifest.save(folder)
        names = sorted(os.listdir(folder), key=lambda name: name == MANIFEST_NAME)
        for name in names:
            beam_files.upload(os.path.join(folder, name), f"{output_dir}/{name}")


def _build(
    pipeline: beam.Pipeline, settings: PretrainingSettings, vocab: Vocab, partial: str
) -> None:
    texts = (
        pipeline
        | "Files" >> beam.Create(list(enumerate(settings.inputs)))
        | "SpreadFiles" >> beam.Reshuffle()
        | "Documents"
        >> beam.ParDo(_ReadDocuments(settings, vocab)).with_outputs("reports", main="documents")
    )
    index = beam.pvalue.AsSingleton(
        texts.documents
        | "FileOf" >> beam.Map(lambda document: document[0][0])
        | "CountDocuments" >> beam.combiners.Count.PerElement()
        | "AllCounts" >> beam.combiners.ToDict()
        | "Index" >> beam.Map(_CorpusIndex.make, settings)
    )
    cut = (
        texts.documents
        | "SpreadDocuments" >> beam.Reshuffle()
        | "Cut"
        >> beam.ParDo(_CutDocument(settings), index).with_outputs(
            "documents", "requests", "counts", main="instances"
        )
    )
    random_pairs = (
        {"documents": cut.documents, "requests": cut.requests}
        | "Join" >> beam.CoGroupByKey()
        | "SecondSegments" >> beam.ParDo(_SecondSegments(settings))
    )
    instances = (cut.instances, random_pairs) | "AllInstances" >> beam.Flatten()
    totals = beam.pvalue.AsDict(
        instances
        | "SplitOf" >> beam.Map(lambda instance: instance[0][0])
        | "CountInstances" >> beam.combiners.Count.PerElement()
    )
    # A shard that gets no instance is a file too.
    shards = [(split, i) for split in settings.splits for i in range(settings.shards(split))]
    names = pipeline | "AllShards" >> beam.Create([(shard, None) for shard in shards])
    written = (
        (instances, names)
        | "WithNames" >> beam.Flatten()
        | "Shards" >> beam.GroupByKey()
        | "Write" >> beam.ParDo(_WriteShard(settings, vocab, partial), totals)
    )
    sums = cut.counts | beam.CombinePerKey(sum) | "Named" >> beam.Map(lambda item: ("sum", *item))
    (
        (texts.reports, sums, written)
        | "Reports" >> beam.Flatten()
        | "OneList" >> beam.combiners.ToList()
        | "Report"
        >> beam.Map(
            lambda reports: beam_files.write(f"{partial}/report.json", json.dumps(reports).encode())
        )
    )


def _progress(settings: PretrainingSettings, partial: str) -> dict[str, Any]:
    """What the workers counted, in the form that `make_manifest` takes."""
    sources: dict[str, str] = {}
    counts: Counter[str] = Counter()
    plans = {split: {"num_documents": 0, "skipped": 0} for split in settings.splits}
    shards: dict[str, dict[str, Any]] = {split: {} for split in settings.splits}
    for kind, *report in json.loads(beam_files.read(f"{partial}/report.json")):
        if kind == "text":
            path, sources[path], further = report
            counts.update(further)
        elif kind == "sum":
            (split, name), number = report
            plans[split][name] = number
        else:
            split, shard, further = report
            shards[split][shard] = further
    progress = {
        "sources": {path: sources[path] for path in settings.inputs},
        "documents": sum(plan["num_documents"] for plan in plans.values()),
        "counts": counts,
        "plans": plans,
        "shards": shards,
    }
    check_documents(settings, progress)
    for split in settings.splits:
        if not any(shard["instances"] for shard in shards[split].values()):
            raise no_instances(settings, split)
    return progress


@dataclasses.dataclass(frozen=True)
class _CorpusIndex:
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
    def make(cls, counts: dict[int, int], settings: PretrainingSettings) -> _CorpusIndex:
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


class _ReadDocuments(beam.DoFn):
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


class _CutDocument(beam.DoFn):
    """A document -> its instances; requests for random second segments; itself, by its place."""

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

    def process(self, element: Any, index: _CorpusIndex) -> Iterator[Any]:
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
            yield from _instances(settings, name, spans.key[true], segments, False)
            random = np.flatnonzero(spans.is_random)
            if len(random) == 0:
                continue
            others = pretraining.random_documents(
                spans.key[random], np.full(len(random), ordinal), index.split_sizes[split]
            )
            for i, other in zip(random, others, strict=True):
                start, middle, _ = bounds[:, i]
                wanted = max(int(spans.target[i] - (middle - start)), 1)
                request = (int(spans.key[i]), tokens[start:middle], wanted)
                yield beam.pvalue.TaggedOutput("requests", ((name, int(other)), request))


def _instances(
    settings: PretrainingSettings,
    split: str,
    keys: NDArray[np.uint64],
    segments: Sequence[tuple[NDArray, NDArray]],
    is_random: bool,
) -> Iterator[Any]:
    """Truncated instances under their shards: ((split, shard), (key, A, B, is random))."""
    kept = pretraining.truncate(
        keys,
        np.array([len(a) for a, _ in segments], np.int64),
        np.array([len(b) for _, b in segments], np.int64),
        settings.records.instances.room,
    )
    for i, (key, (a, b)) in enumerate(zip(keys.tolist(), segments, strict=True)):
        a = a[kept.a_front[i] : kept.a_front[i] + kept.a_length[i]]
        b = b[kept.b_front[i] : kept.b_front[i] + kept.b_length[i]]
        yield (split, (key * settings.shards(split)) >> 64), (key, a, b, is_random)


class _SecondSegments(beam.DoFn):
    """A document and the requests to it -> instances."""

    def __init__(self, settings: PretrainingSettings) -> None:
        self._settings = settings

    def process(self, element: Any) -> Iterator[Any]:
        (split, _), joined = element
        requests = list(joined["requests"])
        if not requests:
            return
        ((tokens, lengths),) = joined["documents"]
        keys = np.array([key for key, _, _ in requests], np.uint64)
        number = np.full(len(keys), len(lengths))
        start, length = sentences_until(
            _Array(np.concatenate([[0], np.cumsum(lengths)])),
            pretraining.random_starts(keys, number),
            number,
            np.array([wanted for _, _, wanted in requests]),
        )
        segments = [
            (a, tokens[begin : begin + size])
            for (_, a, _), begin, size in zip(requests, start, length, strict=True)
        ]
        yield from _instances(self._settings, split, keys, segments, True)


class _Array:
    """Ranges of an array in memory."""

    def __init__(self, values: NDArray) -> None:
        self._values = values

    def gather(self, starts: Sequence[int], lengths: Sequence[int]) -> NDArray:
        return np.concatenate(
            [self._values[i : i + n] for i, n in zip(starts, lengths, strict=True)]
        )


class _WriteShard(beam.DoFn):
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
                            sequences, entries["key"], entries["is_random"], row_sizes
                        ):
                            writer.write(record)
            temporary = f"{self._partial}/{name}.{uuid.uuid4().hex}.tmp"
            beam_files.upload(local, temporary)
        target = f"{self._partial}/data/{name}"
        beam_files.delete(target)  # Of an attempt whose answer was lost.
        beam_files.rename(temporary, target)
        yield ("shard", split, shard, dict(maker.counts))


def _plan(instances: list[tuple[int, NDArray, NDArray, bool]]) -> tuple[NDArray, _Array]:
    """Instances in the order of their keys as plan entries, and the tokens they point to."""
    instances.sort(key=lambda instance: instance[0])
    plan = np.zeros(len(instances), PLAN_DTYPE)
    plan["key"] = [key for key, _, _, _ in instances]
    plan["a_length"] = [len(a) for _, a, _, _ in instances]
    plan["b_length"] = [len(b) for _, _, b, _ in instances]
    plan["is_random"] = [is_random for _, _, _, is_random in instances]
    sizes = plan["a_length"].astype(np.int64) + plan["b_length"]
    plan["a_start"] = np.cumsum(sizes) - sizes
    plan["b_start"] = plan["a_start"] + plan["a_length"]
    segments = [segment for _, a, b, _ in instances for segment in (a, b)]
    return plan, _Array(np.concatenate(segments) if segments else np.zeros(0, np.int64))
