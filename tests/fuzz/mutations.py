"""One random change to a file, of the kinds that damage, other programs and bad will do."""

from __future__ import annotations

import bz2
import copy
import json
import pathlib
import random
import struct
import sys
import zipfile
from collections.abc import Callable
from typing import Any

import yaml

NUMBERS = [0, -1, 1, 7, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, 1e308, float("inf"), float("nan")]
STRINGS = [
    "",
    "x" * 100_000,
    "a\u2028b",
    "a\nb",
    "\ud800",
    "\0",
    "7",
    "../../x",
    "[MASK]",
    "\ufeff",
]
VALUES: list[Any] = [None, True, False, *NUMBERS, *STRINGS, [], {}, [[]], [None], {"a": 1}]
INSERTED = ["", "\u2028", "\0", '"', "\t", ",", ",,,", "\r", "{", "<", "\ufeff", "x" * 200_000]
_INT64 = [0, -1, 7, 2**31, 2**63 - 1, -(2**63)]


def mutate(path: pathlib.Path, rng: random.Random) -> None:
    """Changes a file in place; half of the time its bytes, else what they say, where we know it."""
    known = _BY_SUFFIX.get(path.suffix)
    if "tfrecord" in path.name:
        known = _records
    if known is None or rng.random() < 0.3:
        path.write_bytes(_bytes(path.read_bytes(), rng))
    else:
        known(path, rng)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    length = rng.choice([1, 4, 16, 512])
    stop = start + length
    block = data[start:stop]
    kind = rng.randrange(8)
    if kind == 0:
        return data[:start]
    if kind == 1:
        return data[:start] + block * rng.choice([2, 3, 100]) + data[stop:]
    if kind == 2:
        return data[:start] + bytes(len(block)) + data[stop:]
    if kind == 3:
        return data[:start] + rng.randbytes(length) + data[start:]
    if kind == 4:
        return data[:start] + data[stop:]
    if kind == 5:
        return data[:start] + b"\xff" * len(block) + data[stop:]
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20]) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def value_changed(value: Any, rng: random.Random) -> Any:
    """A copy of a JSON value with one value in it changed, left out, doubled, renamed or nested."""
    value = copy.deepcopy(value)
    places: list[tuple[Any, Any]] = []
    parent, key = None, None
    child = value
    while isinstance(child, dict | list) and child and (parent is None or rng.random() < 0.8):
        parent = child
        key = rng.choice(list(child)) if isinstance(child, dict) else rng.randrange(len(child))
        child = parent[key]
        places.append((parent, key))
    if parent is None or rng.random() < 0.05:
        return rng.choice(VALUES)
    kind = rng.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.extend([child] * rng.choice([1, 50]))
    elif kind == 1:
        parent[rng.choice(STRINGS)] = parent.pop(key)
    elif kind == 2:
        for _ in range(rng.choice([1, 2, 500])):
            child = [child]
        parent[key] = child
    elif kind == 3 and isinstance(child, int | float):
        parent[key] = rng.choice(NUMBERS)
    elif kind == 3 and isinstance(child, str):
        parent[key] = rng.choice(STRINGS)
    else:
        parent[key] = rng.choice(VALUES)
    return value


def _json(path: pathlib.Path, rng: random.Random) -> None:
    path.write_text(json.dumps(value_changed(json.loads(path.read_text("utf-8")), rng)))


def _json_lines(path: pathlib.Path, rng: random.Random) -> None:
    lines = path.read_text("utf-8").splitlines()
    number = rng.randrange(len(lines))
    lines[number] = json.dumps(value_changed(json.loads(lines[number]), rng))
    path.write_text("".join(f"{line}\n" for line in lines))


def _yaml(path: pathlib.Path, rng: random.Random) -> None:
    changed = value_changed(yaml.safe_load(path.read_text("utf-8")), rng)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # The writer's, for what is nested deep; readers have theirs.
    text = yaml.safe_dump(changed)
    sys.setrecursionlimit(limit)
    path.write_text(text)


def _text(path: pathlib.Path, rng: random.Random) -> None:
    path.write_bytes(_text_changed(path.read_text("utf-8"), rng))


def _text_changed(text: str, rng: random.Random) -> bytes:
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    line = lines[number]
    kind = rng.randrange(7)
    if kind == 0:
        del lines[number]
    elif kind == 1:
        lines[number:number] = [line] * rng.choice([1, 100])
    elif kind == 2:
        lines[number] = ""
    elif kind == 3:
        rng.shuffle(lines)
    elif kind == 4:
        return text.encode(rng.choice(["utf-16", "utf-8-sig", "utf-32"]))
    else:
        start = rng.randrange(len(line) + 1)
        inserted = rng.choice([*INSERTED, *map(str, NUMBERS)])
        lines[number] = line[:start] + inserted + line[start + rng.choice([0, 1, 3]) :]
    return "\n".join(lines).encode("utf-8")


def _bzip2(path: pathlib.Path, rng: random.Random) -> None:
    path.write_bytes(bz2.compress(_text_changed(bz2.decompress(path.read_bytes()).decode(), rng)))


def _safetensors(path: pathlib.Path, rng: random.Random) -> None:
    data = path.read_bytes()
    stop = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.dumps(value_changed(json.loads(data[8:stop]), rng)).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data[stop:])


def _zip(path: pathlib.Path, rng: random.Random) -> None:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    pickles = [name for name in members if name.endswith(".pkl")]
    name = rng.choice(pickles if rng.random() < 0.8 else list(members))
    if rng.random() < 0.1:
        del members[name]
    else:
        members[name] = _bytes(members[name], rng)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


def _records(path: pathlib.Path, rng: random.Random) -> None:
    """Changes one record, so that its checksum is right."""
    import tensorflow as tf

    records = [bytes(record) for record in tf.compat.v1.io.tf_record_iterator(str(path))]
    number = rng.randrange(len(records))
    example = tf.train.Example.FromString(records[number])
    features = example.features.feature
    name = rng.choice(sorted(features))
    kind = rng.randrange(6)
    if kind == 0:
        del features[name]
    elif kind == 1:
        features[name].CopyFrom(features[rng.choice(sorted(features))])
    elif kind == 2:
        features[name].bytes_list.value[:] = [b"x"]
    else:
        listed = features[name]
        values = (listed.int64_list if listed.HasField("int64_list") else listed.float_list).value
        numbers = _INT64 if listed.HasField("int64_list") else [0.0, -1.0, 3e38, float("nan")]
        if kind == 3 or not values:
            values.extend([rng.choice(numbers)] * rng.choice([1, 10_000]))
        elif kind == 4:
            del values[rng.randrange(len(values)) :]
        else:
            values[rng.randrange(len(values))] = rng.choice(numbers)
    records[number] = rng.choice([example.SerializeToString(), example.SerializeToString(), b""])
    if rng.random() < 0.2:
        del records[number]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)


_BY_SUFFIX: dict[str, Callable[[pathlib.Path, random.Random], None]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".yaml": _yaml,
    ".txt": _text,
    ".csv": _text,
    ".tsv": _text,
    ".conll": _text,
    ".xml": _text,
    ".bz2": _bzip2,
    ".safetensors": _safetensors,
    ".bin": _zip,
}
