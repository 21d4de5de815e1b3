"""Finds the record that broke a run, once it has: the fast path only knows that one did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from official_bert.data import records
from official_bert.errors import InputError

_LIMIT_NAMES = {
    "S": "the maximal sequence length",
    "vocab_size": "the vocabulary's size",
    "type_vocab_size": "the number of segment types",
    "num_labels": "the number of labels",
}


def check_files(kind: str, paths: Sequence[str], sizes: Mapping[str, int]) -> None:
    """Reads all records in order and stops at the first bad one.

    Args:
        kind: a key of `records.RECORD_KINDS`.
        paths: TFRecord files.
        sizes: "S" -> max_seq_length and so on for each length and limit that the features name.

    Raises:
        InputError: names the file, the record's number from 0, the feature and both values; or the
            file and the first record that cannot be read, for a truncated or corrupted file.
    """
    expected: dict[str, records.Feature] | None = None
    for path in paths:
        number = 0
        compression = "GZIP" if path.endswith(".gz") else ""
        try:
            for serialized in tf.data.TFRecordDataset(path, compression):
                example = tf.train.Example.FromString(serialized.numpy())
                place = f"{path}, record {number}"
                if expected is None:
                    expected = _present(kind, example, place)
                _check_record(example, expected, sizes, place)
                number += 1
        except tf.errors.DataLossError as error:
            raise InputError(
                f"{path} is truncated or corrupted at record {number}: write it again"
            ) from error


def _present(kind: str, example: tf.train.Example, place: str) -> dict[str, records.Feature]:
    try:
        return records.features_of(kind, example)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _check_record(
    example: tf.train.Example,
    expected: Mapping[str, records.Feature],
    sizes: Mapping[str, int],
    place: str,
) -> None:
    for name, feature in expected.items():
        stored = example.features.feature.get(name)
        if stored is None:
            raise InputError(f"{place}: the feature {name!r} is missing, which other records have")
        list_name = "float_list" if feature.dtype == "float32" else "int64_list"
        if stored.WhichOneof("kind") not in (None, list_name):
            raise InputError(
                f"{place}: {name!r} is a {stored.WhichOneof('kind')}, expected {list_name}"
            )
        values = getattr(stored, list_name).value
        longest = records.longest(feature, sizes)
        if len(values) > longest:
            raise InputError(f"{place}: {name!r} has {len(values)} values, at most {longest} fit")
        if feature.required and not values:
            raise InputError(f"{place}: {name!r} is empty")
        if feature.below:
            limit = sizes[feature.below]
            for value in values:
                if not 0 <= value < limit:
                    raise InputError(
                        f"{place}: {name!r} holds {value}, which is not below "
                        f"{_LIMIT_NAMES[feature.below]} {limit}"
                    )
    if any(feature.name == "num_choices" for feature in expected.values()):
        _check_choices(example, sizes, place)


def _check_choices(example: tf.train.Example, sizes: Mapping[str, int], place: str) -> None:
    """Looks at what the features of a record with choices say together."""
    stored = example.features.feature
    count = stored["num_choices"].int64_list.value[0]
    if not 1 <= count <= sizes["C"]:
        raise InputError(f"{place}: 'num_choices' holds {count}, it must be 1 to {sizes['C']}")
    name = "input_ids" if "input_ids" in stored else "input_word_ids"
    length = len(stored[name].int64_list.value)
    if length % count or length > count * sizes["S"]:
        raise InputError(
            f"{place}: {name!r} has {length} values, which are not {count} choices of one length "
            f"up to {sizes['S']}"
        )
    for label in stored["label_ids"].int64_list.value if "label_ids" in stored else ():
        if not 0 <= label < count:
            raise InputError(f"{place}: 'label_ids' holds {label}, there are {count} choices")
