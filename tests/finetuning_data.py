"""Small prepared data for tests of fine-tuning, made by the data preparation itself."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from data_prep.finetuning.settings import DataSetFlags, Settings
from official_bert.data.manifest import Manifest
from official_bert.text import BertTokenizer, Vocab

WORDS = ["good", "bad", "fine", "awful", "film", "book", "the", "a", "is", "was", "not", ".", "##s"]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


def settings(
    dataset: str,
    data_dir: pathlib.Path | None = None,
    files: Mapping[str, pathlib.Path] | None = None,
    *,
    max_seq_length: int = 16,
    vocab: Vocab | None = None,
    **flags: Any,
) -> Settings:
    """What `create_finetuning_data` passes to a data set; uncased."""
    vocab = vocab or Vocab(TOKENS)
    return Settings(
        dataset=dataset,
        data_dir=data_dir,
        files=files or {},
        tokenizer=BertTokenizer(vocab, model_max_length=max_seq_length),
        vocab=vocab,
        max_seq_length=max_seq_length,
        seed=1,
        flags=DataSetFlags(**{"text_columns": ["text"], **flags}),
    )


def write_json_lines(path: pathlib.Path, rows: Iterable[Mapping[str, Any]]) -> pathlib.Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def prepare_table(
    folder: pathlib.Path,
    rows: Mapping[str, list[dict[str, Any]]],
    *,
    max_seq_length: int = 16,
    num_shards: int = 1,
    **flags: Any,
) -> pathlib.Path:
    """Prepared data of {"train": [{"text": …, "label": …}], "dev": …}."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        split: write_json_lines(folder / f"{split}.jsonl", of_split)
        for split, of_split in rows.items()
    }
    given = settings("csv", files=files, max_seq_length=max_seq_length, **flags)
    write_folder(
        make_data_set(given), given, folder / "data", num_shards=num_shards, overwrite=True
    )
    return folder / "data"


def read_records(folder: pathlib.Path, split: str) -> list[tf.train.Example]:
    """The records of a split, in order."""
    paths = Manifest.load(folder).shard_paths(folder, split)
    return [
        tf.train.Example.FromString(serialized.numpy())
        for serialized in tf.data.TFRecordDataset(paths)
    ]


def values(record: tf.train.Example, name: str) -> list[Any]:
    """A feature's numbers."""
    feature = record.features.feature[name]
    return list(feature.int64_list.value or feature.float_list.value)


def opinions(count: int) -> list[dict[str, Any]]:
    """Texts of different lengths whose first word decides the label."""
    tone = ["good", "bad", "fine", "awful"]
    return [
        {"text": f"{tone[i % 4]} " + "the film " * (i % 5), "label": ["pos", "neg"][i % 2]}
        for i in range(count)
    ]
