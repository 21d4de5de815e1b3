"""Pretraining data beside the Model Garden's program: instances a second, workers, peak memory.

Both make the same kind of records (padded, the same flags) of the same text, in turns, in a process
that is bound to one core; what counts is processor time, with what a run on a few lines takes taken
off as start-up. Memory is the peak of a whole run, on a corpus and on one ten times as large.

usage: python -m tests.benchmarks.bench_pretraining_data
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from tests.public_data import ROOT, public_data

ROUNDS = 3
DUPE_FACTOR = 3
_FEW_LINES = "a few lines\nof text\n\nand another\ndocument\n"


def run() -> list[dict[str, Any]]:
    """Rows of name, ours, peer, unit and ratio; for memory the ratio is of 10 times to once."""
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_pretraining_data", "--measure"],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
        env=environment,
        preexec_fn=functools.partial(os.sched_setaffinity, 0, [max(os.sched_getaffinity(0))]),
    )
    rows = json.loads(done.stdout.decode().splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder:
        return rows + _workers(pathlib.Path(folder)) + _memory(pathlib.Path(folder))


def _vocab_file() -> str:
    return str(public_data("vocab/bert-base-uncased/vocab.txt"))


def _documents() -> str:
    """English Wikipedia: a paragraph a line, an empty line before each title."""
    text = public_data("wikipedia/wikitext-2-raw/wiki.test.raw").read_text("utf-8")
    lines = []
    for line in text.split("\n"):
        if re.fullmatch(r" = [^=].* = ", line):
            lines.append("")
        elif line.strip() and not line.startswith(" ="):
            lines.extend(re.split(r"(?<= [.!?]) ", line.strip()))
    return "\n".join(lines) + "\n"


def _measure() -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text.txt").write_text(_documents(), encoding="utf-8")
        (folder / "few.txt").write_text(_FEW_LINES)
        for title, length, predictions, whole_word, ngram in (
            ("128 tokens", 128, 20, False, None),
            ("512 tokens", 512, 77, False, None),
            ("128 tokens, whole words", 128, 20, True, None),
            ("128 tokens, n-grams of 3 words", 128, 20, True, 3),
        ):
            flags = (length, predictions, whole_word, ngram)
            jobs = {
                (who, text): functools.partial(job, folder, text, *flags)
                for who, job in (("ours", _ours), ("peer", _peer))
                for text in ("text", "few")
            }
            seconds, instances = _medians(jobs)
            speed = {
                who: instances[who, "text"] / (seconds[who, "text"] - seconds[who, "few"])
                for who in ("ours", "peer")
            }
            rows.append(_row(f"{title} / Model Garden", *speed.values(), "instances/s"))
    return rows


def _medians(
    jobs: dict[tuple[str, str], Callable[[], int]],
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], int]]:
    """Processor time of each job, the jobs in turns, and what it returns."""
    seconds: dict[tuple[str, str], list[float]] = {name: [] for name in jobs}
    results = {}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            start = time.process_time()
            results[name] = job()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}, results


def _ours(
    folder: pathlib.Path,
    text: str,
    length: int,
    predictions: int,
    whole_word: bool,
    ngram: int | None,
) -> int:
    from data_prep.pretraining.instances import InstanceRule
    from data_prep.pretraining.job import prepare
    from data_prep.pretraining.records import RecordRule
    from data_prep.pretraining.settings import PretrainingSettings
    from official_bert.text.masking import MaskingRule

    masking = MaskingRule(
        max_predictions_per_seq=predictions, whole_word=whole_word, max_ngram_size=ngram or 1
    )
    settings = PretrainingSettings(
        inputs=(str(folder / f"{text}.txt"),),
        vocab_file=_vocab_file(),
        lower_case=True,
        records=RecordRule(InstanceRule(length), masking, pad=True),
        dupe_factor=DUPE_FACTOR,
        num_shards=1,
    )
    manifest = prepare(settings, str(folder / "ours"), overwrite=True)
    return manifest.splits["train"]["num_records"]


def _peer(
    folder: pathlib.Path,
    text: str,
    length: int,
    predictions: int,
    whole_word: bool,
    ngram: int | None,
) -> int:
    from official.nlp.data import create_pretraining_data as peer
    from official.nlp.tools.tokenization import FullTokenizer

    tokenizer = FullTokenizer(vocab_file=_vocab_file(), do_lower_case=True)
    instances = peer.create_training_instances(
        [str(folder / f"{text}.txt")],
        tokenizer,
        peer.get_processor_text_fn(False, True),
        length,
        DUPE_FACTOR,
        0.1,
        0.15,
        predictions,
        random.Random(12345),
        whole_word,
        ngram,
    )
    with contextlib.redirect_stderr(io.StringIO()):
        peer.write_instance_to_example_files(
            instances, tokenizer, length, predictions, [str(folder / "peer")], False, False
        )
    return len(instances)


def _workers(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Two workers beside one, by the clock."""
    (folder / "text.txt").write_text(_documents() * 5, encoding="utf-8")
    (folder / "few.txt").write_text(_FEW_LINES)
    seconds = {}
    for workers in (1, 2):
        times = {text: [] for text in ("text", "few")}
        for _ in range(ROUNDS):
            for text, measured in times.items():
                start = time.monotonic()
                _command(folder, text, f"--num_workers={workers}", "--dupe_factor=10")
                measured.append(time.monotonic() - start)
        seconds[workers] = statistics.median(times["text"]) - statistics.median(times["few"])
    return [_row("two workers / one worker", 1 / seconds[2], 1 / seconds[1], "runs/s")]


def _memory(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Peak memory on a corpus of 13 MB beside one of 1.3 MB."""
    text = _documents()
    (folder / "once.txt").write_text(text, encoding="utf-8")
    (folder / "ten.txt").write_text(text * 10, encoding="utf-8")
    rows = []
    for dupe_factor in (1, 10):
        peaks = [_command(folder, name, f"--dupe_factor={dupe_factor}") for name in ("ten", "once")]
        title = f"memory: 10 times the corpus / once, dupe_factor {dupe_factor}"
        rows.append(_row(title, *peaks, "MB"))
    return rows


def _command(folder: pathlib.Path, text: str, *flags: str) -> float:
    """Runs the command; returns the peak memory of its process in MB."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "data_prep.create_pretraining_data"),
            f"--input_file={folder}/{text}.txt",
            f"--vocab_file={_vocab_file()}",
            *(f"--output_dir={folder}/data", "--overwrite", *flags),
        ],
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the command failed with {process.returncode}")
    return usage.ru_maxrss / 1024


def _row(name: str, ours: float, peer: float, unit: str) -> dict[str, Any]:
    return {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ours / peer}


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(_measure()))
    else:
        for row in run():
            print(
                f"{row['name']:60} {row['ours']:10,.4g} {row['peer']:10,.4g} {row['unit']:12}"
                f" {row['ratio']:6.2f}"
            )
