"""A tensor in a file: its name and shape are known, its values are read when they are wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

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
