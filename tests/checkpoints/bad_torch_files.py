"""Makes PyTorch files whose pickles are written by hand, instruction by instruction."""

from __future__ import annotations

import pathlib
import struct
import zipfile

MAGIC = 0x1950A86A20F9469CFC6C


def text(value: str) -> bytes:
    content = value.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def number(value: int) -> bytes:
    content = value.to_bytes(16, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def sizes(*values: int) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(key: bytes = text("0"), kind: str = "FloatStorage", count: int = 6) -> bytes:
    parts = text("storage") + name("torch", kind) + key + text("cpu") + number(count)
    return b"(" + parts + b"tQ"


def tensor(
    where: bytes | None = None,
    offset: bytes = number(0),
    shape: bytes = sizes(2, 3),
    strides: bytes = sizes(3, 1),
    rest: bytes = b"\x89" + name("collections", "OrderedDict") + b")R",
) -> bytes:
    arguments = (storage() if where is None else where) + offset + shape + strides + rest
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + arguments + b"tR"


def state(*items: bytes) -> bytes:
    """The pickle of a dictionary; items are keys and values by turns."""
    return b"\x80\x02}(" + b"".join(items) + b"u."


GOOD = state(text("a"), tensor())


def write_zip(
    path: pathlib.Path,
    pickle: bytes = GOOD,
    storages: dict[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
) -> pathlib.Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", pickle)
        archive.writestr("archive/byteorder", b"little")
        for key, content in ({"0": bytes(24)} if storages is None else storages).items():
            archive.writestr(f"archive/data/{key}", content)
    return path


def write_legacy(
    path: pathlib.Path,
    pickle: bytes = GOOD,
    keys: bytes = b"\x80\x02](" + text("0") + b"e.",
    storages: bytes = struct.pack("<q", 6) + bytes(24),
    system: bytes = state(text("little_endian"), b"\x88"),
) -> pathlib.Path:
    head = b"\x80\x02" + number(MAGIC) + b"." + b"\x80\x02" + number(1001) + b"." + system
    path.write_bytes(head + pickle + keys + storages)
    return path
