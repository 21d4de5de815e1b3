"""Pretraining data on Apache Beam: the same functions, the same instances, on a cluster.

    files -> documents      a file is read by one worker, so give many files
          -> instances      cut; a true pair is ready, a random one asks another document for its
                            second segment (a join by document)
          -> shards         grouped by ranges of the random keys, masked, written by one worker each

A worker needs memory for a document, or for the instances of a shard. All files go through Beam's
file systems. Shards are written under temporary names; the manifest comes last.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from data_prep.pretraining import beam_files, beam_steps
from data_prep.pretraining.settings import PretrainingSettings
from data_prep.pretraining.summary import check_documents, make_manifest, no_instances
from official_bert.data.manifest import MANIFEST_NAME, Manifest
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
        >> beam.ParDo(beam_steps.ReadDocuments(settings, vocab)).with_outputs(
            "reports", main="documents"
        )
    )
    index = beam.pvalue.AsSingleton(
        texts.documents
        | "FileOf" >> beam.Map(lambda document: document[0][0])
        | "CountDocuments" >> beam.combiners.Count.PerElement()
        | "AllCounts" >> beam.combiners.ToDict()
        | "Index" >> beam.Map(beam_steps.CorpusIndex.make, settings)
    )
    cut = (
        texts.documents
        | "SpreadDocuments" >> beam.Reshuffle()
        | "Cut"
        >> beam.ParDo(beam_steps.CutDocument(settings), index).with_outputs(
            "documents", "requests", "counts", main="instances"
        )
    )
    random_pairs = (
        {"documents": cut.documents, "requests": cut.requests}
        | "Join" >> beam.CoGroupByKey()
        | "SecondSegments" >> beam.ParDo(beam_steps.SecondSegments(settings))
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
        | "Write" >> beam.ParDo(beam_steps.WriteShard(settings, vocab, partial), totals)
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
