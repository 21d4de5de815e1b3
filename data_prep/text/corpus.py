"""Text files -> blocks of whole lines.

A corpus is UTF-8 text with a sentence (or a paragraph) a line and an empty line between documents.
`.gz` files are read as what they hold. Files end documents too.
"""

from __future__ import annotations

import codecs
import dataclasses
import glob
import gzip
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

from official_bert.errors import InputError
from official_bert.path import glob_files, is_url, open_bytes
from official_bert.regular_file import check_regular
from official_bert.text_file import MAX_LINE_BYTES, check_start, not_utf8

BLOCK_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_ASCII = bytes(range(128))
# A few bytes that are not UTF-8 are in most large corpora. So many in a block, and more of them
# than of good bytes beyond ASCII, are another encoding.
_MANY_INVALID = 100


@dataclasses.dataclass(frozen=True)
class Block:
    """Whole lines of one file.

    Attributes:
        path: the file.
        start: where the block starts in the (unpacked) file, in bytes.
        text: the lines, with their line ends.
        ends_file: whether the file ends with it.
        source_bytes: how far the file on disk has been read since the block before.
    """

    path: str
    start: int
    text: bytes
    ends_file: bool
    source_bytes: int

    @property
    def name(self) -> str:
        """Where the block is, for messages."""
        return f"{self.path}, bytes {self.start:,}-{self.start + len(self.text):,}"


def expand_inputs(pattern: str, flag: str = "--input_file") -> list[str]:
    """File names, globs or several of both with commas between -> files, each once.

    Raises:
        InputError: nothing is given, a file is missing, or a glob matches nothing.
    """
    paths: dict[str, None] = {}
    for part in filter(None, (part.strip() for part in pattern.split(","))):
        if is_url(part):
            found = glob_files(part) if glob.has_magic(part) else [part]
            if not found:
                raise InputError(f"{flag}={part} matches no file: give a pattern that does")
            for path in found:
                check_regular(path)
        elif os.path.isfile(part):
            found = [part]
        elif os.path.isdir(part):
            raise InputError(f"{flag}={part} is a folder: give files, for example {part}/*.txt")
        elif glob.has_magic(part):
            found = sorted(path for path in glob.glob(part, recursive=True) if os.path.isfile(path))
            if not found:
                raise InputError(f"{flag}={part} matches no file: give a pattern that does")
        elif os.path.lexists(part):
            check_regular(part)
        else:
            raise InputError(f"{flag}={part} does not exist: give a text file")
        paths.update(dict.fromkeys(found))
    if not paths:
        raise InputError(f"{flag}={pattern!r} names no file: give a text file")
    return list(paths)


def read_blocks(paths: list[str], block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """The corpus in blocks of about `block_bytes`, cut at line ends.

    A line longer than that makes a longer block. A byte-order mark at the start of a file is
    dropped. Every file gives at least one block, so that its end is seen.

    Raises:
        InputError: a `.gz` file is broken.
    """
    for path in paths:
        with open_bytes(path) as raw:
            if not path.endswith(".gz"):
                yield from file_blocks(path, raw, raw, block_bytes)
                continue
            try:
                with gzip.open(raw) as file:
                    yield from file_blocks(path, file, raw, block_bytes)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise InputError(
                    f"--input_file={path} is not a whole gzip file: {error}"
                ) from error


def file_blocks(
    path: str, file: Any, raw: IO[bytes] | None = None, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """The blocks of one open file.

    Args:
        path: its name.
        file: gives its unpacked bytes.
        raw: the file on disk, if progress is wanted.
        block_bytes: about how much to give at a time.

    Raises:
        InputError: the text is of another encoding than UTF-8, its lines end at "\\r", or one is
            longer than `MAX_LINE_BYTES`.
    """
    start, on_disk, rest = 0, 0, b""
    text, rest = _take(path, file, rest, block_bytes)
    check_start(text, path)
    if b"\r" in text and b"\n" not in text:
        raise InputError(
            f"{path}: lines end at a carriage return: convert it: tr '\\r' '\\n' < OLD > NEW"
        )
    if text.startswith(codecs.BOM_UTF8):
        start = len(codecs.BOM_UTF8)
        text = text[start:]
    while True:
        following, rest = _take(path, file, rest, block_bytes)
        now = raw.tell() if raw else 0
        yield Block(path, start, text, not following, now - on_disk)
        if not following:
            return
        start, on_disk, text = start + len(text), now, following


def invalid_bytes(block: Block) -> int:
    """How many bytes of a block are not part of a UTF-8 character; they are left out.

    Raises:
        InputError: they are so many that the text must be of another encoding.
    """
    try:
        block.text.decode("utf-8")
    except UnicodeDecodeError as error:
        valid = block.text.decode("utf-8", "ignore").encode("utf-8")
        count = len(block.text) - len(valid)
        beyond_ascii = len(valid.translate(None, _ASCII))
        if count >= _MANY_INVALID and count > beyond_ascii:
            raise not_utf8(
                block.text, f"{block.name}, at the first of {count:,} such bytes", error.start
            ) from None
        return count
    return 0


def _take(path: str, file: Any, rest: bytes, block_bytes: int) -> tuple[bytes, bytes]:
    """`block_bytes` and what is missing of the last line; and what was read beyond that."""
    while len(rest) < block_bytes and (more := file.read(max(block_bytes, _READ_BYTES))):
        rest += more
    end = rest.find(b"\n", block_bytes) + 1
    while not end:
        if len(rest) - block_bytes > MAX_LINE_BYTES:
            raise InputError(
                f"{path}: a line has more than {MAX_LINE_BYTES:,} bytes, the most that one may "
                "have: write a sentence or paragraph a line"
            )
        searched = max(len(rest), block_bytes)
        more = file.read(_READ_BYTES)
        if not more:
            return rest, b""
        rest += more
        end = rest.find(b"\n", searched) + 1
    return rest[:end], rest[end:]
