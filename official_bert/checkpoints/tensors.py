"""A tensor in a file: its name and shape are known, its values are read when they are wanted."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from collections.abc import Callable, Iterable

import numpy as np

from official_bert.errors import InputError

_MAX_NAME = 1000


def is_name(name: str) -> bool:
    """Whether a tensor can be called so: short, in one line, without control characters."""
    return len(name) <= _MAX_NAME and name.isprintable()


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """One array of a checkpoint, not yet read, so that a checkpoint is never held in memory twice.

    Attributes:
        name: as it stands in the file.
        shape: as it stands in the file.
        read: gives the array, float32 for any type.
        dtype: as it stands in the file; NumPy's name, or "bfloat16".
    """

    name: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]
    dtype: str = "float32"

    @property
    def is_float(self) -> bool:
        """Whether these are floating-point numbers, as all weights are."""
        return "float" in self.dtype

    def transposed(self) -> StoredTensor:
        """[A, B] -> [B, A]."""
        return dataclasses.replace(self, shape=self.shape[::-1], read=lambda: self.read().T)

    def reshaped(self, *shape: int) -> StoredTensor:
        """The same numbers in the same order in another shape."""
        return dataclasses.replace(self, shape=shape, read=lambda: self.read().reshape(shape))

    def equals(self, other: StoredTensor) -> bool:
        """Whether both hold the same numbers."""
        return self.shape == other.shape and np.array_equal(self.read(), other.read())


def check_memory(path: pathlib.Path, tensors: Iterable[StoredTensor]) -> None:
    """Checks that weights fit into the memory of this machine, before any of them is read.

    A sparse file of some kilobytes on the disk can hold tensors of terabytes.

    Raises:
        InputError: they do not.
    """
    wanted = sum(math.prod(tensor.shape) for tensor in tensors) * np.dtype(np.float32).itemsize
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if wanted > memory:
        raise InputError(
            f"{path} has weights of {wanted:,} bytes as float32; this machine has {memory:,} bytes "
            "of memory"
        )
