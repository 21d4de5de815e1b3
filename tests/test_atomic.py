"""Files and folders that are whole or not there: kills, races, planted links, full disks."""

from __future__ import annotations

import ctypes
import os
import pathlib
import stat
import subprocess
import sys
import time

import pytest

from official_bert import atomic
from official_bert.atomic import (
    atomic_file,
    atomic_folder,
    check_free,
    folder_lock,
    place_numbered,
    replace_folder,
    temporary_folder,
    tidy,
    visible_name,
)
from official_bert.errors import InputError
from tests.public_data import ROOT

MARK = "0123456789abcdef"


def _write(path, text="new"):
    with atomic_file(path) as file:
        file.write(text)


def _fill(folder, text):
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(text)


def _folder(path, text):
    path.mkdir()
    _fill(path, text)
    return path


def _text(folder):
    return (folder / "inner" / "file").read_text()


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _started(code, *arguments):
    """A Python process that has printed a line, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"there\n"
    return process


# ---- files --------------------------------------------------------------------------------------


def test_a_file_is_there_at_the_end_alone(tmp_path):
    with atomic_file(tmp_path / "a") as file:
        file.write("é\n")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"
    with pytest.raises(RuntimeError), atomic_file(tmp_path / "a", "wb") as file:
        file.write(b"half")
        raise RuntimeError
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"
    assert _names(tmp_path) == ["a"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_modes_follow_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        _write(tmp_path / "a")
        with atomic_folder(tmp_path / "b") as folder:
            _fill(folder, "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == mode | ((mode & 0o444) >> 2)


def test_names_of_several_writers_do_not_clash(tmp_path):
    with atomic_file(tmp_path / "a") as first, atomic_file(tmp_path / "a") as second:
        assert first.name != second.name
        first.write("first")
        second.write("second")
    assert (tmp_path / "a").read_text() == "first"  # It was closed last.


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("victim")
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda size: "ab" * size)
    planted = tmp_path / f".a.{'ab' * 8}.bert-tmp"
    planted.symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        _write(tmp_path / "a")
    planted.unlink()
    (tmp_path / "a").symlink_to(tmp_path / "victim")  # Nor one at the final name.
    _write(tmp_path / "a")
    assert (tmp_path / "victim").read_text() == "victim"
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("size", [1, 100, 200, 201, 255])
def test_every_name_that_the_disk_takes_can_be_written(tmp_path, size):
    _write(tmp_path / ("a" * size))
    with atomic_folder(tmp_path / ("b" * size)) as folder:
        _fill(folder, "x")
    assert _names(tmp_path) == ["a" * size, "b" * size]


def test_a_device_and_a_pipe_are_written_to_as_they_are(tmp_path):
    _write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        _write("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    _write(tmp_path / "pipe", "piped")
    assert os.read(reader, 100) == b"piped"
    os.close(reader)


FAULTS = {
    "no folder": ("nowhere/a", FileNotFoundError),
    "a path through a file": ("file/a", NotADirectoryError),
    "a folder": (".", IsADirectoryError),
    "too long a name": ("a" * 256, OSError),
    "a circle of links": ("circle/a", OSError),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_names_the_file_that_was_asked_for(tmp_path, fault):
    name, kind = FAULTS[fault]
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(kind) as caught:
        _write(tmp_path / name)
    assert str(caught.value.filename) == str(tmp_path / name)


def test_names_for_people():
    hidden = f"/a/.b.txt.{MARK}.bert-tmp/c/.d.{MARK}.bert-old"
    assert visible_name(hidden) == "/a/b.txt/c/d"
    for path in ("/a/.b", "a.bert-tmp", f".{MARK}.bert-tmp", f"/a/b.{MARK}.bert-tmp"):
        assert visible_name(path) == path


# ---- folders ------------------------------------------------------------------------------------


def test_a_folder_is_there_at_the_end_alone(tmp_path):
    with atomic_folder(tmp_path / "new" / "a") as folder:
        _fill(folder, "first")
        assert not (tmp_path / "new" / "a").exists()
    assert _text(tmp_path / "new" / "a") == "first"
    with (
        pytest.raises(RuntimeError),
        atomic_folder(tmp_path / "new" / "a", overwrite=True) as folder,
    ):
        raise RuntimeError
    assert _text(tmp_path / "new" / "a") == "first"
    assert _names(tmp_path / "new") == ["a"]


def test_what_is_there_is_replaced_when_asked_alone(tmp_path):
    _folder(tmp_path / "a", "old")
    with (
        pytest.raises(InputError, match="is there already: give another name, or --overwrite"),
        atomic_folder(tmp_path / "a"),
    ):
        pass
    with atomic_folder(tmp_path / "a", overwrite=True) as folder:
        _fill(folder, "new")
        assert _text(tmp_path / "a") == "old"
    assert _text(tmp_path / "a") == "new"
    (tmp_path / "empty").mkdir()
    check_free(tmp_path / "empty", overwrite=False)
    for name in ("empty", "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / "empty")
        with atomic_folder(tmp_path / name, overwrite=name == "link") as folder:
            _fill(folder, name)
    assert _text(tmp_path / "empty") == "link" and (tmp_path / "link").is_symlink()
    (tmp_path / "file").write_text("a file")
    with atomic_folder(tmp_path / "file", overwrite=True) as folder:
        _fill(folder, "no file")
    assert _text(tmp_path / "file") == "no file"
    assert _names(tmp_path) == ["a", "empty", "file", "link"]


def test_one_that_another_run_wrote_meanwhile_stays(tmp_path):
    with (
        pytest.raises(InputError, match="was written by another run meanwhile"),
        atomic_folder(tmp_path / "a") as folder,
    ):
        _fill(folder, "mine")
        _folder(tmp_path / "a", "theirs")
    assert _text(tmp_path / "a") == "theirs"
    assert _names(tmp_path) == ["a"]


def test_numbers_that_others_took_meanwhile_are_passed_over(tmp_path):
    with temporary_folder(tmp_path / "2") as first, temporary_folder(tmp_path / "2") as second:
        _fill(first, "first")
        _fill(second, "second")
        _folder(tmp_path / "3", "there")
        assert place_numbered(second, tmp_path, 2) == tmp_path / "2"
        assert place_numbered(first, tmp_path, 2) == tmp_path / "4"
    assert [_text(tmp_path / name) for name in "234"] == ["second", "there", "first"]
    assert _names(tmp_path) == ["2", "3", "4"]


class _WithoutExchange:
    """A C library from before renameat2."""

    def __init__(self, *arguments, **options):
        pass


@pytest.mark.parametrize("exchange", [True, False])
def test_a_replacement_that_fails_leaves_both(tmp_path, monkeypatch, exchange):
    """The older one at its place, the newer one beside it, and the line says where."""
    if not exchange:
        monkeypatch.setattr(ctypes, "CDLL", _WithoutExchange)
    old, new = _folder(tmp_path / "a", "old"), _folder(tmp_path / "source", "new")
    real = os.rename

    def failing(source, target):
        if pathlib.Path(source).name == "source" and pathlib.Path(target).name == "a":
            raise PermissionError(13, "Permission denied", str(target))
        return real(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(InputError, match=r"a cannot be replaced .*: what was written is in") as e:
        replace_folder(new, old)
    assert _text(tmp_path / "a") == "old"
    assert _text(pathlib.Path(str(e.value).rpartition(" ")[2])) == "new"
    assert len(_names(tmp_path)) == 2


@pytest.mark.parametrize("exchange", [True, False])
def test_a_replacement_leaves_nothing_else(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(ctypes, "CDLL", _WithoutExchange)
    replace_folder(_folder(tmp_path / "first", "first"), tmp_path / "a")
    replace_folder(_folder(tmp_path / "second", "second"), tmp_path / "a")
    assert _text(tmp_path / "a") == "second"
    assert _names(tmp_path) == ["a"]


# Dies at the n-th renaming; without exchange there are two.
_DIES = """
import ctypes, os, pathlib, sys
from official_bert.atomic import atomic_folder
folder, exchange, calls = pathlib.Path(sys.argv[1]), sys.argv[2] == "True", int(sys.argv[3])
if not exchange:
    ctypes.CDLL = lambda *args, **options: None
real = os.rename
def counted(source, target):
    global calls
    try:
        return real(source, target)
    finally:
        calls -= 1
        if not calls:
            os._exit(9)
os.rename = counted
with atomic_folder(folder / "a", overwrite=True) as new:
    (new / "inner").mkdir()
    (new / "inner" / "file").write_text("new")
"""


@pytest.mark.parametrize(("exchange", "calls"), [(True, 1), (False, 1), (False, 2), (False, 3)])
def test_a_swap_that_dies_leaves_a_whole_folder(tmp_path, exchange, calls):
    _folder(tmp_path / "a", "old")
    command = [sys.executable, "-c", _DIES, str(tmp_path), str(exchange), str(calls)]
    assert subprocess.run(command, cwd=ROOT).returncode == 9
    tidy(tmp_path)
    assert _names(tmp_path) == ["a"]
    assert _text(tmp_path / "a") == ("new" if calls == 3 else "old")


# ---- what killed runs leave ---------------------------------------------------------------------

_WRITES = """
import sys, time
from official_bert.atomic import atomic_file, atomic_folder
with atomic_file(sys.argv[1] + "/a") as file, atomic_folder(sys.argv[1] + "/b") as folder:
    file.write("half")
    file.flush()
    (folder / "half").touch()
    print("there", flush=True)
    time.sleep(100)
"""


def test_names_of_the_living_stay_and_those_of_the_dead_go(tmp_path):
    process = _started(_WRITES, tmp_path)
    try:
        left = _names(tmp_path)
        assert len(left) == 2
        tidy(tmp_path)
        _write(tmp_path / "c")
        assert _names(tmp_path) == sorted([*left, "c"])
    finally:
        process.kill()
        process.communicate()
    _write(tmp_path / "c")
    assert _names(tmp_path) == ["c"]


def test_other_names_are_left_alone(tmp_path):
    names = [
        ".a.tmp", f".a.{MARK}.tmp", f"a.{MARK}.bert-tmp", f".a.{MARK[1:]}.bert-tmp",
        f".a.{MARK.upper()}.bert-tmp", f".a.{MARK}.bert-tmp~", "bert-tmp", ".lock",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".a.{MARK}.bert-old").symlink_to(tmp_path / ".lock")
    tidy(tmp_path)
    assert _names(tmp_path) == sorted([*names, f".a.{MARK}.bert-old"])


# ---- one process a folder -----------------------------------------------------------------------

_LOCKS = """
import sys, time
from official_bert.atomic import folder_lock
with folder_lock(sys.argv[1], "training"):
    print("there", flush=True)
    time.sleep(100)
"""


def test_a_folder_is_for_one_process(tmp_path):
    folder = tmp_path / "new" / "model"
    process = _started(_LOCKS, folder)
    try:
        with (
            pytest.raises(InputError, match=f"in use by another training .process {process.pid} "),
            folder_lock(folder, "training"),
        ):
            pass
        process.kill()
        process.wait()
        with folder_lock(folder, "training"):  # The lock has ended with its owner.
            pass
        assert _names(folder) == []
    finally:
        process.kill()
        process.communicate()


def test_a_lock_leaves_nothing(tmp_path):
    with folder_lock(tmp_path / "a", "training"):
        assert _names(tmp_path / "a") == [".lock"]
    assert _names(tmp_path) == []
    with folder_lock(tmp_path / "a", "training"):
        (tmp_path / "a" / "file").touch()
    with folder_lock(tmp_path / "a", "training"), pytest.raises(InputError):  # noqa: SIM117
        with folder_lock(tmp_path / "a", "training"):
            pass
    assert _names(tmp_path / "a") == ["file"]
    started = time.monotonic()
    (tmp_path / "a" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), folder_lock(tmp_path / "a", "training"):
        pass
    assert time.monotonic() - started < 5 and not (tmp_path / "elsewhere").exists()
