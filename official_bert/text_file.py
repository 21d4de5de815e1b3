"""Text that others wrote: UTF-8, in lines of bounded length, from regular files.

What is in another encoding, or is no text, is an `InputError` that names what was found and the
command that converts it. A byte-order mark of UTF-8 is dropped. Python's own line ends are not
these: a line ends at "\\n" or "\\r\\n", and never at U+2028 or U+0085, which are part of the text.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import Protocol

from official_bert.errors import InputError
from official_bert.path import open_bytes
from official_bert.regular_file import check_regular

# A line of this length is a book or two; a file without line ends must not fill the memory.
MAX_LINE_BYTES = 16 << 20
_CHUNK = 1 << 20
# How much of a file's start is looked at.
START_BYTES = 4096
# UTF-32 first: the mark of UTF-16 in little-endian order is the beginning of its mark.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_OTHER_FILES = (
    (b"PK\x03\x04", "a zip archive, as .xlsx, .docx and .ods files are: export it as text"),
    (b"\xd0\xcf\x11\xe0", "an old Office file (.xls, .doc): export it as text"),
    (b"\x1f\x8b", "gzip-compressed: unpack it with gunzip"),
    (b"BZh", "bzip2-compressed: unpack it with bunzip2"),
    (b"\xfd7zXZ\x00", "xz-compressed: unpack it with unxz"),
    (b"(\xb5/\xfd", "zstd-compressed: unpack it with unzstd"),
    (b"PAR1", "a Parquet file: export it as CSV or JSON lines"),
    (b"%PDF-", "a PDF: export it as text"),
    (b"SQLite format 3", "a SQLite database: export it as CSV"),
)
# Text in UTF-16 has a zero byte beside each ASCII character; text in UTF-8 has none.
_ZERO_SHARE = 0.1


class Readable(Protocol):
    """An open file, or what gives bytes like one."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; b"" only at the end."""


def check_start(start: bytes, name: str) -> None:
    """Looks at the first bytes of a text.

    Args:
        start: at most `START_BYTES` are looked at.
        name: how messages call the text.

    Raises:
        InputError: the bytes are of another encoding than UTF-8, or of a file of another kind;
            names it and the remedy.
    """
    start = start[:START_BYTES]
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            raise InputError(f"{name} is {encoding}, by its byte-order mark: {_convert(encoding)}")
    for magic, kind in _OTHER_FILES:
        if start.startswith(magic) and (b"\x00" in start or not _is_utf8(start)):
            raise InputError(f"{name} is {kind}")
    zeros = start.count(0)
    if zeros > 1 and zeros >= _ZERO_SHARE * len(start):
        # The zeros of "a\0b\0" stand behind the letters.
        odd, even = start[1::2].count(0), start[::2].count(0)
        for most, least, encoding in ((odd, even, "UTF-16LE"), (even, odd, "UTF-16BE")):
            if most > 10 * least:
                raise InputError(
                    f"{name} seems to be {encoding} without a mark: {_convert(encoding)}"
                )
        raise InputError(f"{name} is no text: {zeros} of its first {len(start)} bytes are zero")


def decode(line: bytes, location: str) -> str:
    """UTF-8 -> text.

    Args:
        line: the bytes.
        location: where they are, for messages: "train.csv, line 7".

    Raises:
        InputError: they are not UTF-8; names them and the remedy.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(line, location, error.start) from None


def not_utf8(content: bytes, location: str, position: int) -> InputError:
    """The error for bytes that are not UTF-8 at `position`, with what they may be."""
    part = content if len(content) <= 80 else content[max(0, position - 20) : position + 20]
    return InputError(f"{location}: {part!r} is not UTF-8: {_guess(content[position:])}")


def byte_lines(file: Readable, name: str, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """The lines of an open file without their ends, as bytes, in bounded memory.

    Where the first chunk of the file has "\\r" and no "\\n", lines end at "\\r", as programs of the
    old Macintosh write them.

    Args:
        file: open for reading bytes; a pipe will do.
        name: how messages call it.
        max_bytes: the most bytes of a line.

    Raises:
        InputError: as `check_start`; a line is longer than `max_bytes`, which the message names.
    """
    rest = file.read(_CHUNK)
    check_start(rest, name)
    rest = rest.removeprefix(codecs.BOM_UTF8)
    end, carriage_returns = b"\n", b"\r" in rest and b"\n" not in rest
    if carriage_returns and not rest.endswith(b"\r"):
        end = b"\r"
    elif carriage_returns:
        # The "\n" of a "\r\n" may come next.
        rest += file.read(_CHUNK)
        end = b"\n" if b"\n" in rest else b"\r"
    number = 0
    while True:
        *lines, rest = rest.split(end)
        for line in lines:
            number += 1
            _check_length(line, number, name, max_bytes)
            yield line.removesuffix(b"\r") if end == b"\n" else line
        _check_length(rest, number + 1, name, max_bytes)
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        rest += chunk
    if rest:  # What follows the last line end is a line if it is anything.
        yield rest.removesuffix(b"\r") if end == b"\n" else rest


def read_byte_lines(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """`byte_lines` of a regular file.

    Raises:
        InputError: there is no such file, it is a folder or a pipe, it cannot be read, or as
            `byte_lines`.
    """
    check_regular(path)
    try:
        with open_bytes(path) as file:
            yield from byte_lines(file, os.fspath(path), max_bytes=max_bytes)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def read_lines(path: str | os.PathLike[str], *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[str]:
    """The lines of a text file without their ends.

        list(read_lines("a.txt"))  # of b"\\xef\\xbb\\xbfone\\r\\ntwo" -> ["one", "two"]

    Args:
        path: a regular file in UTF-8.
        max_bytes: the most bytes of a line.

    Raises:
        InputError: as `read_byte_lines`, or a line is not UTF-8; names file, line and remedy.
    """
    for number, line in enumerate(read_byte_lines(path, max_bytes=max_bytes), start=1):
        yield decode(line, f"{path}, line {number}")


def read_text(path: str | os.PathLike[str], *, limit: int) -> str:
    """The whole text of a regular file in UTF-8.

    Args:
        path: the file.
        limit: the most bytes that it may have.

    Raises:
        InputError: as `read_byte_lines`, or it is larger, or not UTF-8.
    """
    check_regular(path, limit)
    try:
        with open_bytes(path) as file:
            chunks = [file.read(_CHUNK)]
            check_start(chunks[0], os.fspath(path))
            # Files such as those of /proc have no size before they are read.
            size = len(chunks[0])
            while chunks[-1] and size <= limit:
                chunks.append(file.read(_CHUNK))
                size += len(chunks[-1])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    content = b"".join(chunks)
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit} bytes, the most that such a file may have")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        part = content[error.start : error.start + 20]
        raise InputError(
            f"{path} is not UTF-8: byte {error.start} begins {part!r}: {_guess(part)}"
        ) from None


def _check_length(line: bytes, number: int, name: str, most: int) -> None:
    if len(line) > most:
        raise InputError(
            f"{name}, line {number} has more than {most} bytes, the most that a line may have: is "
            "this a text file, with lines that end at a line feed?"
        )


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _guess(content: bytes) -> str:
    """What bytes that are not UTF-8 may be, and what to do."""
    # A letter of Latin-1 is one byte between others of ASCII; East Asian encodings have pairs.
    if content[1:2] < b"\x80":
        return f"if it is Windows-1252 (Latin-1), {_convert('WINDOWS-1252')}"
    return "convert it to UTF-8: iconv -f ITS_ENCODING -t UTF-8 OLD > NEW"


def _convert(encoding: str) -> str:
    return f"convert it: iconv -f {encoding} -t UTF-8 OLD > NEW"
