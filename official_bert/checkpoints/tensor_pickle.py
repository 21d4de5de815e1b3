"""Reads the pickles in a PyTorch file without Python's unpickler, which runs what they say.

A pickle is a program for a stack machine. This is a machine that has only the instructions which
`torch.save` uses for a dictionary of tensors. It can build None, booleans, numbers, strings,
tuples, lists, dictionaries with plain keys, and two kinds of value of this module; it calls
nothing, sets no attribute and imports nothing. Every value costs at least one byte of a bounded
number of bytes, lengths are compared with the bytes that are left, and keys are strings or whole
numbers, so that nothing large is ever hashed or compared.

The values of tensors do not lie in the pickle. What is built here says where they lie; all of it
is checked when it is built, and frozen.
"""

from __future__ import annotations

import dataclasses
import math
import pickletools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from official_bert.errors import InputError, shown

# Of the pickles of one file; those of BERT-Large have 60 kB and 9,000 instructions.
MAX_BYTES = 16 << 20
_MAX_INSTRUCTIONS = 500_000
_MAX_INTEGER_BYTES = 16
_MAX_NAME = 200
# NumPy's limit of elements is below 2 ** 63 bytes.
_MAX_COUNT = 1 << 48
_MAX_DIMENSIONS = 8
# The types of elements, by NumPy's names and bfloat16.
_STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.DoubleStorage": "float64",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ShortStorage": "int16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
}
_DICTIONARY = "collections.OrderedDict"
_TENSOR = "torch._utils._rebuild_tensor_v2"
_PARAMETER = "torch._utils._rebuild_parameter"
_KNOWN = {_DICTIONARY, _TENSOR, _PARAMETER, *_STORAGES}


@dataclasses.dataclass(frozen=True)
class Storage:
    """A row of numbers that lies outside the pickle.

    Attributes:
        dtype: of an element: NumPy's name, or "bfloat16".
        key: which one of the file.
        count: how many numbers the pickle says that it has; the file may have fewer.
    """

    dtype: str
    key: str
    count: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.count * element_type(self.dtype).itemsize


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A view of a storage: every element lies inside of it and is another one.

    Attributes:
        storage: of which.
        offset: of the first element, in elements.
        shape: sizes, at most eight.
        strides: in elements, from one element to the next in each dimension.
    """

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def element_type(dtype: str) -> np.dtype:
    """How an element lies in the file: little-endian, and bfloat16 as a whole number."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")


@dataclasses.dataclass(frozen=True)
class _Name:
    """What a pickle calls by its module and name; only a known one can stand on the stack."""

    name: str


class PickleReader:
    """Reads pickles that stand one behind the other.

    Args:
        content: at most `MAX_BYTES` from the start of the first pickle.
        path: of the file, for messages.
    """

    def __init__(self, content: bytes, path: Any):
        self._content = content
        self._path = path
        self._left = _MAX_INSTRUCTIONS
        self.position = 0
        # The storages that the pickles named.
        self.storages: dict[str, Storage] = {}

    def load(self) -> Any:
        """The value of the next pickle.

        Raises:
            InputError: it is cut off, malformed, or has something that no file of tensors needs.
        """
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        while True:
            self._left -= 1
            if self._left < 0:
                raise self.refused(f"its pickles have more than {_MAX_INSTRUCTIONS} instructions")
            code = self._bytes(1)
            if code == b".":
                return self._pop()
            run = _INSTRUCTIONS.get(code)
            if run is None:
                name = _INSTRUCTION_NAMES.get(code)
                if name is None:
                    raise self.damaged(f"there is no instruction {code!r}")
                raise self.refused(
                    f"its pickle has the instruction {name}, which is no part of a file of tensors"
                )
            run(self)

    def refused(self, reason: str) -> InputError:
        """The error for what could be read and may not be."""
        return InputError(f"{self._path} is refused: {reason}; save the weights as safetensors")

    def damaged(self, reason: str) -> InputError:
        """The error for what cannot be read."""
        return InputError(
            f"{self._path} is not a PyTorch state dict, or is truncated: {reason} at byte "
            f"{self.position} of its pickles"
        )

    # ---- bytes ----------------------------------------------------------------------------------

    def _bytes(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._content):
            raise self.damaged(f"{count} bytes are wanted, {len(self._content) - self.position}")
        found = self._content[self.position : end]
        self.position = end
        return found

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _text(self, form: str, encoding: str = "utf-8") -> None:
        length = self._number(form)
        if length < 0:
            raise self.damaged(f"a string of {length} bytes")
        try:
            self._push(self._bytes(length).decode(encoding))
        except UnicodeDecodeError as error:
            raise self.damaged(f"a string that is not {encoding}") from error

    def _line(self) -> str:
        end = self._content.find(b"\n", self.position, self.position + _MAX_NAME)
        if end < 0:
            raise self.damaged("a name without an end")
        line = self._bytes(end - self.position)
        self.position += 1
        return line.decode("utf-8", "backslashreplace")

    def _integer(self) -> None:
        length = self._number("B")
        if length > _MAX_INTEGER_BYTES:
            raise self.refused(f"its pickle has a whole number of {length} bytes")
        self._push(int.from_bytes(self._bytes(length), "little", signed=True))

    def _protocol(self) -> None:
        version = self._number("B")
        if version > 5:
            raise self.damaged(f"protocol {version}")

    # ---- stack and memo -------------------------------------------------------------------------

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        self._top()
        return self._stack.pop()

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise self.damaged("nothing is left on the stack")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise self.damaged("no mark is on the stack")
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def _tuple(self, count: int) -> None:
        self._push(tuple([self._pop() for _ in range(count)][::-1]))

    def _remember(self, index: int) -> None:
        self._memo[index] = self._top()

    def _recall(self, index: int) -> None:
        if index not in self._memo:
            raise self.damaged(f"nothing was remembered as number {index}")
        self._push(self._memo[index])

    # ---- containers -----------------------------------------------------------------------------

    def _append(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise self.damaged(f"items for a {type(target).__name__}")
        target.extend(values)

    def _set(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not dict or len(values) % 2:
            raise self.damaged(f"{len(values)} keys and values for a {type(target).__name__}")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self._set_item(target, key, value)

    def _set_item(self, target: dict[Any, Any], key: Any, value: Any) -> None:
        if type(key) is not str and type(key) is not int:
            raise self.refused(f"a dictionary in it has a key that is a {type(key).__name__}")
        if key in target:
            raise self.refused(f"it names {shown(key)} twice")
        target[key] = value

    def _state(self) -> None:
        """A state dict has its modules' versions as an attribute; they are of no use here."""
        state, target = self._pop(), self._top()
        if type(target) is not dict or type(state) is not dict:
            raise self.refused(
                f"its pickle sets the state of a {type(target).__name__}, which only dictionaries "
                "have in a file of tensors"
            )

    # ---- names and what they stand for ----------------------------------------------------------

    def _name(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise self.damaged("a name that is no string")
        full_name = f"{module}.{name}"
        if full_name not in _KNOWN:
            plain = full_name.isprintable() and len(full_name) <= _MAX_NAME
            raise self.refused(
                f"it asks for {full_name if plain else shown(full_name)}, which is no part of a "
                "file of tensors, and running it could do anything"
            )
        self._push(_Name(full_name))

    def _call(self) -> None:
        arguments, called = self._pop(), self._pop()
        build = _BUILDERS.get(called.name) if type(called) is _Name else None
        if build is None or type(arguments) is not tuple:
            raise self.refused("its pickle calls what cannot be called")
        self._push(build(self, arguments))

    def _dictionary(self, arguments: tuple[Any, ...]) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        # Python 2 gave the items as a list of pairs.
        pairs = arguments[0] if arguments else []
        if len(arguments) > 1 or type(pairs) is not list:
            raise self.refused("a dictionary is made of something else than a list")
        for pair in pairs:
            if type(pair) not in (list, tuple) or len(pair) != 2:
                raise self.refused("a dictionary is made of something else than pairs")
            self._set_item(built, *pair)
        return built

    def _storage(self) -> None:
        reference = self._pop()
        kinds = [_Name if i == 1 else str for i in range(4)] + [int]
        if (
            type(reference) is not tuple
            or [type(part) for part in reference[:5]] != kinds
            or reference[0] != "storage"
            or reference[1].name not in _STORAGES
            # Once the sixth part said which part of another storage this was.
            or not all(part is None for part in reference[5:6])
            or len(reference) > 6
        ):
            raise self.refused(f"unknown reference {shown(reference)}")
        _, kind, key, _, count = reference[:5]
        if not 0 <= count <= _MAX_COUNT or len(key) > _MAX_NAME:
            raise self.refused(f"unknown reference {shown(reference)}")
        storage = Storage(_STORAGES[kind.name], key, count)
        if self.storages.setdefault(key, storage) != storage:
            raise self.refused(f"it describes the storage {shown(key)} in two ways")
        self._push(storage)

    def _tensor(self, arguments: tuple[Any, ...]) -> Tensor:
        # A seventh argument says whether all values are to be negated or conjugated.
        if not 6 <= len(arguments) <= 7 or (len(arguments) == 7 and arguments[6]):
            raise self.refused(f"a tensor has {len(arguments)} arguments")
        storage, offset, shape, strides = arguments[:4]
        if type(storage) is not Storage or not (
            _are_sizes((offset,)) and _are_sizes(shape) and _are_sizes(strides)
        ):
            raise self.refused("a tensor is described by something else than sizes")
        if len(shape) != len(strides) or len(shape) > _MAX_DIMENSIONS:
            raise self.refused(f"a tensor has {len(shape)} sizes and {len(strides)} strides")
        if math.prod(size for size in shape if size) > _MAX_COUNT:
            raise self.refused(f"a tensor has the shape {list(shape)}")
        if 0 not in shape:
            reach = _reach(shape, strides)
            if reach is None:
                raise self.refused(
                    f"a tensor of shape {list(shape)} has strides {list(strides)}, by which "
                    "elements share their memory"
                )
            if offset + reach > storage.count:
                raise self.damaged(
                    f"a tensor of shape {list(shape)} reaches outside its storage of "
                    f"{storage.count} elements,"
                )
        return Tensor(storage, offset, shape, strides)

    def _parameter(self, arguments: tuple[Any, ...]) -> Tensor:
        if len(arguments) != 3 or type(arguments[0]) is not Tensor:
            raise self.refused("a parameter is made of something else than a tensor")
        return arguments[0]


def _are_sizes(values: Any) -> bool:
    return type(values) is tuple and all(
        type(value) is int and 0 <= value <= _MAX_COUNT for value in values[: _MAX_DIMENSIONS + 1]
    )


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """How many elements lie from the first to the last; None where two are the same one.

    Contiguous and transposed arrays pass, and slices of them.
    """
    reach = 1
    # From the innermost dimension outwards: each must step over all that is inside of it.
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 1:
            continue
        if stride < reach:
            return None
        reach += (size - 1) * stride
    return reach


_BUILDERS: dict[str, Callable[[PickleReader, tuple[Any, ...]], Any]] = {
    _DICTIONARY: PickleReader._dictionary,
    _TENSOR: PickleReader._tensor,
    _PARAMETER: PickleReader._parameter,
}
_INSTRUCTION_NAMES = {op.code.encode("latin-1"): op.name for op in pickletools.opcodes}
_INSTRUCTIONS: dict[bytes, Callable[[PickleReader], None]] = {
    b"\x80": PickleReader._protocol,  # PROTO
    b"\x95": lambda r: r._number("<Q"),  # FRAME
    b"N": lambda r: r._push(None),  # NONE
    b"\x88": lambda r: r._push(True),  # NEWTRUE
    b"\x89": lambda r: r._push(False),  # NEWFALSE
    b"K": lambda r: r._push(r._number("B")),  # BININT1
    b"M": lambda r: r._push(r._number("<H")),  # BININT2
    b"J": lambda r: r._push(r._number("<i")),  # BININT
    b"\x8a": PickleReader._integer,  # LONG1
    b"G": lambda r: r._push(r._number(">d")),  # BINFLOAT
    b"U": lambda r: r._text("B", "ascii"),  # SHORT_BINSTRING, of Python 2
    b"T": lambda r: r._text("<i", "ascii"),  # BINSTRING
    b"\x8c": lambda r: r._text("B"),  # SHORT_BINUNICODE
    b"X": lambda r: r._text("<I"),  # BINUNICODE
    b"\x8d": lambda r: r._text("<Q"),  # BINUNICODE8
    b"(": lambda r: r._marks.append(len(r._stack)),  # MARK
    b")": lambda r: r._push(()),  # EMPTY_TUPLE
    b"t": lambda r: r._push(tuple(r._since_mark())),  # TUPLE
    b"\x85": lambda r: r._tuple(1),  # TUPLE1
    b"\x86": lambda r: r._tuple(2),  # TUPLE2
    b"\x87": lambda r: r._tuple(3),  # TUPLE3
    b"]": lambda r: r._push([]),  # EMPTY_LIST
    b"a": lambda r: r._append([r._pop()]),  # APPEND
    b"e": lambda r: r._append(r._since_mark()),  # APPENDS
    b"}": lambda r: r._push({}),  # EMPTY_DICT
    b"s": lambda r: r._set([r._pop(), r._pop()][::-1]),  # SETITEM
    b"u": lambda r: r._set(r._since_mark()),  # SETITEMS
    b"b": PickleReader._state,  # BUILD
    b"q": lambda r: r._remember(r._number("B")),  # BINPUT
    b"r": lambda r: r._remember(r._number("<I")),  # LONG_BINPUT
    b"\x94": lambda r: r._remember(len(r._memo)),  # MEMOIZE
    b"h": lambda r: r._recall(r._number("B")),  # BINGET
    b"j": lambda r: r._recall(r._number("<I")),  # LONG_BINGET
    b"c": lambda r: r._name(r._line(), r._line()),  # GLOBAL
    b"\x93": lambda r: r._name(*[r._pop(), r._pop()][::-1]),  # STACK_GLOBAL
    b"R": PickleReader._call,  # REDUCE
    b"Q": PickleReader._storage,  # BINPERSID
}
