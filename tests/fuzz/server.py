"""Tries mutations in forks of one process that has imported TensorFlow.

    python -m tests.fuzz.server FOLDER COUNT > outcomes.jsonl

makes each kind of files in FOLDER and reads COUNT mutations of each, fewer where that takes long. A
line is {"kind", "file", "number", "outcome", "detail", "seconds", "megabytes"}: the outcome is
"right", "refused" or, where it is none of these two, "fault"; the seconds are those of the
processor, the memory is what the fork took above what it began with.
"""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from official_bert.errors import InputError
from official_bert.file_errors import explain
from tests.fuzz import models, texts
from tests.fuzz.kind import Kind
from tests.fuzz.mutations import mutate
from tests.public_data import ROOT

SEED = 17
# Of the processor; what waits for something takes none, and has more time on the clock.
SECONDS = 20
WAITING_SECONDS = 90
MEGABYTES = 1024
MANY = 20
KINDS = {**texts.KINDS, **models.KINDS}
_RIGHT, _REFUSED, _FAULT, _REFUSED_STATUS = 0, 3, 4, 2


def _forked(work: Callable[[], object], output: pathlib.Path, seconds: int) -> dict[str, Any]:
    """Runs `work` in a fork of this process; what it prints goes into a file."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        # A fork begins with less than its parent has: pages of files are not counted yet.
        os.write(writing, str(_resident_megabytes()).encode())
        _run(work, output, seconds)
    before = int(os.read(reading, 20))
    os.close(reading)
    os.close(writing)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    detail = output.read_text("utf-8", errors="replace").strip()
    spent = {
        "seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "megabytes": max(0, usage.ru_maxrss // 1024 - before),
    }
    if spent["megabytes"] > MEGABYTES:
        detail, code = f"took {spent['megabytes']} MB\n{detail}", _FAULT
    outcome = {_RIGHT: "right", _REFUSED: "refused", _REFUSED_STATUS: "refused"}.get(code, "fault")
    if code == _REFUSED_STATUS and "the memory does not suffice" in detail:
        outcome = "fault"
    if code < 0:
        detail = f"{signal.Signals(-code).name}\n{detail}"
    return {"outcome": outcome, "detail": detail[-1500:], **spent}


def _resident_megabytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


def _run(work: Callable[[], object], output: pathlib.Path, seconds: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(max(seconds, WAITING_SECONDS))
    status = _FAULT
    try:
        work()
        status = _RIGHT
    except InputError as error:
        status = _REFUSED if str(error).isprintable() else _FAULT
        print(error, file=sys.stderr)
    except SystemExit as end:  # A command's: its messages are printed.
        status = end.code if end.code in (0, _REFUSED_STATUS) else _FAULT
    except BaseException as error:
        line = None if isinstance(error, MemoryError) else explain(error)
        if line is None:
            traceback.print_exc()
        else:
            print(line, file=sys.stderr)
            status = _REFUSED
    finally:
        os._exit(status)


def _try(kind: Kind, good: pathlib.Path, name: str, number: int) -> dict[str, Any]:
    rng = random.Random(f"{SEED} {name} {number}")
    files = kind.files(good)
    file = files[number % len(files)].relative_to(good)
    folder = good.with_name(f"{good.name} {number}")
    shutil.copytree(good, folder)

    def work() -> None:
        mutate(folder / file, rng)
        kind.read(folder)

    outcome = _forked(work, good.with_name("output"), SECONDS)
    shutil.rmtree(folder)
    return {"kind": name, "file": str(file), "number": number, **outcome}


def _import_readers() -> None:
    """Imports what reads, and runs nothing: TensorFlow starts its threads in the forks."""
    importlib.import_module("tensorflow_text")
    paths = [*ROOT.glob("official_bert/*/*.py"), *ROOT.glob("data_prep/finetuning/*.py")]
    for path in sorted(paths):
        # Commands define their flags when they are run.
        if "cli.run(" not in path.read_text("utf-8"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def main() -> None:
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    _import_readers()
    for name, kind in KINDS.items():
        if count < kind.share:
            continue
        good = folder / name
        made = _forked(lambda kind=kind, good=good: kind.make(good), folder / "output", 120)
        read = made
        if made["outcome"] == "right" and not (kind.share > 1 and count < MANY):
            whole = folder / f"{name} whole"
            shutil.copytree(good, whole)
            read = _forked(lambda kind=kind, whole=whole: kind.read(whole), folder / "output", 120)
        # Files that nobody changed are read, but for costly ones when only a few are tried.
        print(json.dumps({"kind": name, "file": "", "number": -1, **read}), flush=True)
        if read["outcome"] != "right":
            continue
        for number in range(count // kind.share):
            print(json.dumps(_try(kind, good, name, number)), flush=True)


if __name__ == "__main__":
    main()
