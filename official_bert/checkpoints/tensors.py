"""A tensor in a file: its name and shape are known, its values are read when they are wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """One array of a checkpoint, not yet read, so that a checkpoint is never held in memory twice.

    Attributes:
        name: as it stands in the file.
        shape: as it stands in the file.
        read: gives the array, float32 for any float type.
    """

    name: str
    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]

    def transposed(self) -> StoredTensor:
        """[A, B] -> [B, A]."""
        return StoredTensor(self.name, self.shape[::-1], lambda: self.read().T)

    def reshaped(self, *shape: int) -> StoredTensor:
        """The same numbers in the same order in another shape."""
        return StoredTensor(self.name, shape, lambda: self.read().reshape(shape))

    def equals(self, other: StoredTensor) -> bool:
        """Whether both hold the same numbers."""
        return self.shape == other.shape and np.array_equal(self.read(), other.read())
