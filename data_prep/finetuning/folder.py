"""A data set -> a folder of prepared data, which is whole or not there."""

from __future__ import annotations

import collections
import json
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tqdm import tqdm

import official_bert
from data_prep.finetuning.base import DataSet, Example
from data_prep.finetuning.settings import Settings
from data_prep.finetuning.shuffling import shuffled
from official_bert.atomic import atomic_folder
from official_bert.data import records
from official_bert.data.manifest import (
    MANIFEST_NAME,
    Manifest,
    examples_name,
    sha256_of_file,
    shard_name,
)
from official_bert.errors import InputError

# Evaluation and prediction read their splits in the order of the file.
_SHUFFLED = ("train",)


def write_folder(
    data_set: DataSet,
    settings: Settings,
    output_dir: str | os.PathLike[str],
    *,
    num_shards: int,
    overwrite: bool,
) -> Manifest:
    """Writes records, raw rows, tokenizer and manifest.

    The records of the split `train` are shuffled; those of other splits are in order.

    Args:
        data_set: from `make_data_set`.
        settings: what the data set was made with.
        output_dir: the folder to make.
        num_shards: files for each split.
        overwrite: replace what is there.

    Returns:
        the manifest of the folder.

    Raises:
        InputError: bad input, or the folder is there already; nothing is left behind.
    """
    with atomic_folder(output_dir, overwrite=overwrite, last=MANIFEST_NAME) as folder:
        settings.tokenizer.save(folder)
        counts = {
            split: _write_split(data_set, split, folder, num_shards, seed=settings.seed)
            for split in data_set.splits
        }
        manifest = Manifest(
            task=data_set.record_kind,
            dataset=settings.dataset,
            splits=counts,
            max_seq_length=settings.max_seq_length,
            vocab_size=len(settings.vocab),
            vocab_sha256=settings.vocab.sha256,
            sources={path.name: sha256_of_file(path) for path in data_set.sources},
            seed=settings.seed,
            labels=list(data_set.labels),
            options=dict(data_set.options),
            statistics={**data_set.statistics(), **data_set.bad_rows.statistics()},
            version=official_bert.__version__,
        )
        manifest.save(folder)
    return manifest


def serialize(features: Mapping[str, NDArray[Any]]) -> bytes:
    """One tf.train.Example; arrays of floats become float lists, all others int64 lists."""
    example = tf.train.Example()
    for name, values in features.items():
        values = np.asarray(values)
        feature = example.features.feature[name]
        if np.issubdtype(values.dtype, np.floating):
            feature.float_list.value.extend(values.ravel().tolist())
        else:
            feature.int64_list.value.extend(values.ravel().tolist())
    # Else the order of the features is another one in each process.
    serialized: bytes = example.SerializeToString(deterministic=True)
    return serialized


def _write_split(
    data_set: DataSet, split: str, folder: pathlib.Path, num_shards: int, *, seed: int
) -> dict[str, Any]:
    counts: collections.Counter[str] = collections.Counter()
    names = [shard_name(split, index, num_shards) for index in range(num_shards)]
    writers = [tf.io.TFRecordWriter(str(folder / name)) for name in names]
    with open(folder / examples_name(split), "w", encoding="utf-8") as raw:

        def written(examples: Iterable[Example]) -> Iterator[Example]:
            for example in tqdm(examples, desc=split, unit=" examples", disable=None):
                raw.write(json.dumps(example, ensure_ascii=False) + "\n")
                counts["num_examples"] += 1
                yield example

        longest = 0

        def serialized() -> Iterator[bytes]:
            nonlocal longest
            for features in data_set.records(split, written(data_set.examples(split))):
                if not counts["num_records"]:
                    _check_features(data_set, features)
                length = len(features["input_mask"])
                longest = max(longest, length)
                counts["num_records"] += 1
                counts["num_tokens"] += length
                yield serialize(features)

        records_of_split = serialized()
        if split in _SHUFFLED:
            records_of_split = shuffled(records_of_split, seed=seed, folder=folder)
        for number, record in enumerate(records_of_split):
            # Round robin: each shard has its part of every region of the file.
            writers[number % num_shards].write(record)
    for writer in writers:
        writer.close()
    if not counts["num_records"]:
        what = "rows" if not counts["num_examples"] else "records"
        reason = data_set.why_no_records(split)
        raise InputError(f"the split {split} has no {what}: {_names(data_set)}: {reason}")
    order = {"shuffled": True} if split in _SHUFFLED else {}
    return {**counts, "num_shards": num_shards, "longest_record": longest, **order}


def _check_features(data_set: DataSet, features: Mapping[str, NDArray[Any]]) -> None:
    """Raises InputError where a record has other features than its kind."""
    kind = data_set.record_kind
    floats = {name for name, values in features.items() if np.asarray(values).dtype.kind == "f"}
    known = records.present_features(kind, features, floats)
    for name in features:
        if name not in known:
            raise InputError(
                f"{type(data_set).__name__}.records gave {name}: a {kind} record has no such "
                f"feature, it has {', '.join(f.name for f in records.features(kind, floats))}"
            )


def _names(data_set: DataSet) -> str:
    return ", ".join(map(str, data_set.sources))
