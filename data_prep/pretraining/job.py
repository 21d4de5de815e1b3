"""Makes prepared pretraining data: tokenize -> plan -> write, with bounded memory.

    tokenize   text files -> the token store on disk (token_store.py)
    plan       documents -> which tokens each instance takes, sorted by the instances' random keys
    write      a range of keys -> gather, join, mask, encode -> one shard

Everything goes into `OUTPUT_DIR.partial`; the finished folder is renamed to `OUTPUT_DIR` at the
end. `progress.json` in it says how far the run is, after each step that need not be done again.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import pathlib
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from tqdm import tqdm

from data_prep.pretraining import instances as pretraining
from data_prep.pretraining import stages as pretraining_stages
from data_prep.pretraining.partial_folder import partial_folder
from data_prep.pretraining.planning import PLAN_DTYPE
from data_prep.pretraining.settings import PretrainingSettings
from data_prep.pretraining.stages import BUCKET_ENTRIES, PlanJob, WorkerContext, WriteJob
from data_prep.pretraining.summary import check_documents, make_manifest, no_instances
from data_prep.pretraining.token_store import Store, StoreWriter
from data_prep.pretraining.workers import WorkerPool
from data_prep.text.corpus import read_blocks
from official_bert.atomic import atomic_file, check_free, replace_folder
from official_bert.data.manifest import MANIFEST_NAME, Manifest, sha256_of_file
from official_bert.path import absolute, local_copy, size_of, to_path
from official_bert.text import tokenizer_config
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab

# Blocks between two saved states: what a killed run has to tokenize again.
_BLOCKS_PER_STATE = 64
_SENTENCES_PER_JOB = 1 << 13
_DOCUMENTS_AT_ONCE = 1 << 16


def prepare(
    settings: PretrainingSettings,
    output_dir: str,
    *,
    num_workers: int = 1,
    overwrite: bool = False,
    resume: bool = False,
) -> Manifest:
    """Writes a folder of prepared data.

    Args:
        settings: what to make.
        output_dir: the folder; made at the end.
        num_workers: processes that work at the same time.
        overwrite: replace `output_dir` if it is there.
        resume: go on with what a run that was stopped has left.

    Returns:
        the manifest of the folder.

    Raises:
        InputError: the settings or files are wrong; nothing is left behind.
        WorkerError: a worker was killed; `resume` can go on.
    """
    final = absolute(to_path(output_dir))
    check_free(final, overwrite=overwrite)
    vocab = Vocab.from_file(settings.vocab_file)
    with partial_folder(final, settings, resume) as partial:
        run = _Run(settings, vocab, partial)
        with WorkerPool(num_workers, WorkerContext, run.worker_settings) as pool:
            run.tokenize(pool)
            for split in settings.splits:
                run.plan(pool, split)
            for split in settings.splits:
                run.write(pool, split)
        manifest = make_manifest(settings, vocab, run.progress)
        tokenizer_config.save(run.data, vocab, TokenizerConfig(lower_case=settings.lower_case))
        manifest.save(run.data)
        replace_folder(run.data, final, last=MANIFEST_NAME)
        shutil.rmtree(partial)
    return manifest


class _Run:
    """One run: its folders, and how far it is."""

    def __init__(self, settings: PretrainingSettings, vocab: Vocab, partial: pathlib.Path) -> None:
        self._settings = settings
        self._vocab = vocab
        self._partial = partial
        self.data = partial / "data"
        self.data.mkdir(exist_ok=True)
        # Workers are other processes, which share no file system in memory.
        vocab_file = os.fspath(local_copy(settings.vocab_file))
        for_workers = dataclasses.replace(settings, vocab_file=vocab_file)
        self.worker_settings = (for_workers, partial, self.data)
        self.progress: dict[str, Any] = {
            "blocks": 0,
            "store": None,
            "tokenized": False,
            "counts": {},
            "plans": {
                split: {"documents": 0, "runs": [], "skipped": 0, "done": False}
                for split in settings.splits
            },
            "shards": {split: {} for split in settings.splits},
        }
        path = partial / "progress.json"
        if path.exists():
            self.progress = json.loads(path.read_text())

    def _save(self) -> None:
        with atomic_file(self._partial / "progress.json") as file:
            json.dump(self.progress, file)

    def tokenize(self, pool: WorkerPool) -> None:
        """First stage: fills the token store."""
        if self.progress["tokenized"]:
            return
        settings, progress = self._settings, self.progress
        counts = Counter(progress["counts"])
        store = StoreWriter(
            self._partial,
            len(self._vocab),
            settings.splits,
            self._split_of,
            progress["store"],
        )
        total = sum(size_of(to_path(path)) for path in settings.inputs)
        blocks = read_blocks(list(settings.inputs))
        done = progress["blocks"]
        # Before the bar's clock starts: its rate is that of the work, not of skipping.
        skipped = sum(block.source_bytes for block in itertools.islice(blocks, done))
        with tqdm(
            total=total,
            initial=skipped,
            unit="B",
            unit_scale=True,
            desc="tokenize",
            disable=None,
        ) as bar:
            results = pool.run(pretraining_stages.tokenize, blocks, lambda b: b.name)
            for block, tokenized in results:
                store.append(tokenized.tokens, tokenized.lengths, tokenized.starts_document)
                if tokenized.ends_document or block.ends_file:
                    store.end_document()
                counts.update(tokenized.counts)
                done += 1
                bar.update(block.source_bytes)
                if done % _BLOCKS_PER_STATE == 0:
                    progress.update(blocks=done, store=store.state(), counts=counts)
                    self._save()
        progress.update(blocks=done, store=store.state(), counts=counts, tokenized=True)
        progress["documents"] = store.num_documents
        progress["sources"] = {path: sha256_of_file(path) for path in settings.inputs}
        store.close()
        self._check_corpus()
        self._save()

    def _split_of(self, numbers: np.ndarray) -> np.ndarray:
        return pretraining.in_held_out_split(
            self._settings.seed, numbers, self._settings.dev_fraction
        ).astype(np.int64)

    def _check_corpus(self) -> None:
        for split in self._settings.splits:
            store = Store(self._partial, len(self._vocab), split)
            self.progress["plans"][split]["num_documents"] = store.num_documents
            store.close()
        check_documents(self._settings, self.progress)

    def plan(self, pool: WorkerPool, split: str) -> None:
        """Second stage: plans the instances of a split, in sorted runs."""
        plan = self.progress["plans"][split]
        if plan["done"]:
            return
        path = self._partial / pretraining_stages.plan_name(split)
        entries = sum(plan["runs"])
        with (
            open(path, "r+b" if path.exists() else "w+b") as file,
            tqdm(
                total=plan["num_documents"],
                initial=plan["documents"],
                unit=" documents",
                desc=f"plan {split}",
                disable=None,
            ) as bar,
        ):
            file.truncate(entries * PLAN_DTYPE.itemsize)
            file.seek(0, os.SEEK_END)
            pieces: list[np.ndarray] = []
            skipped = 0
            results = pool.run(
                pretraining_stages.plan,
                self._plan_jobs(split, plan["documents"]),
                lambda job: f"documents {job.start}-{job.stop} of {split}",
            )
            for job, (piece, left_out) in results:
                pieces.append(piece)
                skipped += left_out
                bar.update(job.stop - job.start)
                last = job.stop == plan["num_documents"]
                if last or sum(map(len, pieces)) >= BUCKET_ENTRIES:
                    run = np.concatenate(pieces)
                    run = run[np.argsort(run["key"], kind="stable")]
                    file.write(run.tobytes())
                    file.flush()
                    os.fsync(file.fileno())
                    plan["runs"].append(len(run))
                    plan.update(documents=job.stop, skipped=plan["skipped"] + skipped, done=last)
                    self._save()
                    pieces, skipped = [], 0
        if sum(plan["runs"]) == 0:
            raise no_instances(self._settings, split)

    def _plan_jobs(self, split: str, start: int) -> Iterator[PlanJob]:
        """Documents from `start` on, in groups of about equal numbers of sentences."""
        store = Store(self._partial, len(self._vocab), split)
        sentences = 0
        for number in range(start, store.num_documents, _DOCUMENTS_AT_ONCE):
            stop = min(number + _DOCUMENTS_AT_ONCE, store.num_documents)
            documents = store.documents(number, stop)
            for index, size in enumerate((documents[:, 2] - documents[:, 1]).tolist(), number):
                if index > start and sentences + size > _SENTENCES_PER_JOB:
                    yield PlanJob(split, start, index)
                    start, sentences = index, 0
                sentences += size
        yield PlanJob(split, start, store.num_documents)
        store.close()

    def write(self, pool: WorkerPool, split: str) -> None:
        """Third stage: writes the shards of a split."""
        runs = tuple(self.progress["plans"][split]["runs"])
        done = self.progress["shards"][split]
        count = self._settings.shards(split)
        jobs = [
            WriteJob(split, index, count, runs) for index in range(count) if str(index) not in done
        ]
        with tqdm(
            total=sum(runs),
            initial=sum(counts["instances"] for counts in done.values()),
            unit=" instances",
            unit_scale=True,
            desc=f"write {split}",
            disable=None,
        ) as bar:
            results = pool.run(
                pretraining_stages.write,
                jobs,
                lambda job: f"shard {job.index} of {job.count} of {split}",
                in_order=False,
            )
            for job, counts in results:
                done[str(job.index)] = counts
                self._save()
                bar.update(counts["instances"])
