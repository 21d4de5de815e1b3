"""Text that others wrote: every encoding is named with its remedy, every line is bounded."""

from __future__ import annotations

import io
import os

import pytest

from official_bert.errors import InputError
from official_bert.text_file import byte_lines, read_lines, read_text
from tests.limits import limits

TEXT = "text,label\nschön,gut\nnaja,schlecht\n"

GOOD = {
    "plain": (b"one\ntwo\n", ["one", "two"]),
    "no end": (b"one\ntwo", ["one", "two"]),
    "CRLF": (b"one\r\ntwo\r\n", ["one", "two"]),
    "CR": (b"one\rtwo\r", ["one", "two"]),
    "CR without an end": (b"one\r\rtwo", ["one", "", "two"]),
    "a byte-order mark": (b"\xef\xbb\xbfone\n", ["one"]),
    "only a byte-order mark": (b"\xef\xbb\xbf", []),
    "nothing": (b"", []),
    "blank lines": (b"\n\none\n\n", ["", "", "one", ""]),
    "line ends of other programs": (
        "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n".encode(),
        ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"],
    ),
    "a carriage return within a line": (b"a\rb\nc\n", ["a\rb", "c"]),
    "one zero byte in a text": (b"a\0 word of some length\n", ["a\0 word of some length"]),
    "text that begins like a zip archive": (b"PK\x03\x04 is no zip\n", ["PK\x03\x04 is no zip"]),
    "the longest line": (b"x" * 32 + b"\ny", ["x" * 32, "y"]),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_is_read(tmp_path, case):
    content, lines = GOOD[case]
    (tmp_path / "a.txt").write_bytes(content)
    assert list(read_lines(tmp_path / "a.txt", max_bytes=32)) == lines


BAD = {
    "UTF-16 as Windows writes it": (TEXT.encode("utf-16"), "is UTF-16, .*iconv -f UTF-16 -t UTF-8"),
    "UTF-16, big-endian": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "is UTF-16, by its byte-order"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "UTF-16LE without a mark: .*iconv -f UTF"),
    "the same, big-endian": (TEXT.encode("utf-16-be"), "seems to be UTF-16BE without a mark"),
    "UTF-32": (TEXT.encode("utf-32"), "is UTF-32, .*iconv -f UTF-32 -t UTF-8"),
    "Latin-1": (TEXT.encode("latin-1"), r"line 2: b'sch\\xf6n,gut' is not UTF-8: .*WINDOWS-1252"),
    "quotes of Windows": ("a\nb\n“c”\n".encode("cp1252"), r"line 3: b'\\x93c\\x94' is not UTF-8"),
    "Shift JIS": ("日本語\n".encode("shift-jis"), "line 1: .* iconv -f ITS_ENCODING -t UTF-8"),
    "GBK": ("a\n中文文本\n".encode("gbk"), "line 2: .* is not UTF-8: convert"),
    "a character cut off": ("schö".encode()[:-1], r"line 1: b'sch\\xc3' is not UTF-8"),
    "half of a pair": (b"a\n\xed\xa0\x80\n", "line 2: .* is not UTF-8"),
    "a table of Excel": (b"PK\x03\x04\x14\x00\x06\x00", "a zip archive, as .xlsx, .* export it"),
    "an old one": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 8, "an old Office file"),
    "gzip": (b"\x1f\x8b\x08\x00\x00", "gzip-compressed: unpack it with gunzip"),
    "Parquet": (b"PAR1\x15\x04\x15\x00\x00", "a Parquet file: export it as CSV"),
    "SQLite": (b"SQLite format 3\0\x10\0", "a SQLite database"),
    "zero bytes": (bytes(5000), "is no text: 4096 of its first 4096 bytes are zero"),
    "a line that is too long": (b"a\n" + b"x" * 33, "line 2 has more than 32 bytes, the most"),
    "the same, with an end": (b"a\n" + b"x" * 33 + b"\n", "line 2 has more than 32 bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_named(tmp_path, case):
    content, message = BAD[case]
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        list(read_lines(tmp_path / "a.txt", max_bytes=32))
    assert str(tmp_path / "a.txt") in str(caught.value) and "\n" not in str(caught.value)


def test_a_whole_text(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert read_text(path, limit=100) == "{}\r\n"
    path.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(InputError, match=r"is not UTF-8: byte 7 begins b'\\xe9\"}'"):
        read_text(path, limit=100)
    with pytest.raises(InputError, match="has 10 bytes; such a file may have 9 at most"):
        read_text(path, limit=9)


def test_names_that_are_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in [
        ("pipe", "it is a named pipe"),
        (".", "it is a folder"),
        ("absent", "No such file"),
        ("a\0b", "it is no name of a file"),
    ]:
        with limits(seconds=5), pytest.raises(InputError, match=message):
            list(read_lines(tmp_path / name))


def test_gigabytes_in_one_line_take_little_memory(tmp_path):
    with open(tmp_path / "a.txt", "wb") as file:
        file.write(b"x" * 8192)
        file.truncate(5 << 30)  # sparse: the rest is zeros
    with (
        limits(extra_bytes=256 << 20),
        pytest.raises(InputError, match="line 1 has more than 16777216 bytes, the most"),
    ):
        list(read_lines(tmp_path / "a.txt"))


def test_lines_of_a_stream_across_chunks():
    content = b"".join(b"%d\r\n" % number for number in range(300_000))
    assert list(byte_lines(io.BytesIO(content), "stdin")) == [
        b"%d" % number for number in range(300_000)
    ]
    # The first chunk ends between "\r" and "\n".
    content = b"x" * ((1 << 20) - 1) + b"\r\ny\r\n"
    assert [len(line) for line in byte_lines(io.BytesIO(content), "stdin")] == [(1 << 20) - 1, 1]
