"""`OUTPUT_DIR.partial`: the folder of a run that is not finished."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from data_prep.pretraining.settings import PretrainingSettings
from official_bert.atomic import atomic_file
from official_bert.errors import InputError
from official_bert.path import is_url


@contextlib.contextmanager
def partial_folder(
    final: pathlib.Path, settings: PretrainingSettings, resume: bool
) -> Iterator[pathlib.Path]:
    """The folder of an unfinished run: an old one to go on with, or a new one.

    No other run can have it at the same time. After an `InputError` in the block it is removed;
    after anything else, a kill included, it stays, so that a run can go on with it.

    Args:
        final: the folder to be; that of the unfinished run stands beside it.
        settings: of the run.
        resume: go on with what is there, if it was begun with the same settings.

    Raises:
        InputError: another run has it, or it was begun with other settings.
    """
    if is_url(final):
        # What is under way is read and written in places: it stays on this machine.
        digest = hashlib.sha256(os.fsencode(final)).hexdigest()[:16]
        partial = pathlib.Path(tempfile.gettempdir(), f"{final.name}-{digest}.partial")
    else:
        partial = final.with_name(f"{final.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    with open(partial / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{partial} is in use by another run: wait for its end") from error
        fingerprint = settings.fingerprint()
        if resume and (partial / "progress.json").exists():
            _check_same(json.loads((partial / "settings.json").read_text()), fingerprint, partial)
        else:
            for path in partial.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != "lock":
                    path.unlink()
            with atomic_file(partial / "settings.json") as file:
                json.dump(fingerprint, file, indent=2)
        try:
            yield partial
        except InputError:
            shutil.rmtree(partial)
            raise


def _check_same(before: dict[str, Any], now: dict[str, Any], partial: pathlib.Path) -> None:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise InputError(
                f"--resume: {partial} was begun with {name}={before.get(name)}, now it is "
                f"{now.get(name)}: give the same flags, or leave --resume out to start anew"
            )
