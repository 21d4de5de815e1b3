"""The pages of documentation, and the code blocks in them."""

from __future__ import annotations

import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "data_prep" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: ```python title="my_package/reviews.py".

    Attributes:
        language: behind the fence.
        title: the file that it is; "" for a block without a title.
        text: the lines between the fences.
    """

    language: str
    title: str
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(*groups) for groups in _BLOCK.findall(page)]
