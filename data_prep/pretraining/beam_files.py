"""Files on any file system that Apache Beam knows: this machine's, gs://, s3://, hdfs://."""

from __future__ import annotations

import hashlib
import shutil
from typing import Any

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from official_bert.errors import InputError

_HASH_BLOCK = 1 << 20


def exists(path: str) -> bool:
    """True for a file, and for a folder with something in it."""
    return FileSystems.exists(path) and (not _is_folder(path) or bool(matching(f"{path}/*")))


def _is_folder(path: str) -> bool:
    return not any(found.path == path for found in FileSystems.match([path])[0].metadata_list)


def matching(pattern: str) -> list[str]:
    """Files that match a glob, sorted."""
    return sorted(found.path for found in FileSystems.match([pattern])[0].metadata_list)


def expand_inputs(pattern: str) -> list[str]:
    """As `corpus.expand_inputs`: names, globs or several of both with commas between, each once.

    Raises:
        InputError: nothing is given, or a name or glob matches no file.
    """
    paths: dict[str, None] = {}
    for part in filter(None, (part.strip() for part in pattern.split(","))):
        found = matching(part)
        if not found:
            raise InputError(f"--input_file={part} matches no file: give text files")
        paths.update(dict.fromkeys(found))
    if not paths:
        raise InputError(f"--input_file={pattern!r} names no file: give a text file")
    return list(paths)


def make_folders(*paths: str) -> None:
    """Makes folders, with those above them; where a file system has none, does nothing."""
    for path in paths:
        if not FileSystems.exists(path):
            FileSystems.mkdirs(path)


def delete(path: str) -> None:
    """Deletes a file or a folder with all that is in it, if it is there."""
    if FileSystems.exists(path):
        FileSystems.delete([path])


def rename(source: str, target: str) -> None:
    """Gives a file another name."""
    FileSystems.rename([source], [target])


def open_text(path: str) -> Any:
    """Opens a file for reading bytes, unpacked by its ending."""
    return FileSystems.open(path)


def sha256(path: str) -> str:
    """Hex sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        while block := file.read(_HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read(path: str) -> bytes:
    """The bytes of a small file."""
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        return bytes(file.read())


def write(path: str, content: bytes) -> None:
    """Writes a small file."""
    with FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        file.write(content)


def upload(local: str, path: str) -> None:
    """Copies a file of this machine to `path`."""
    with (
        open(local, "rb") as source,
        FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED) as target,
    ):
        shutil.copyfileobj(source, target)
