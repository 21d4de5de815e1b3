"""Nothing half-written under a final name: write to a temporary name, then rename.

A temporary name is `.NAME.<16 hex digits>.bert-tmp` beside the final one. Who writes it holds a
lock (`flock`) on it, which ends with the process, however that ends: a name without a lock was left
by a killed run, and the next one that writes into the same folder removes it. Processes in several
containers, whose numbers clash, share these locks too, as long as the disk is one of their machine.
All calls for the local file system that this takes are here.

An object store renames no folders and has no locks. For a URL, a file or a folder is made on this
machine and copied, the file that makes a folder whole last; who replaces a folder removes that file
first.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import pathlib
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from typing import IO, Any

from official_bert.errors import InputError
from official_bert.path import copy_file, files_below, is_url, scratch_folder, to_path

LOCK_NAME = ".lock"

_NEW, _OLD = "bert-tmp", "bert-old"
_HIDDEN = re.compile(rf"\.(?P<name>[^/]+)\.[0-9a-f]{{16}}\.(?P<kind>{_NEW}|{_OLD})")
# Of 255 bytes that a name may have, those that a hidden name leaves.
_LONGEST_NAME = 200
# What writing and flushing give, without the name of the file.
_WRITE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}
# Opened for writing, these are streams, whatever they lead to.
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
_TAKEN = {errno.ENOTEMPTY, errno.EEXIST}
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF}
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EXDEV, errno.EPERM}
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Opens a temporary file beside `path` and renames it to `path` when the block ends well.

    A device, a pipe or a socket at `path` is written to as it is.

    Args:
        path: the final name; its folder must exist.
        mode: "w" (UTF-8, "\\n" line ends) or "wb".

    Raises:
        OSError: it cannot be written; `filename` is `path`.
    """
    final = to_path(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if is_url(final):
        with scratch_folder() as folder:
            with open(folder / final.name, mode, **text) as file:
                yield file
            copy_file(folder / final.name, final)
        return
    if _is_stream(final):
        with _errors_named(final, final, {errno.EPIPE}), open(final, mode, **text) as file:
            yield file
        return
    if final.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(final))
    tidy(final.parent)
    temporary = _hidden(final, _NEW)
    with _errors_named(final, temporary):
        descriptor = _locked_file(temporary)
        try:
            # The lock is on what both descriptors share, and ends after the renaming.
            with open(temporary, mode, opener=lambda *_: os.dup(descriptor), **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, final)
            _sync(final.parent)
        finally:
            temporary.unlink(missing_ok=True)
            os.close(descriptor)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, overwrite: bool = False, last: str | None = None
) -> Iterator[pathlib.Path]:
    """Gives an empty temporary folder and renames it to `path` when the block ends well.

    If the block raises, the temporary folder is removed and what stood at `path` is untouched.

    Args:
        path: the final name.
        overwrite: replace what is there.
        last: the file in it without which it is not whole; it reaches a URL after all others.

    Raises:
        InputError: `path` exists, is not an empty folder, and `overwrite` is false; also where
            another run has written it meanwhile.
        OSError: it cannot be written.
    """
    final = to_path(path)
    if not is_url(final):
        final = pathlib.Path(os.path.realpath(final))  # A link to a folder stays one.
    check_free(final, overwrite=overwrite)
    with temporary_folder(final) as folder:
        yield folder
        place_folder(folder, final, overwrite=overwrite, last=last)


@contextlib.contextmanager
def temporary_folder(final: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives an empty folder with a hidden name beside `final`, to be moved there in the block.

    What is not moved is removed at the end of the block, with folders above it that are new.
    """
    if is_url(final):
        with scratch_folder() as parent:
            folder = parent / final.name
            folder.mkdir()
            yield folder
        return
    if final.is_mount():
        raise InputError(f"{final} is where a disk is mounted: give the name of a folder in it")
    new_parents = [path for path in final.parents if not path.exists()]
    final.parent.mkdir(parents=True, exist_ok=True)
    tidy(final.parent)
    temporary = _hidden(final, _NEW)
    with _errors_named(final, temporary):
        descriptor = _locked_folder(temporary)
        try:
            yield temporary
        finally:
            _remove(temporary)
            os.close(descriptor)
            with contextlib.suppress(OSError):  # The first that has something in it stays.
                for path in new_parents:
                    path.rmdir()


def check_free(path: pathlib.Path, *, overwrite: bool) -> None:
    """Raises InputError if `path` holds anything and may not be overwritten."""
    if overwrite or not path.exists():
        return
    if not path.is_dir() or any(path.iterdir()):
        raise InputError(
            f"{path} is there already: give another name, or --overwrite to replace it"
        )


def replace_folder(source: pathlib.Path, final: pathlib.Path, *, last: str | None = None) -> None:
    """Renames the folder `source` to `final`; an older `final` is removed only afterwards.

    Where the system can exchange two names, there is a whole folder at `final` at every moment;
    else the older one has a hidden name in between, and `tidy` puts it back after a kill.

    Raises:
        InputError: `final` cannot be replaced; the older one is there as before, and the new one
            beside it.
    """
    if is_url(final):
        _upload(source, final, last)
        return
    _sync_all(source)
    try:
        while not (_placed(source, final) or _exchanged(source, final)):
            if _replaced_in_two_steps(source, final):
                break
        _sync(final.parent)
    except OSError as error:
        kept = final.with_name(f"{final.name}.new-{secrets.token_hex(4)}")
        with contextlib.suppress(OSError):
            os.rename(source, kept)
        if not kept.exists():
            raise
        raise InputError(
            f"{final} cannot be replaced ({error.strerror}): what was written is in {kept}"
        ) from error
    _remove(source)  # After an exchange, the older one.


def place_folder(
    source: pathlib.Path, final: pathlib.Path, *, overwrite: bool, last: str | None = None
) -> None:
    """Renames the folder `source` to `final`.

    Raises:
        InputError: another run has written `final` meanwhile, and `overwrite` is false.
    """
    if overwrite:
        replace_folder(source, final, last=last)
        return
    if is_url(final):
        check_free(final, overwrite=False)
        _upload(source, final, last)
        return
    _sync_all(source)
    if not _placed(source, final):
        raise InputError(
            f"{final} was written by another run meanwhile: give another name, or --overwrite"
        )
    _sync(final.parent)


def place_numbered(
    source: pathlib.Path, parent: pathlib.Path, number: int, *, last: str | None = None
) -> pathlib.Path:
    """Renames the folder `source` to the first free name of `parent`/`number`, `number` + 1, …"""
    if is_url(parent):
        while (parent / str(number)).exists():
            number += 1
        _upload(source, parent / str(number), last)
        return parent / str(number)
    _sync_all(source)
    while not _placed(source, parent / str(number)):
        number += 1
    _sync(parent)
    return parent / str(number)


def tidy(folder: pathlib.Path) -> None:
    """Removes what killed runs left in `folder`, and puts back what they were replacing.

    Names that a running process holds are left alone, and all others than those of this module.
    """
    if is_url(folder):
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            if found := _HIDDEN.fullmatch(entry.name):
                _tidy_one(pathlib.Path(entry.path), found)


def _upload(source: pathlib.Path, final: pathlib.Path, last: str | None) -> None:
    """Copies a folder to a URL: the file that makes it whole goes first and comes last."""
    old, new = (files_below(folder) if folder.is_dir() else [] for folder in (final, source))
    if last is not None and last in old:
        (final / last).unlink()
    for name in sorted(new, key=lambda name: (name == last, name.split("/"))):
        copy_file(source / name, final / name)
    for name in set(old) - set(new):
        (final / name).unlink()


def visible_name(path: str) -> str:
    """ "/data/.vocab.txt.0123456789abcdef.bert-tmp" -> "/data/vocab.txt", as people know it."""
    return "/".join(
        found["name"] if (found := _HIDDEN.fullmatch(part)) else part for part in path.split("/")
    )


@contextlib.contextmanager
def folder_lock(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Holds `path` for this process as long as the block runs; makes the folder if need be.

    A new folder in which nothing was written is removed again. Where the disk knows no locks, the
    block runs without.

    Args:
        path: the folder.
        what: what is done in it: "training".

    Raises:
        InputError: another process holds it; it is named.
    """
    folder = to_path(path)
    if is_url(folder):  # Object stores know no locks.
        yield
        return
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / LOCK_NAME
    descriptor = _held_lock(lock, what)
    try:
        owner = f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%F %T')}"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, owner.encode(), 0)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _held_lock(lock: pathlib.Path, what: str) -> int:
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(lock, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 200, 0).decode(errors="replace")
            os.close(descriptor)
            raise InputError(
                f"{lock.parent} is in use by another {what} ({owner or 'just begun'}): wait for "
                "its end, or choose another folder"
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return descriptor
        if _stands_at(descriptor, lock):
            return descriptor
        os.close(descriptor)  # Its owner removed it, at its end, between the two calls.


def _is_stream(path: pathlib.Path) -> bool:
    if str(path).startswith(_STREAMS):
        return True
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def _errors_named(
    final: pathlib.Path, temporary: pathlib.Path, others: set[int] | None = None
) -> Iterator[None]:
    """Errors of writing name the file that people know."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None and error.errno in _WRITE_ERRORS | (others or set())
        if unnamed or error.filename in (str(temporary), temporary):
            error.filename, error.filename2 = str(final), None
        raise


def _hidden(final: pathlib.Path, kind: str) -> pathlib.Path:
    name = final.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return final.with_name(f".{name}.{secrets.token_hex(8)}.{kind}")


def _locked_file(path: pathlib.Path) -> int:
    """A new file with its lock, as a descriptor; a link at `path` is not followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        descriptor = os.open(path, flags, 0o666)
        if _locked(descriptor, path):
            return descriptor


def _locked_folder(path: pathlib.Path) -> int:
    """A new folder with its lock, as a descriptor."""
    while True:
        path.mkdir()
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if _locked(descriptor, path):
            return descriptor


def _locked(descriptor: int, path: pathlib.Path) -> bool:
    """Takes the lock; false, and closed, if `tidy` of another process was faster."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return True
    if _stands_at(descriptor, path):
        return True
    os.close(descriptor)
    return False


def _stands_at(descriptor: int, path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _tidy_one(path: pathlib.Path, found: re.Match[str]) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        descriptor = os.open(path, flags)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            final = path.with_name(found["name"])
            if found["kind"] == _NEW or final.exists() or not _placed(path, final):
                _remove(path)
        finally:
            os.close(descriptor)


def _placed(source: pathlib.Path, final: pathlib.Path) -> bool:
    """Renames to a name that is free, or an empty folder's; false if it is not free."""
    try:
        os.rename(source, final)
    except OSError as error:
        if error.errno in _TAKEN or (error.errno == errno.ENOTDIR and os.path.lexists(final)):
            return False
        raise
    return True


def _exchanged(source: pathlib.Path, final: pathlib.Path) -> bool:
    """Swaps two names at once; false where the system or the disk cannot."""
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    names = os.fsencode(source), os.fsencode(final)
    if not renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(final))


def _replaced_in_two_steps(source: pathlib.Path, final: pathlib.Path) -> bool:
    """Renames `final` away and `source` to it; false if another process came between."""
    old = _hidden(final, _OLD)
    # Its lock tells `tidy` that this process is at it.
    descriptor = os.open(final, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.rename(final, old)
        try:
            done = _placed(source, final)
        except BaseException:
            os.rename(old, final)
            raise
        _remove(old)
        return done
    finally:
        os.close(descriptor)


def _remove(path: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _sync_all(folder: pathlib.Path) -> None:
    """Brings all in a folder to the disk, so that its name never stands for less."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _sync(pathlib.Path(parent, name))
        _sync(pathlib.Path(parent))


def _sync(path: pathlib.Path) -> None:
    if path.is_symlink() or not (path.is_dir() or path.is_file()):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # A disk that does not sync names.
            raise
    finally:
        os.close(descriptor)
