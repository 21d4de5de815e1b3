"""What a user names: a path of this machine, or the URL of a file system that TensorFlow knows.

Paths of this machine are `pathlib.Path`. URLs (`gs://bucket/name`) are `etils.epath.Path`, which
has the same methods and goes through `tf.io.gfile`; TensorFlow is imported when one is met. Object
stores rename no folders and append to no files: what is written there is made on this
machine and copied. Code that can read files of this machine only takes a `local_copy`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any, cast

from official_bert.errors import InputError

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)


def to_path(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path that a text means.

        to_path("m/best")      # PosixPath("m/best")
        to_path("gs://b/m")    # PosixGPath("gs://b/m"): joined, listed and read like the other
        to_path("file:///m")   # PosixPath("/m")

    Raises:
        InputError: neither a path nor a URL that TensorFlow can read here.
    """
    text = os.fspath(path)
    found = _URL.match(text)
    if not found:
        return path if isinstance(path, pathlib.Path) else pathlib.Path(text)
    if found["scheme"] == "file":
        return pathlib.Path(found["rest"])

    import tensorflow as tf

    url = _url(text, found["scheme"])
    registered = tf.io.gfile.get_registered_schemes()
    if url is None or found["scheme"] not in registered:
        known = sorted(f"{name}://" for name in registered if _url(f"{name}://x", name) is not None)
        raise InputError(
            f"{text}: no file system {found['scheme']}:// is known here: give a path of this "
            f"machine, or a URL of {', '.join(known)}"
        )
    return cast(pathlib.Path, url)  # All that is used of pathlib.Path is there, too.


def _url(text: str, scheme: str) -> Any:
    """None for a scheme that epath does not know, of which it may make a folder of this machine."""
    from etils import epath

    with contextlib.suppress(KeyError):
        url = epath.Path(text)
        return url if os.fspath(url).startswith(f"{scheme}://") else None
    return None


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether something is the URL of a file system, and no path of this machine."""
    found = _URL.match(os.fspath(path))
    return found is not None and found["scheme"] != "file"


def size_of(path: pathlib.Path) -> int:
    """Bytes of a file."""
    status: Any = path.stat()
    return int(status.length if is_url(path) else status.st_size)


def absolute(path: pathlib.Path) -> pathlib.Path:
    """The same path from the root of this machine; a URL is one already."""
    return path if is_url(path) else path.absolute()


def open_bytes(path: str | os.PathLike[str]) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Opens a file, or what a URL names, for reading its bytes."""
    if not is_url(path):
        return open(path, "rb")
    return to_path(path).open("rb")


def remove(path: pathlib.Path) -> None:
    """Removes a file, or a folder with all that is in it."""
    if not path.is_dir():
        path.unlink()
    elif is_url(path):
        cast(Any, path).rmtree()
    else:
        shutil.rmtree(path)


def glob_files(pattern: str) -> list[str]:
    """The files that match the URL `pattern`, sorted."""
    import tensorflow as tf

    to_path(pattern)
    return sorted(name for name in tf.io.gfile.glob(pattern) if not tf.io.gfile.isdir(name))


def files_below(folder: pathlib.Path) -> list[str]:
    """Names of all files in a folder and those below, relative to it, sorted."""
    if not is_url(folder):
        found = (path for path in folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(folder).as_posix() for path in found)

    import tensorflow as tf

    top = os.fspath(folder)
    return sorted(
        os.path.relpath(f"{parent}/{name}".split("://")[1], top.split("://")[1])
        for parent, _, names in tf.io.gfile.walk(top)
        for name in names
        # ram:// lists assets/.extra where there are assets/ and assets.extra/.
        if tf.io.gfile.exists(f"{parent}/{name}")
    )


# ---- copies -------------------------------------------------------------------------------------


def local_copy(path: str | os.PathLike[str]) -> pathlib.Path:
    """A path of this machine with the same content: `path` itself, or a copy of what a URL names.

    The copy, of a file or a folder, has the same name and lasts as long as the process. Errors that
    name it are told with the URL (`shown_paths`).

    Raises:
        InputError: nothing is there.
    """
    source = to_path(path)
    if not is_url(source):
        return source
    target = pathlib.Path(_copies(), *os.fspath(source).split("://"))
    if source.is_dir():
        for name in files_below(source):
            copy_file(source / name, target / name)
        return target
    if not source.exists():
        raise InputError(f"cannot read {source}: No such file or directory")
    copy_file(source, target)
    return target


def copy_file(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a file from or to a URL, over what is there; makes the folders above it.

    Not every file system shows a file only when it is whole, and `ram://` appends to one that is
    there: it is copied to another name, `.NAME.part`, and renamed, which no store does with data on
    its way.
    """
    import tensorflow as tf

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    if part.exists():
        part.unlink()
    tf.io.gfile.copy(os.fspath(source), os.fspath(part), overwrite=True)
    tf.io.gfile.rename(os.fspath(part), os.fspath(target), overwrite=True)


@functools.cache
def _copies() -> str:
    folder = tempfile.mkdtemp(prefix="official_bert-copies-")
    # A worker that was forked has the same folder and does not remove it.
    atexit.register(_removed_by, os.getpid(), folder)
    return folder


def _removed_by(process: int, folder: str) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def shown_paths(text: str) -> str:
    """A message with URLs in place of their copies."""
    if not _copies.cache_info().currsize:
        return text
    return re.sub(rf"{re.escape(_copies())}/([A-Za-z][A-Za-z0-9+.-]*)/", r"\1://", text)


@contextlib.contextmanager
def scratch_folder() -> Iterator[pathlib.Path]:
    """A folder of this machine for what is to be copied to a URL; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="official_bert-") as folder:
        yield pathlib.Path(folder)
