"""Writes a map from code points to strings as tensorflow_text's normalizer op reads it.

`text.FastBertNormalizer(model_buffer=...)` replaces each code point of a string by what a trie
says, at some 200 MB/s a core, and returns for each byte where it came from. The buffer is a
flatbuffer (fast_bert_normalizer_model.fbs) around a Darts-clone double array.

In a double array the state of a walk is an index; each 32-bit unit says how to continue from there:
the unit of the next byte is at `index ^ offset ^ byte` and carries that byte as its label; with
bit 8 set, the value of the string read so far is at `index ^ offset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flatbuffers
import numpy as np

_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31  # also makes the label of a unit one that no byte equals
_OFFSET_SHIFT = 10
_MAX_UNITS = 1 << 21  # above, an offset would need the format's second, coarser encoding
_CHANGED = 1 << 30
_LENGTH_BITS = 6
# UTF-8 continues with bytes 0x80-0xBF only: 64 units are enough for the children of an inner node.
_CHILDREN = 64
_FIRST_CONTINUATION = 0x80


def build_normalizer_model(mapping: Mapping[str, str]) -> bytes:
    """The model buffer for `mapping`.

    Args:
      mapping: one code point -> the string that replaces it, at most 63 bytes of UTF-8; must say
        what becomes of "\\0". Code points that it does not name stay.
    """
    pool = bytearray()
    offsets: dict[bytes, int] = {}  # of the replacements in the pool

    def value_of(replacement: str) -> int:
        encoded = replacement.encode()
        if len(encoded) >= 1 << _LENGTH_BITS:
            raise ValueError(f"{replacement!r} is longer than the format can hold")
        if encoded not in offsets:
            offsets[encoded] = len(pool)
            pool.extend(encoded)
        return _CHANGED | offsets[encoded] << _LENGTH_BITS | len(encoded)

    trie: dict[int, Any] = {}
    for char, replacement in mapping.items():
        if char != "\0":
            *path, last = char.encode()
            node = trie
            for byte in path:
                node = node.setdefault(byte, {})
            node[last] = value_of(replacement)
    units = _double_array(trie)
    return _flatbuffer(units, value_of(mapping["\0"]), bytes(pool))


def _double_array(trie: dict[int, Any]) -> np.ndarray:
    """Lays `trie` out in units: dicts are inner nodes, integers are values."""
    units = [0] * 256  # the root, at the index that no byte takes, and its children by byte
    leaves: list[tuple[int, int]] = []
    nodes = [(0, trie, 0)]  # index of the unit, children, index that the children start from
    free = 0
    while nodes:
        index, children, base = nodes.pop()
        units[index] |= (index ^ base) << _OFFSET_SHIFT
        for byte, child in children.items():
            position = base ^ byte
            units[position] = byte
            if isinstance(child, int):
                leaves.append((position, child))
            else:
                if free % 256 == 0:
                    free = len(units)
                    units.extend([0] * 256)
                nodes.append((position, child, free ^ _FIRST_CONTINUATION))
                free += _CHILDREN
    for position, value in leaves:
        units[position] |= _HAS_VALUE | (position ^ len(units)) << _OFFSET_SHIFT
        units.append(_IS_VALUE | value)
    units.extend([0] * (-len(units) % 256))  # a walk may look anywhere in a block of 256
    if len(units) > _MAX_UNITS:
        raise ValueError(f"{len(units)} units are more than the format can address")
    return np.array(units, np.uint32)


def _flatbuffer(units: np.ndarray, value_of_zero: int, pool: bytes) -> bytes:
    builder = flatbuffers.Builder(4 * len(units) + len(pool) + 1024)
    units_vector = builder.CreateNumpyVector(units)
    pool_vector = builder.CreateNumpyVector(np.frombuffer(pool, np.uint8))
    # The fields of table FastBertNormalizerModel in their order. The first,
    # lower_case_nfd_strip_accents, only tells what the model is for: the op does not read it.
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(1, units_vector, 0)
    builder.PrependInt32Slot(2, value_of_zero, 0)
    builder.PrependUOffsetTRelativeSlot(3, pool_vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
