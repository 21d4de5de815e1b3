"""Reads a pytorch_model.bin without PyTorch and without running anything that stands in it.

There are two layouts: a zip archive (PyTorch 1.6 and later), and before that a row of pickles
followed by the storages (torch.serialization, `_save` and `_legacy_save`). The pickles say which
part of which storage each tensor is (`official_bert.checkpoints.tensor_pickle`); the numbers are
read when they are wanted, and never from further than the bytes of the file reach.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from official_bert.checkpoints.tensor_pickle import (
    MAX_BYTES,
    PickleReader,
    Storage,
    Tensor,
    element_type,
)
from official_bert.checkpoints.tensors import StoredTensor, is_name
from official_bert.errors import InputError, shown
from official_bert.regular_file import check_regular

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
# The directory of a zip archive takes some ten times its size in memory.
_MAX_DIRECTORY_BYTES = 8 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_BLOCK = 1 << 20
_ENCRYPTED = 0x1


def read_torch_file(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """The tensors of a state dict by name.

    Raises:
        InputError: not such a file, truncated, or it holds something else than tensors.
    """
    size = check_regular(path)
    try:
        with open(path, "rb") as file:
            is_zip = file.read(4) == b"PK\x03\x04"
        return _read_zip(path) if is_zip else _read_legacy(path, size)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _damaged(path: Any, reason: str) -> InputError:
    return InputError(f"{path} is not a PyTorch state dict, or is truncated: {reason}")


# ---- the zip archive --------------------------------------------------------------------------


class _DirectoryFile(io.FileIO):
    """For `zipfile`, which reads the whole directory of an archive, whatever size it claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size - self.tell()
        if size > _MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"the directory of the archive has {size} bytes")
        return super().read(size) or b""


def _read_zip(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    try:
        with _DirectoryFile(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as error:
        raise _damaged(path, str(error)) from error
    entries = {info.filename: info for info in members}
    if len(entries) != len(members):
        raise _damaged(path, "two members of the archive have the same name")
    pickles = [name for name in entries if name.split("/")[-1] == "data.pkl"]
    if len(pickles) != 1:
        raise InputError(f"{path} is a zip archive, but not of a PyTorch state dict")
    root = pickles[0].removesuffix("data.pkl")
    order = entries.get(f"{root}byteorder")
    if order is not None and _read_member(path, order, limit=16) != b"little":
        raise InputError(f"{path} has big-endian numbers: save it on another machine")
    reader = PickleReader(_read_member(path, entries[pickles[0]], limit=MAX_BYTES), path)
    tensors = _state_dict(reader.load(), path)
    checked: set[str] = set()

    def find(storage: Storage) -> Callable[[int, int], bytes]:
        info = entries.get(f"{root}data/{storage.key}")
        if info is None or info.file_size != storage.size:
            found = "nothing" if info is None else f"{info.file_size} bytes"
            raise InputError(
                f"{path} is damaged: storage {shown(storage.key)} should have {storage.size} "
                f"bytes, there is {found}"
            )
        start = _member_start(path, info)

        def read(first: int, count: int) -> bytes:
            if storage.key not in checked:
                _check_sum(path, start, info)
                checked.add(storage.key)
            return _read_range(path, start + first, count)

        return read

    return _stored_tensors(tensors, find)


def _read_member(path: Any, info: zipfile.ZipInfo, *, limit: int) -> bytes:
    if info.file_size > limit:
        raise _damaged(path, f"{shown(info.filename)} has {info.file_size} bytes")
    start = _member_start(path, info)
    _check_sum(path, start, info)
    return _read_range(path, start, info.file_size)


def _member_start(path: Any, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin; it must be stored as it is, and lie inside the file."""
    if (
        info.compress_type != zipfile.ZIP_STORED
        or info.flag_bits & _ENCRYPTED
        or info.file_size != info.compress_size
    ):
        raise _damaged(path, f"{shown(info.filename)} is compressed, as PyTorch never writes it")
    header = _read_range(path, info.header_offset, _LOCAL_HEADER.size)
    magic, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    if magic != b"PK\x03\x04" or start + info.file_size > os.path.getsize(path):
        raise _damaged(path, f"{shown(info.filename)} does not lie where the archive says")
    return start


def _check_sum(path: Any, start: int, info: zipfile.ZipInfo) -> None:
    checksum, left = 0, info.file_size
    with open(path, "rb") as file:
        file.seek(start)
        while left and (block := file.read(min(left, _BLOCK))):
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
    if checksum != info.CRC:
        raise _damaged(path, f"{shown(info.filename)} has another checksum than the archive says")


# ---- the layout before --------------------------------------------------------------------------


def _read_legacy(path: str | os.PathLike[str], size: int) -> dict[str, StoredTensor]:
    content = _read_range(path, 0, min(size, MAX_BYTES))
    reader = PickleReader(content, path)
    if not content.startswith(b"\x80"):
        raise InputError(f"{path} is not a PyTorch file")
    if reader.load() != _LEGACY_MAGIC or reader.load() != _LEGACY_PROTOCOL:
        raise InputError(f"{path} is not a PyTorch file")
    system = reader.load()
    if type(system) is not dict or system.get("little_endian") is not True:
        raise InputError(f"{path} has big-endian numbers: save it on another machine")
    tensors = _state_dict(reader.load(), path)
    storages, keys = dict(reader.storages), reader.load()
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise _damaged(path, "it has no list of storages")
    starts: dict[str, int] = {}
    at = reader.position
    for key in keys:
        storage = storages.get(key)
        if storage is None or key in starts:
            raise _damaged(path, f"it has a storage {shown(key)} that is used nowhere, or twice")
        (count,) = struct.unpack("<q", _read_range(path, at, 8))
        starts[key] = at + 8
        at += 8 + storage.size
        if count != storage.count or at > size:
            raise InputError(
                f"{path} is truncated: storage {shown(key)} of {storage.size} bytes at byte "
                f"{starts[key]}, the file has {size}"
            )

    def find(storage: Storage) -> Callable[[int, int], bytes]:
        if storage.key not in starts:
            raise _damaged(path, f"it has no storage {shown(storage.key)}")
        start = starts[storage.key]
        return lambda first, count: _read_range(path, start + first, count)

    return _stored_tensors(tensors, find)


# ---- both ---------------------------------------------------------------------------------------


def _read_range(path: Any, start: int, count: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(start)
            content = file.read(count)
    except (OSError, OverflowError) as error:
        raise _damaged(path, str(error)) from error
    if len(content) != count:
        raise _damaged(path, f"{count} bytes are wanted at byte {start}, it has {len(content)}")
    return content


def _state_dict(value: Any, path: Any) -> dict[str, Tensor]:
    if type(value) is not dict:
        raise InputError(f"{path} holds a {type(value).__name__}, not a state dict")
    for name, tensor in value.items():
        if type(name) is not str or not is_name(name) or type(tensor) is not Tensor:
            raise InputError(
                f"{path} is not a state dict: {shown(name)} is a {type(tensor).__name__}; save "
                "model.state_dict() alone"
            )
    return value


def _stored_tensors(
    tensors: dict[str, Tensor], find: Callable[[Storage], Callable[[int, int], bytes]]
) -> dict[str, StoredTensor]:
    return {
        name: StoredTensor(
            name, tensor.shape, _array_reader(tensor, find(tensor.storage)), tensor.storage.dtype
        )
        for name, tensor in tensors.items()
    }


def _array_reader(tensor: Tensor, read: Callable[[int, int], bytes]) -> Callable[[], np.ndarray]:
    kind = element_type(tensor.storage.dtype)
    steps = zip(tensor.shape, tensor.strides, strict=True)
    count = 1 + sum((size - 1) * stride for size, stride in steps)

    def array() -> np.ndarray:
        if 0 in tensor.shape:
            return np.zeros(tensor.shape, np.float32)
        content = read(tensor.offset * kind.itemsize, count * kind.itemsize)
        # Unlike `as_strided` this compares the strides with the size of the buffer.
        view: np.ndarray = np.ndarray(
            tensor.shape, kind, content, strides=[s * kind.itemsize for s in tensor.strides]
        )
        if tensor.storage.dtype == "bfloat16":
            return (view.astype(np.uint32) << 16).view(np.float32)
        return view.astype(np.float32, copy=False)

    return array
