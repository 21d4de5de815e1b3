"""Killed runs: nothing broken has a final name, and `--resume` ends with the same files."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import tensorflow as tf

from data_prep.pretraining.instances import InstanceRule
from data_prep.pretraining.job import prepare
from data_prep.pretraining.records import RecordRule
from data_prep.pretraining.settings import PretrainingSettings
from official_bert.errors import InputError
from official_bert.text.masking import MaskingRule

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORDS = [f"w{i}" for i in range(3000)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> pathlib.Path:
    """A few megabytes of made-up text, so that each stage takes its time."""
    folder = tmp_path_factory.mktemp("corpus")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    rng = np.random.default_rng(0)
    with open(folder / "text.txt", "w") as file:
        for _ in range(800):
            for length in rng.integers(5, 40, 40):
                file.write(" ".join(f"w{i}" for i in rng.integers(0, 3000, length)) + "\n")
            file.write("\n")
    return folder


def _command(corpus: pathlib.Path, output: pathlib.Path, *further: str) -> list[str]:
    return [
        *(sys.executable, "-m", "data_prep.create_pretraining_data"),
        f"--input_file={corpus}/text.txt",
        f"--vocab_file={corpus}/vocab.txt",
        f"--output_dir={output}",
        *("--dupe_factor=5", "--num_workers=2", *further),
    ]


def _hashes(folder: pathlib.Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def _bytes_of(folder: pathlib.Path) -> int:
    """What a run has written so far."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # renamed just now
            total += path.stat().st_size
    return total


def _command_line(process: psutil.Process) -> str:
    """Empty for a process that has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture(scope="module")
def straight(corpus, tmp_path_factory):
    """Hashes of an undisturbed run, and how many bytes its partial folder had at the end."""
    output = tmp_path_factory.mktemp("straight") / "data"
    process = subprocess.Popen(_command(corpus, output), stdout=subprocess.DEVNULL, cwd=ROOT)
    most = 0
    while process.poll() is None:
        most = max(most, _bytes_of(output.with_name("data.partial")))
        time.sleep(0.05)
    assert process.returncode == 0
    return _hashes(output), most


def _check_partial(output: pathlib.Path) -> None:
    """Nothing under the final name; every shard that has its final name can be read to its end."""
    assert not output.exists()
    for path in output.with_name("data.partial").glob("data/train-*.tfrecord"):
        assert sum(1 for _ in tf.data.TFRecordDataset(str(path))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "parent"])
def test_kill_at_random_moments(corpus, straight, tmp_path, victim):
    expected, most = straight
    moments = random.Random(victim)
    for number in range(5):
        output = tmp_path / f"run{number}" / "data"
        partial = output.with_name("data.partial")
        process = subprocess.Popen(
            _command(corpus, output), stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        # A moment of the work, not of the clock: the machine may be busy.
        moment = moments.random() * 0.9 * most
        workers: list[psutil.Process] = []
        while len(workers) < 2 or _bytes_of(partial) <= moment:
            assert process.poll() is None
            children = psutil.Process(process.pid).children(recursive=True)
            workers = [child for child in children if "spawn_main" in _command_line(child)]
            time.sleep(0.02)
        victims = {"worker": moments.choice(workers).pid, "parent": process.pid}
        os.kill(victims[victim], signal.SIGKILL)
        _, stderr = process.communicate()
        assert process.returncode != 0
        if victim == "worker":
            # The message says which worker, how it died, what it was at and what to do.
            assert re.fullmatch(
                r"error: worker \d+ died \(signal 9\) at (.*text\.txt, bytes|documents|shard) .*"
                r"run the command again with --resume\n",
                stderr,
            )
        psutil.wait_procs(children, timeout=30)
        assert not any(child.is_running() for child in children)
        _check_partial(output)
        subprocess.run(
            _command(corpus, output, "--resume"), check=True, capture_output=True, cwd=ROOT
        )
        assert _hashes(output) == expected
        assert not output.with_name("data.partial").exists()


def test_kill_and_resume(corpus, tmp_path):
    """The short form: one process, killed when the first of many shards is there."""
    output = tmp_path / "data"
    partial = output.with_name("data.partial")
    command = _command(corpus, output, "--num_workers=1", "--num_shards=60", "--dupe_factor=1")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=ROOT)
    while not list(partial.glob("data/train-*")) and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait()
    _check_partial(output)
    told = json.loads((partial / "progress.json").read_text())["shards"]["train"]
    kept = {
        path.name: path.stat().st_mtime_ns
        for path in partial.glob("data/train-*")
        if str(int(path.name.split("-")[1])) in told
    }

    settings = PretrainingSettings(
        inputs=(f"{corpus}/text.txt",),
        vocab_file=f"{corpus}/vocab.txt",
        lower_case=True,
        records=RecordRule(InstanceRule(), MaskingRule()),
        dupe_factor=1,
        num_shards=60,
    )
    # Other settings do not go on with it.
    with pytest.raises(InputError, match="begun with dupe_factor=1, now it is 2"):
        prepare(dataclasses.replace(settings, dupe_factor=2), str(output), resume=True)
    prepare(settings, str(output), resume=True)
    assert kept.items() <= {p.name: p.stat().st_mtime_ns for p in output.iterdir()}.items()
    assert not partial.exists()
    prepare(settings, str(tmp_path / "straight"))
    assert _hashes(output) == _hashes(tmp_path / "straight")


def test_two_runs_do_not_share_a_folder(corpus, tmp_path):
    partial = tmp_path / "data.partial"
    partial.mkdir()
    settings = PretrainingSettings(
        inputs=(f"{corpus}/text.txt",),
        vocab_file=f"{corpus}/vocab.txt",
        lower_case=True,
        records=RecordRule(InstanceRule(), MaskingRule()),
    )
    with open(partial / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="in use by another run"):
            prepare(settings, str(tmp_path / "data"))
    assert partial.exists()
