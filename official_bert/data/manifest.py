"""`manifest.json`: what a folder of prepared data holds and how it was made.

A folder with a manifest is whole: writers put it there last, before the folder gets its final name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from official_bert.errors import InputError, shown
from official_bert.fields import check_known, checked_field
from official_bert.json_file import read_json
from official_bert.path import open_bytes, to_path

MANIFEST_NAME = "manifest.json"


_Value = TypeVar("_Value", bool, int, float, str)
_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
# A split is part of a file name; a label is a line of labels.txt.
_SPLIT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_SHARDS = 100_000
_MAX_RECORDS = 1_000_000_000_000
_MAX_TOKENS = 1_000_000
_MAX_VOCAB_SIZE = 10_000_000


@dataclasses.dataclass
class Manifest:
    """The contract between data_prep and training.

    Attributes:
        task: which records these are: "pretraining", "sentence_prediction", "question_answering",
            "tagging" or "multiple_choice".
        dataset: the data set's name ("cola", "squad_v2", …); "" for a plain corpus.
        splits: split name ("train", "dev", "test") -> {"num_records": int, "num_shards": int,
            …further counts}. Shards are named by `shard_name`.
        max_seq_length: S, the longest record in tokens, special tokens included.
        vocab_size: number of entries of `vocab.txt`.
        vocab_sha256: hash of `vocab.txt`.
        sources: source file name -> sha256.
        seed: of every random choice.
        labels: label names in id order; empty where the task has none.
        options: the further settings that shaped the records (task-dependent).
        statistics: what was counted: padding, unknown tokens, skipped lines, …
        version: of the package that wrote the folder.
    """

    task: str
    dataset: str
    splits: dict[str, dict[str, Any]]
    max_seq_length: int
    vocab_size: int
    vocab_sha256: str
    sources: dict[str, str]
    seed: int
    labels: list[str] = dataclasses.field(default_factory=list)
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    statistics: dict[str, Any] = dataclasses.field(default_factory=dict)
    version: str = ""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `manifest.json` into `folder`."""
        path = to_path(folder) / MANIFEST_NAME
        text = json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Manifest:
        """Reads `folder/manifest.json`.

        Raises:
            InputError: the folder or the manifest is missing, or it is not a manifest.
        """
        path = to_path(folder) / MANIFEST_NAME
        if not path.exists():
            raise InputError(
                f"{path} does not exist: {folder} is not prepared data "
                "(data_prep writes it; a folder without a manifest is not whole)"
            )
        values = read_json(path)
        try:
            _check(values)
        except InputError as error:
            raise InputError(
                f"{path} is not a manifest of prepared data: {error}; prepare the data again"
            ) from error
        return cls(**values)

    def option(
        self,
        name: str,
        kind: type[_Value],
        default: _Value | None = None,
        *,
        least: float | None = None,
        choices: Sequence[_Value] = (),
    ) -> _Value:
        """A setting that shaped the records.

        Args:
            name: a key of `options`.
            kind: bool, int, float or str.
            default: where the manifest does not have it; None: it must.
            least: the smallest number that it may be.
            choices: what it may be; () for anything of its kind.

        Raises:
            InputError: it is missing or another thing.
        """
        value = self.options.get(name, default)
        wanted = f"one of {', '.join(map(str, choices))}" if choices else _KIND_NAMES[kind]
        if least is not None:
            wanted += f", at least {least}"
        good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if good and choices:
            good = value in choices
        if good and least is not None:
            assert isinstance(value, int | float)
            good = value >= least
        if not good:
            raise InputError(
                f"{MANIFEST_NAME}: options.{name} is {shown(value)}: it must be {wanted}; prepare "
                "the data again"
            )
        return cast(_Value, value)

    def shard_paths(self, folder: str | os.PathLike[str], split: str) -> list[str]:
        """Paths of the split's TFRecord files, in order.

        Raises:
            InputError: the data has no such split, or a file is missing.
        """
        if split not in self.splits:
            raise InputError(f"{folder} has no split {split!r}; it has {sorted(self.splits)}")
        count = self.splits[split]["num_shards"]
        compressed = self.option("gzip", bool, False)
        paths = [
            os.path.join(folder, shard_name(split, index, count, compressed=compressed))
            for index in range(count)
        ]
        for path in paths:
            if not to_path(path).is_file():
                raise InputError(f"{path} is missing or no file, though {MANIFEST_NAME} lists it")
        return paths


def _check(values: dict[str, Any]) -> None:
    """Raises InputError unless `values` are the fields of a manifest."""
    known = {field.name: field for field in dataclasses.fields(Manifest)}
    for name in values:
        check_known(name, known)
    for name, field in known.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if name not in values:
            if required:
                raise InputError(f"{name} is missing")
        elif name in ("splits", "sources", "options", "statistics"):
            if not isinstance(values[name], dict):
                raise InputError(f"{name} is {shown(values[name])}: it must be an object")
        else:
            checked_field(Manifest, name, values[name], name)
    for name, value in values["splits"].items():
        _check_split(name, value)
    _check_number("max_seq_length", values["max_seq_length"], 1, _MAX_TOKENS)
    _check_number("vocab_size", values["vocab_size"], 1, _MAX_VOCAB_SIZE)
    if not _SHA256.fullmatch(values["vocab_sha256"]):
        raise InputError(f"vocab_sha256 is {shown(values['vocab_sha256'])}: it must be 64 digits")
    labels = values.get("labels", [])
    for label in labels:
        if not label or "\n" in label or "\r" in label:
            raise InputError(f"labels has {shown(label)}: a label is a line of text")
    if len(set(labels)) < len(labels):
        raise InputError("labels has a label twice")


def _check_split(name: str, value: Any) -> None:
    if not _SPLIT_NAME.fullmatch(name):
        raise InputError(f"splits has {shown(name)}: a split's name is letters, digits, _, - and .")
    if not isinstance(value, dict):
        raise InputError(f"splits.{name} is {shown(value)}: it must be an object")
    for key, least, most in (("num_records", 0, _MAX_RECORDS), ("num_shards", 1, _MAX_SHARDS)):
        _check_number(f"splits.{name}.{key}", value.get(key), least, most)


def _check_number(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(
            f"{name} is {shown(value)}: it must be a whole number from {least} to {most:,}"
        )


def shard_name(split: str, index: int, count: int, *, compressed: bool = False) -> str:
    """`train-00000-of-00008.tfrecord`, with `.gz` behind it for compressed files."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord" + (".gz" if compressed else "")


def examples_name(split: str) -> str:
    """`dev.examples.jsonl`: the raw rows of a split, for scores and predictions."""
    return f"{split}.examples.jsonl"


def sha256_of_file(path: str | os.PathLike[str]) -> str:
    """Hex sha256 of a file's bytes, read in blocks."""
    digest = hashlib.sha256()
    with open_bytes(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
