"""`manifest.json`: what a folder of prepared data holds and how it was made.

A folder with a manifest is whole: writers put it there last, before the folder gets its final name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
from typing import Any

from official_bert.errors import InputError

MANIFEST_NAME = "manifest.json"


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
        path = pathlib.Path(folder) / MANIFEST_NAME
        text = json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Manifest:
        """Reads `folder/manifest.json`.

        Raises:
            InputError: the folder or the manifest is missing, or it is not a manifest.
        """
        path = pathlib.Path(folder) / MANIFEST_NAME
        if not path.exists():
            raise InputError(
                f"{path} does not exist: {folder} is not prepared data "
                "(data_prep writes it; a folder without a manifest is not whole)"
            )
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
            raise InputError(f"{path} is not a manifest of prepared data: {error}") from error

    def shard_paths(self, folder: str | os.PathLike[str], split: str) -> list[str]:
        """Paths of the split's TFRecord files, in order.

        Raises:
            InputError: the data has no such split, or a file is missing.
        """
        if split not in self.splits:
            raise InputError(f"{folder} has no split {split!r}; it has {sorted(self.splits)}")
        count = self.splits[split]["num_shards"]
        compressed = bool(self.options.get("gzip"))
        paths = [
            os.path.join(folder, shard_name(split, index, count, compressed=compressed))
            for index in range(count)
        ]
        for path in paths:
            if not os.path.exists(path):
                raise InputError(f"{path} is missing, though {MANIFEST_NAME} lists it")
        return paths


def shard_name(split: str, index: int, count: int, *, compressed: bool = False) -> str:
    """`train-00000-of-00008.tfrecord`, with `.gz` behind it for compressed files."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord" + (".gz" if compressed else "")


def examples_name(split: str) -> str:
    """`dev.examples.jsonl`: the raw rows of a split, for scores and predictions."""
    return f"{split}.examples.jsonl"


def sha256_of_file(path: str | os.PathLike[str]) -> str:
    """Hex sha256 of a file's bytes, read in blocks."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
