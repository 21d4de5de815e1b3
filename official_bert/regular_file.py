"""Small files that others wrote: only regular ones, and no larger than they can sensibly be.

A name may stand for a pipe, on which reading waits for ever, for a device without an end, or for
a sparse file of terabytes. So the kind and the size are looked at before anything is read.
"""

from __future__ import annotations

import os
import pathlib
import stat

from official_bert.errors import InputError, shown
from official_bert.path import is_url, open_bytes, size_of, to_path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular(path: str | os.PathLike[str], limit: int | None = None) -> int:
    """Checks that `path` is a regular file, without opening it; links are followed.

    Args:
        path: the file.
        limit: the most bytes it may have; None: any number.

    Returns:
        Its size in bytes.

    Raises:
        InputError: there is no such file, it is a folder, a pipe, a socket or a device, or it is
            larger than `limit`.
    """
    try:
        if is_url(path):
            return _checked_url_size(to_path(path), limit)
        return _checked_size(path, os.stat(path), limit)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def read_bytes(path: str | os.PathLike[str], *, limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes.

    Raises:
        InputError: as `check_regular`, or the file cannot be read.
    """
    check_regular(path, limit)
    if is_url(path):
        with open_bytes(path) as file:
            return file.read()
    try:
        # Another file may stand there by now; without O_NONBLOCK a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            _checked_size(path, os.fstat(descriptor), limit)
            with open(descriptor, "rb", closefd=False) as file:
                # Files such as those of /proc have no size before they are read.
                content = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit} bytes, the most that such a file may have")
    return content


def _checked_size(path: str | os.PathLike[str], status: os.stat_result, limit: int | None) -> int:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no file")
        raise InputError(f"cannot read {path}: it is {kind}, a regular file is wanted")
    if limit is not None and status.st_size > limit:
        raise InputError(f"{path} has {status.st_size} bytes; such a file may have {limit} at most")
    return status.st_size


def _checked_url_size(path: pathlib.Path, limit: int | None) -> int:
    if path.is_dir():
        raise InputError(f"cannot read {path}: it is a folder, a regular file is wanted")
    if not path.exists():
        raise InputError(f"cannot read {path}: No such file or directory")
    size = size_of(path)
    if limit is not None and size > limit:
        raise InputError(f"{path} has {size} bytes; such a file may have {limit} at most")
    return size


def _unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> InputError:
    if isinstance(error, InputError):
        return error
    if isinstance(error, OSError):
        return InputError(f"cannot read {path}: {error.strerror}")
    return InputError(f"cannot read {shown(os.fspath(path))}: it is no name of a file")
