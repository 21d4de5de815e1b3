"""JSON and other small files that others wrote: what cannot be used is one line, at once."""

import os
import socket
import subprocess
import sys
import time

import pytest

from official_bert.errors import InputError, shown
from official_bert.json_file import read_json
from official_bert.regular_file import check_regular, read_bytes


def test_a_good_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": [1, -2.5, true, null, "\\ud83d\\ude00é"], "b": {"a": 1e30}}', "utf-8")
    assert read_json(path) == {"a": [1, -2.5, True, None, "😀é"], "b": {"a": 1e30}}
    assert check_regular(path) == len(path.read_bytes()) == len(read_bytes(path, limit=1000))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a JSON file: Expecting value: line 1 column 1"),
        (b"{", "is not a JSON file: Expecting property name"),
        (b'{"a": 1} {"b": 2}', "is not a JSON file: Extra data"),
        (b'{"a": "\n"}', "is not a JSON file: Invalid control character"),
        (b"[1]", "must hold a JSON object, got list"),
        (b"null", "must hold a JSON object, got NoneType"),
        (b"7", "must hold a JSON object, got int"),
        (b'"a"', "must hold a JSON object, got str"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": [-Infinity]}', "-Infinity is no JSON number"),
        (b'{"a": 1e400}', "the number '1e400' is too large"),
        (b'{"a": ' + b"7" * 5000 + b"}", "a number of 5000 digits is too large"),
        (b'{"a": -' + b"7" * 200 + b"}", "a number of 201 digits is too large"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice"),
        (b'{"a": {"\\n": 1, "\\n": 3}}', r"the key '\\n' stands twice"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"\\uDFFF": 1}', "half of a surrogate pair"),
        (b'{"a": "\xff"}', "is not UTF-8 at byte 7"),
        (b'{"a": "\xed\xa0\x80"}', "is not UTF-8 at byte 7"),
        ('{"a": 1}'.encode("utf-8-sig"), "starts with a byte-order mark"),
        ('{"a": 1}'.encode("utf-16"), "starts with a byte-order mark"),
        (b'{"a": ' * 65 + b"1" + b"}" * 65, "nested more than 64 deep"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested more than 64 deep"),
        (b"[" * 900_000, "nested more than 64 deep|is not a JSON file"),
        (b'{"a": [' + b"[]," * 1_000_000 + b"[]]}", "more than 1000000 objects and lists"),
        (b'{"a": "' + b"a" * (16 << 20) + b'"}', "has 16777225 bytes; .* may have 16777216"),
    ],
)
def test_a_bad_file(content, message, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_json(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_what_is_no_regular_file(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(tmp_path / "socket"))
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("nowhere")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(5 << 30)
    messages = {
        "folder": "a folder, a regular file is wanted",
        "pipe": "a named pipe, a regular file is wanted",
        "socket": "a socket, a regular file is wanted",
        "device": "a device, a regular file is wanted",
        "loop": "Too many levels of symbolic links",
        "lost": "No such file",
        "nothing": "No such file",
        "sparse": "has 5368709120 bytes",
        "a\0b": r"'.*a\\x00b': it is no name",
        "a\ud800": r"a\\ud800': it is no name",
        "n" * 300: "File name too long",
    }
    for name, message in messages.items():
        for read in (read_json, lambda path: check_regular(path, 100)):
            with pytest.raises(InputError, match=message) as error:
                read(tmp_path / name)
            assert "\n" not in str(error.value)
    listening.close()


def test_a_regular_file_without_a_size():
    assert check_regular("/proc/self/maps") == 0
    with pytest.raises(InputError, match="has more than 100 bytes"):
        read_bytes("/proc/self/maps", limit=100)


_READ = """
import resource, sys
from official_bert.json_file import read_json
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
read_json(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("item", ['{"":0}', "1e9", '"aa"', '"中"', "-9"])
def test_memory_is_bounded(item, tmp_path):
    path = tmp_path / "a.json"
    count = min(999_998, (16 << 20) // (len(item.encode()) + 1) - 4)
    path.write_text('{"a":[' + ",".join([item] * count) + "]}", "utf-8")
    started = time.monotonic()
    output = subprocess.run(
        [sys.executable, "-c", _READ, path], capture_output=True, text=True, check=True
    )
    assert int(output.stdout) < 500_000  # kilobytes
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb\u2028", r"'a\nb\u2028'"),
        ([[[[[1]]]]], "[[[[...]]]]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, ...]"),
        (10**50, "100000000000000000...0000000000000000000"),
        (None, "None"),
    ],
)
def test_a_value_for_a_message(value, text):
    assert shown(value) == text
    assert len(shown(["a" * 10**6] * 10)) < 600
