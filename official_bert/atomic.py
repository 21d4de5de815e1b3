"""Nothing half-written under a final name: write to a temporary name, then rename."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import IO, Any

from official_bert.errors import InputError


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Opens a temporary file beside `path` and renames it to `path` when the block ends well.

    Args:
        path: the final name; its folder must exist.
        mode: "w" (UTF-8, "\\n" line ends) or "wb".
    """
    final = pathlib.Path(path)
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(temporary, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, overwrite: bool = False
) -> Iterator[pathlib.Path]:
    """Gives an empty temporary folder and renames it to `path` when the block ends well.

    If the block raises, the temporary folder is removed and what stood at `path` is untouched.

    Raises:
        InputError: `path` exists, is not an empty folder, and `overwrite` is false.
    """
    final = pathlib.Path(path).absolute()
    check_free(final, overwrite=overwrite)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = final.with_name(f".{final.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        replace_folder(temporary, final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_free(path: pathlib.Path, *, overwrite: bool) -> None:
    """Raises InputError if `path` holds anything and may not be overwritten."""
    if overwrite or not path.exists():
        return
    if not path.is_dir() or any(path.iterdir()):
        raise InputError(
            f"{path} is there already: give another name, or --overwrite to replace it"
        )


def replace_folder(source: pathlib.Path, final: pathlib.Path) -> None:
    """Renames the folder `source` to `final`; an older `final` is removed only afterwards."""
    old = final.with_name(f".{final.name}.{os.getpid()}.old")
    if final.exists():
        os.rename(final, old)
    os.rename(source, final)
    shutil.rmtree(old, ignore_errors=True)
