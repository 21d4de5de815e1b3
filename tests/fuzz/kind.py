"""What one kind of fuzzed files is."""

from __future__ import annotations

import dataclasses
import pathlib
import runpy
import sys
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Kind:
    """Good files and what reads them.

    Attributes:
        make: writes them into a folder that is not there.
        read: reads all of them, as a command of the package does.
        part: the folder, in that one, whose files are changed; "" for all.
        share: for each so many mutations of other kinds, one of this: it takes longer.
    """

    make: Callable[[pathlib.Path], object]
    read: Callable[[pathlib.Path], object]
    part: str = ""
    share: int = 1

    def files(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """The files to change, in order."""
        return sorted(path for path in (folder / self.part).rglob("*") if path.is_file())


def command(module: str, *arguments: object) -> None:
    """Runs a command in this process, which it ends by SystemExit."""
    sys.argv = [module, *map(str, arguments)]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
