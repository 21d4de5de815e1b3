"""Reads a pytorch_model.bin without PyTorch and without running anything that stands in it.

Such a file is a pickle, which can name any function and have it called. Here the unpickler knows
five names, those that a file of tensors needs, and refuses all others. The tensors' bytes lie
outside the pickle and are read when they are wanted.

There are two layouts: a zip archive (PyTorch 1.6 and later), and before that a row of pickles
followed by the storages (torch.serialization, `_save` and `_legacy_save`).
"""

from __future__ import annotations

import collections
import dataclasses
import io
import math
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from official_bert.checkpoints.tensors import StoredTensor
from official_bert.errors import InputError

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
# Little-endian, as the files are; bfloat16 has no NumPy type and is widened by hand.
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}


@dataclasses.dataclass
class _Storage:
    kind: str
    key: str
    count: int

    @property
    def size(self) -> int:
        return self.count * np.dtype(_STORAGES[self.kind]).itemsize


@dataclasses.dataclass
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_torch_file(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """The tensors of a state dict by name.

    Raises:
        InputError: not such a file, truncated, or it holds something else than tensors.
    """
    try:
        with open(path, "rb") as file:
            is_zip = file.read(4) == b"PK\x03\x04"
        return _read_zip(path) if is_zip else _read_legacy(path)
    except (
        pickle.UnpicklingError,
        zipfile.BadZipFile,
        EOFError,
        struct.error,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a PyTorch state dict, or is truncated: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _read_zip(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pickles = [name for name in names if name.split("/")[-1] == "data.pkl"]
        if len(pickles) != 1:
            raise InputError(f"{path} is a zip archive, but not of a PyTorch state dict")
        root = pickles[0].removesuffix("data.pkl")
        if root + "byteorder" in names and archive.read(root + "byteorder") != b"little":
            raise InputError(f"{path} has big-endian numbers: save it on another machine")
        state = _unpickle(io.BytesIO(archive.read(pickles[0])), path)
        entries = {info.filename: info for info in archive.infolist()}

    def reader(storage: _Storage) -> Callable[[], bytes]:
        info = entries.get(f"{root}data/{storage.key}")
        if info is None or info.file_size != storage.size or info.compress_size != storage.size:
            found = "nothing" if info is None else f"{info.file_size} bytes"
            raise InputError(
                f"{path} is damaged: storage {storage.key} should have {storage.size} bytes, "
                f"there is {found}"
            )

        def read() -> bytes:
            with zipfile.ZipFile(path) as archive:
                return archive.read(info)

        return read

    return _stored_tensors(state, path, reader)


def _read_legacy(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    size = os.path.getsize(path)
    offsets: dict[str, int] = {}
    with open(path, "rb") as file:
        if _unpickle(file, path) != _LEGACY_MAGIC or _unpickle(file, path) != _LEGACY_PROTOCOL:
            raise InputError(f"{path} is not a PyTorch file")
        if not _unpickle(file, path)["little_endian"]:
            raise InputError(f"{path} has big-endian numbers: save it on another machine")
        storages: dict[str, _Storage] = {}
        state = _unpickle(file, path, storages)
        for key in _unpickle(file, path):
            (count,) = struct.unpack("<q", file.read(8))
            storage = storages[key]
            offsets[key] = file.tell()
            if count != storage.count or offsets[key] + storage.size > size:
                raise InputError(
                    f"{path} is truncated: storage {key} of {storage.size} bytes at byte "
                    f"{offsets[key]}, the file has {size}"
                )
            file.seek(storage.size, os.SEEK_CUR)

    def reader(storage: _Storage) -> Callable[[], bytes]:
        def read() -> bytes:
            with open(path, "rb") as file:
                file.seek(offsets[storage.key])
                return file.read(storage.size)

        return read

    return _stored_tensors(state, path, reader)


def _stored_tensors(
    state: Any, path: Any, reader: Callable[[_Storage], Callable[[], bytes]]
) -> dict[str, StoredTensor]:
    if not isinstance(state, dict):
        raise InputError(f"{path} holds a {type(state).__name__}, not a state dict")
    tensors = {}
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, _Tensor):
            raise InputError(
                f"{path} is not a state dict: {name!r} is a {type(value).__name__}; save "
                "model.state_dict() alone"
            )
        steps = zip(value.shape, value.strides, strict=True)
        last = value.offset + sum((size - 1) * stride for size, stride in steps)
        if math.prod(value.shape) and (
            min(value.offset, *value.shape, *value.strides, 0) < 0 or last >= value.storage.count
        ):
            raise InputError(f"{path} is damaged: {name} reaches outside its storage")
        tensors[name] = StoredTensor(name, value.shape, _array_reader(value, reader(value.storage)))
    return tensors


def _array_reader(tensor: _Tensor, read: Callable[[], bytes]) -> Callable[[], np.ndarray]:
    def array() -> np.ndarray:
        flat = np.frombuffer(read(), _STORAGES[tensor.storage.kind])
        strides = [stride * flat.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(
            flat[tensor.offset :], tensor.shape, strides, writeable=False
        )
        if tensor.storage.kind == "BFloat16Storage":
            return (view.astype(np.uint32) << 16).view(np.float32)
        return view.astype(np.float32, copy=False)

    return array


def _unpickle(file: BinaryIO, path: Any, storages: dict[str, _Storage] | None = None) -> Any:
    return _TensorUnpickler(file, path, {} if storages is None else storages).load()


class _TensorUnpickler(pickle.Unpickler):
    """Knows the names that a state dict needs; whatever else a pickle names is an error."""

    def __init__(self, file: BinaryIO, path: Any, storages: dict[str, _Storage]):
        super().__init__(file)
        self._path = path
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in _STORAGES:
            return name
        raise InputError(
            f"{self._path} is refused: it asks for {module}.{name}, which is no part of a file of "
            "tensors, and running it could do anything; save the weights as safetensors"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        tag, kind, key, _, count, *_ = pid
        if tag != "storage" or kind not in _STORAGES or not isinstance(count, int) or count < 0:
            raise InputError(f"{self._path} is refused: unknown reference {pid!r}")
        storage = _Storage(kind, str(key), count)
        return self._storages.setdefault(storage.key, storage)


def _rebuild_tensor(
    storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> _Tensor:
    return _Tensor(storage, offset, tuple(size), tuple(stride))


def _rebuild_parameter(tensor: _Tensor, *_: Any) -> _Tensor:
    return tensor
