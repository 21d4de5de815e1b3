"""Makes TensorFlow checkpoints whose index is written by hand, with checksums that are right."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
from tensorflow.core.protobuf import tensor_bundle_pb2

MAGIC = 0xDB4775248B80FB57


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def masked_crc32c(content: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def block(entries: list[tuple[bytes, bytes]], restarts: list[int] | None = None) -> bytes:
    """Each entry whole, one restart; with its checksum."""
    content = b"".join(
        varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in entries
    )
    for restart in [0] if restarts is None else restarts:
        content += restart.to_bytes(4, "little")
    content += len([0] if restarts is None else restarts).to_bytes(4, "little")
    return trailed(content)


def trailed(content: bytes, kind: int = 0) -> bytes:
    return content + bytes([kind]) + masked_crc32c(content + bytes([kind]))


def table(blocks: list[bytes], limits: list[bytes], handles: list[bytes] | None = None) -> bytes:
    """A whole index file of blocks with trailers."""
    content, places = b"", []
    for each in blocks:
        places.append(varint(len(content)) + varint(len(each) - 5))
        content += each
    further = varint(len(content)) + varint(8)
    content += trailed(bytes(4) + (1).to_bytes(4, "little"))
    index = block(list(zip(limits, handles or places, strict=True)))
    footer = further + varint(len(content)) + varint(len(index) - 5)
    return content + index + footer.ljust(40, b"\0") + MAGIC.to_bytes(8, "little")


def header(num_shards: int = 1, endianness: int = 0) -> bytes:
    proto = tensor_bundle_pb2.BundleHeaderProto(num_shards=num_shards, endianness=endianness)
    proto.version.producer = 1
    return proto.SerializeToString()


@dataclasses.dataclass
class Entry:
    """A tensor as its index describes it; the default is right for six zeros."""

    dtype: int = 1
    shape: tuple[int, ...] = (2, 3)
    shard: int = 0
    offset: int = 0
    size: int = 24
    crc: int = 0
    unknown_rank: bool = False
    slices: int = 0

    def encoded(self) -> bytes:
        proto = tensor_bundle_pb2.BundleEntryProto(
            dtype=self.dtype,
            shard_id=self.shard,
            offset=self.offset,
            size=self.size,
            crc32c=self.crc,
        )
        for size in self.shape:
            proto.shape.dim.add(size=size)
        proto.shape.unknown_rank = self.unknown_rank
        for _ in range(self.slices):
            proto.slices.add().extent.add(start=0, length=2)
        return proto.SerializeToString()


ZEROS_CRC = int.from_bytes(masked_crc32c(bytes(24)), "little")


def write_checkpoint(
    prefix: pathlib.Path,
    entries: dict[bytes, bytes] | None = None,
    content: bytes = bytes(24),
    head: bytes | None = None,
    index: bytes | None = None,
) -> pathlib.Path:
    """One data block with the header and these entries, and one data file."""
    if entries is None:
        entries = {b"a": Entry(crc=ZEROS_CRC).encoded()}
    if index is None:
        items = [(b"", header() if head is None else head), *sorted(entries.items())]
        index = table([block(items)], [items[-1][0] + b"z"])
    prefix.with_name(f"{prefix.name}.index").write_bytes(index)
    prefix.with_name(f"{prefix.name}.data-00000-of-00001").write_bytes(content)
    return prefix


def strings(*values: bytes, lengths: list[int] | None = None) -> bytes:
    """The bytes of a tensor of strings: lengths, their checksum, the strings."""
    lengths = [len(value) for value in values] if lengths is None else lengths
    # The checksum of the lengths is taken over four bytes each.
    summed = b"".join(int(np.uint32(length % 2**32)).to_bytes(4, "little") for length in lengths)
    return b"".join(map(varint, lengths)) + masked_crc32c(summed) + b"".join(values)
