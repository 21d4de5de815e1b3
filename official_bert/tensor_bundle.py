"""Checks a TensorFlow checkpoint before TensorFlow reads it.

TensorFlow trusts a checkpoint: a negative size, an unknown type or a string of 2 ** 60 bytes in it
ends the process with SIGABRT, and no `except` sees it. So the index is read here first. It is a
table in the format of LevelDB (tensorflow/core/lib/io/table_format.txt) that maps a name to a
`BundleEntryProto`: type, shape, and where in which data file the values lie. What passes is what
TensorFlow itself writes, with every tensor inside its file.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
import itertools
import math
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from google.protobuf import message
from tensorflow.core.protobuf import tensor_bundle_pb2

from official_bert.errors import InputError, shown
from official_bert.path import is_url, open_bytes, to_path
from official_bert.regular_file import check_regular, read_bytes

STATE_NAME = "checkpoint"
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# An index has some sixty to two hundred bytes a tensor; BERT-Large in training has 1,200 tensors.
_MAX_INDEX_BYTES = 16 << 20
_MAX_TENSORS = 100_000
_MAX_SHARDS = 100_000
_MAX_DIMENSIONS = 16
_MAX_NAME_BYTES = 4096
# Strings of all tensors together: the object graph, a vocabulary.
_MAX_STRING_BYTES = 64 << 20
_MAX_STRINGS = 1_000_000
_MAX_OBJECT_GRAPH_BYTES = 8 << 20
_MAX_STATE_BYTES = 1 << 20
_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5
# Before a string of a tensor stands its length, and behind the lengths their checksum.
_CHECKSUM_BYTES = 4
_GLOBS = re.compile(r"[*?\[\\]")
_STATE_PATH = re.compile(rb'^\s*model_checkpoint_path\s*:\s*"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
# Bytes that are not ASCII stand there as three octal digits.
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
_NUMBERS = {
    dtype.as_datatype_enum: dtype
    for dtype in (
        *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128, tf.bool),
        *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
    )
}


@dataclasses.dataclass(frozen=True)
class BundleEntry:
    """Where a tensor of a checkpoint lies.

    Attributes:
        dtype: numbers of a fixed size, or strings.
        shape: sizes; it is never of unknown rank.
        shard: number of the data file.
        offset: of its first byte there.
        size: in bytes.
    """

    dtype: tf.DType
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int


def check_index(prefix: str | os.PathLike[str]) -> dict[str, BundleEntry]:
    """Checks everything of a checkpoint that TensorFlow would believe.

    Args:
        prefix: path of the checkpoint without `.index`.

    Returns:
        Its tensors by name.

    Raises:
        InputError: a file is missing, is no regular file or is damaged; a tensor has an unknown
            type, an impossible shape, another size than that needs, does not lie in its file, or
            lies where another one does.
    """
    index = _Index(f"{os.fspath(prefix)}.index")
    entries = index.entries()
    first = next(entries, None)
    header = tensor_bundle_pb2.BundleHeaderProto()
    if first is None or first[0] != b"" or not _parsed(header, first[1]):
        raise index.damaged("it has no header")
    if not 1 <= header.num_shards <= _MAX_SHARDS:
        raise index.damaged(f"it names {header.num_shards} data files")
    if header.endianness != tensor_bundle_pb2.BundleHeaderProto.LITTLE:
        raise index.damaged("its numbers are big-endian, or it does not say what they are")
    shards = _Shards(os.fspath(prefix), header.num_shards)
    tensors: dict[str, BundleEntry] = {}
    for key, value in entries:
        name = _name(index, key)
        tensors[name] = _entry(index, name, value, shards)
        if len(tensors) > _MAX_TENSORS:
            raise index.damaged(f"it names more than {_MAX_TENSORS} tensors")
    _check_apart(index, tensors)
    _check_strings(index, tensors, shards)
    graph = tensors.get(OBJECT_GRAPH)
    if graph and (graph.dtype, graph.shape) != (tf.string, ()):
        raise index.damaged(f"{OBJECT_GRAPH} is no string")
    if graph and graph.size > _MAX_OBJECT_GRAPH_BYTES:
        raise index.damaged(f"{OBJECT_GRAPH} has {graph.size} bytes")
    return tensors


def literal_prefix(prefix: str | os.PathLike[str]) -> str:
    """A prefix by which TensorFlow finds this checkpoint and no other.

    TensorFlow reads prefixes as patterns: in a folder `m[1]` it finds nothing. For such a name this
    gives another, of links to the same files, which lasts as long as the process.
    """
    prefix = os.fspath(prefix)
    if is_url(prefix) or not _GLOBS.search(prefix):
        return prefix
    folder = tempfile.mkdtemp(dir=_links())
    parent, name = os.path.split(os.path.abspath(prefix))
    for file in os.listdir(parent):
        if file.startswith((f"{name}.index", f"{name}.data-")):
            os.symlink(os.path.join(parent, file), f"{folder}/ckpt{file.removeprefix(name)}")
    return f"{folder}/ckpt"


def newest_prefix(folder: str | os.PathLike[str]) -> pathlib.Path | None:
    """The checkpoint that the file `checkpoint` of a folder names, where it lies in that folder.

    The file holds a path, often an absolute one, of the place where the folder was written. A
    copied folder has its own checkpoint under the same name, so the name is looked up in the
    folder, and a path that leads out of it is not followed.

    Raises:
        InputError: the file `checkpoint` is there, and is no text.
    """
    folder = to_path(folder)
    state = folder / STATE_NAME
    # To ram://, the beginning of a folder's name is a folder, too: checkpoints/ makes checkpoint.
    if not (state.is_file() if is_url(state) else state.exists()):
        return None
    found = _STATE_PATH.search(read_bytes(folder / STATE_NAME, limit=_MAX_STATE_BYTES))
    try:
        path = _ESCAPE.sub(_unescaped, found[1]).decode("utf-8") if found else ""
    except ValueError as error:
        raise InputError(f"{folder / STATE_NAME} is not what TensorFlow writes: {error}") from error
    recorded = pathlib.PurePath(path)
    if not recorded.name:
        return None
    inside = [folder / recorded.name]
    if not recorded.is_absolute() and ".." not in recorded.parts:
        inside.append(folder / recorded)
    return next((prefix for prefix in inside if _has_index(prefix)), None)


def _has_index(prefix: pathlib.Path) -> bool:
    try:
        return to_path(f"{prefix}.index").exists()
    except OSError:  # A name that is too long for this disk.
        return False


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8)]) if match[1] else match[2]


@functools.cache
def _links() -> str:
    folder = tempfile.mkdtemp(prefix="official_bert-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


# ---- entries ------------------------------------------------------------------------------------


class _Shards:
    """The data files of a checkpoint, each looked at when the first tensor of it is met."""

    def __init__(self, prefix: str, count: int):
        self._prefix, self.count = prefix, count
        self._sizes: dict[int, int] = {}

    def path(self, shard: int) -> str:
        return f"{self._prefix}.data-{shard:05d}-of-{self.count:05d}"

    def size(self, shard: int) -> int:
        if shard not in self._sizes:
            self._sizes[shard] = check_regular(self.path(shard))
        return self._sizes[shard]

    def read(self, entry: BundleEntry) -> bytes:
        with open_bytes(self.path(entry.shard)) as file:
            file.seek(entry.offset)
            return file.read(entry.size)


def _parsed(target: message.Message, content: bytes) -> bool:
    try:
        target.ParseFromString(content)
    except message.DecodeError:
        return False
    return True


def _name(index: _Index, key: bytes) -> str:
    try:
        name = key.decode("utf-8")
    except UnicodeDecodeError as error:
        raise index.damaged(f"a tensor has the name {shown(key)}") from error
    if key.startswith(b"\0"):
        raise index.damaged("it has a variable in slices: save it as one")
    if not name.isprintable():
        raise index.damaged(f"a tensor has the name {shown(name)}")
    return name


def _entry(index: _Index, name: str, value: bytes, shards: _Shards) -> BundleEntry:
    proto = tensor_bundle_pb2.BundleEntryProto()
    if not _parsed(proto, value):
        raise index.damaged(f"what it says of {shown(name)} cannot be read")
    if proto.slices:
        raise index.damaged(f"{shown(name)} lies in {len(proto.slices)} slices: save it as one")
    dtype = tf.string if proto.dtype == tf.string.as_datatype_enum else _NUMBERS.get(proto.dtype)
    if dtype is None:
        raise index.damaged(f"{shown(name)} has the type {proto.dtype}")
    shape = tuple(dimension.size for dimension in proto.shape.dim[: _MAX_DIMENSIONS + 1])
    if proto.shape.unknown_rank or len(shape) > _MAX_DIMENSIONS or min(shape, default=0) < 0:
        raise index.damaged(f"{shown(name)} has the shape {shown(list(shape))}")
    entry = BundleEntry(dtype, shape, proto.shard_id, proto.offset, proto.size)
    if not 0 <= entry.shard < shards.count:
        raise index.damaged(
            f"{shown(name)} is said to lie in data file {entry.shard} of {shards.count}"
        )
    end = entry.offset + entry.size
    if min(entry.offset, entry.size) < 0 or end > shards.size(entry.shard):
        raise InputError(
            f"{shards.path(entry.shard)} is truncated, or {index.path} is damaged: {shown(name)} "
            f"should lie at bytes {entry.offset} to {end}, the file has {shards.size(entry.shard)}"
        )
    # Also where there are no elements, the sizes together must be a number of elements.
    if math.prod(size for size in shape if size) >= 1 << 60 or (
        dtype != tf.string and entry.size != math.prod(shape) * dtype.size
    ):
        raise index.damaged(
            f"{shown(name)} has {entry.size} bytes, which is not what {dtype.name} of shape "
            f"{shown(list(shape))} needs"
        )
    return entry


def _check_apart(index: _Index, tensors: dict[str, BundleEntry]) -> None:
    """Whatever the index says, all tensors together have no more bytes than the files."""
    filled = ((e.shard, e.offset, e.size, name) for name, e in tensors.items() if e.size)
    for first, second in itertools.pairwise(sorted(filled)):
        if first[0] == second[0] and first[1] + first[2] > second[1]:
            raise index.damaged(f"{shown(first[3])} and {shown(second[3])} lie in the same place")


def _check_strings(index: _Index, tensors: dict[str, BundleEntry], shards: _Shards) -> None:
    """Each length is believed when memory is taken for it, before the checksum is looked at."""
    strings = {name: entry for name, entry in tensors.items() if entry.dtype == tf.string}
    if sum(entry.size for entry in strings.values()) > _MAX_STRING_BYTES:
        raise index.damaged(f"it has more than {_MAX_STRING_BYTES} bytes of strings")
    if sum(math.prod(entry.shape) for entry in strings.values()) > _MAX_STRINGS:
        raise index.damaged(f"it has more than {_MAX_STRINGS} strings")
    for name, entry in strings.items():
        content, count = shards.read(entry), math.prod(entry.shape)
        at = total = 0
        try:
            for _ in range(count):
                length, at = read_varint(content, at)
                total += length
        except _DamagedError as error:
            raise index.damaged(f"the lengths of the strings of {shown(name)}: {error}") from error
        if entry.size != (at + _CHECKSUM_BYTES + total if count else 0):
            raise index.damaged(
                f"{shown(name)} has {entry.size} bytes, which is not what its {count} strings need"
            )


# ---- the table ----------------------------------------------------------------------------------


class _DamagedError(ValueError):
    """Bytes that are not what the format says."""


class _Index:
    """The table in an index file."""

    def __init__(self, path: str):
        self.path = path
        self._content = read_bytes(path, limit=_MAX_INDEX_BYTES)

    def damaged(self, reason: str) -> InputError:
        return InputError(f"{self.path} is damaged, or no index of a checkpoint: {reason}")

    def entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values; the keys ascend.

        Raises:
            InputError: the table is damaged.
        """
        try:
            last: bytes | None = None
            position = 0
            for limit, handle in self._block(*self._index_handle()):
                offset, at = read_varint(handle, 0)
                size, at = read_varint(handle, at)
                if at != len(handle):
                    raise _DamagedError("a block's position has more than two numbers")
                if offset < position:
                    raise _DamagedError("its blocks do not follow each other")
                position = offset + size
                for key, value in self._block(offset, size):
                    if last is not None and key <= last:
                        raise _DamagedError("its names do not ascend")
                    last = key
                    yield key, value
                # TensorFlow finds a name by the limits of the blocks.
                if last is None or last > limit:
                    raise _DamagedError("a block has names that lie beyond it")
                last = limit
        except _DamagedError as error:
            raise self.damaged(str(error)) from error

    def _index_handle(self) -> tuple[int, int]:
        footer = self._content[-_FOOTER_BYTES:]
        if len(footer) < _FOOTER_BYTES or int.from_bytes(footer[-8:], "little") != _MAGIC:
            raise _DamagedError("it does not end as such a file does: it is truncated")
        at = 0
        for _ in range(2):  # the block of further indexes, which is empty
            _, at = read_varint(footer, at)
        offset, at = read_varint(footer, at)
        size, at = read_varint(footer, at)
        return offset, size

    def _block(self, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        end = offset + size
        if end + _TRAILER_BYTES > len(self._content) - _FOOTER_BYTES:
            raise _DamagedError(
                f"a block at byte {offset} of {size} bytes, it has {len(self._content)}"
            )
        block, kind = self._content[offset:end], self._content[end]
        if kind != 0:
            raise _DamagedError("a block is compressed, as TensorFlow never writes it")
        checksum = int.from_bytes(self._content[end + 1 : end + _TRAILER_BYTES], "little")
        if checksum != _masked(_crc32c(self._content[offset : end + 1])):
            raise _DamagedError(f"the checksum of the block at byte {offset} is another")
        return _block_entries(block)


def _block_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """An entry is: shared bytes with the key before, further bytes, bytes of the value; both.

    At the end of a block stand the offsets of those entries that share nothing, for searching.
    """
    count = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (count + 1)
    if end <= 0 or count == 0:
        raise _DamagedError(f"a block of {len(block)} bytes is said to have {count} restarts")
    restarts = np.frombuffer(block, "<u4", count, end).tolist()
    wholes = set()
    at, key = 0, b""
    while at < end:
        start = at
        shared, at = read_varint(block, at)
        more, at = read_varint(block, at)
        length, at = read_varint(block, at)
        if shared > len(key) or at + more + length > end or shared + more > _MAX_NAME_BYTES:
            raise _DamagedError(f"an entry at byte {start} of a block does not fit into it")
        if shared == 0:
            wholes.add(start)
        key = key[:shared] + block[at : at + more]
        at += more + length
        yield key, block[at - length : at]
    ascend = all(first < second for first, second in itertools.pairwise(restarts))
    if restarts[0] != 0 or not ascend or not wholes.issuperset(restarts):
        raise _DamagedError("the restarts of a block are not where its entries are")


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, the lowest first, and the position behind it.

    Raises:
        ValueError: it is cut off, or has more than 63 bits.
    """
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(content):
            raise _DamagedError("it ends in the middle of a number")
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 63:
                break
            return value, at
    raise _DamagedError("a number is too large")


def _crc32c(content: bytes) -> int:
    """The Castagnoli checksum, which zlib has not."""
    table, checksum = _crc_table(), 0xFFFFFFFF
    for byte in content:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ 0xFFFFFFFF


def _masked(checksum: int) -> int:
    """As LevelDB stores it, so that a checksum of bytes with checksums in them is none."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


@functools.cache
def _crc_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table
