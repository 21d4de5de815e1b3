"""Finds the record that broke a run, once it has: the fast path only knows that one did."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import tensorflow as tf
from absl import logging
from google.protobuf.message import DecodeError

from official_bert.data import records
from official_bert.errors import InputError

# Records that are checked at a time.
_BATCH_SIZE = 1000
_LIMIT_NAMES = {
    "S": "the maximal sequence length",
    "vocab_size": "the vocabulary's size",
    "type_vocab_size": "the number of segment types",
    "num_labels": "the number of labels",
}


def read_examples(paths: Sequence[str], *, skip: int = 0) -> Iterator[tuple[tf.train.Example, str]]:
    """The records of files in order, each with its location: the file and the number from 0.

    Args:
        paths: TFRecord files.
        skip: so many records at the beginning of each file are left out.

    Raises:
        InputError: names the file, and the first record that cannot be read.
    """
    for path in paths:
        number = skip
        try:
            for serialized in _records_of(path).skip(skip):
                location = f"{path}, record {number}"
                try:
                    yield tf.train.Example.FromString(serialized.numpy()), location
                except DecodeError as error:
                    raise InputError(f"{location}: this is no tf.train.Example") from error
                number += 1
        except tf.errors.DataLossError as error:
            raise InputError(
                f"{path} is truncated or corrupted at record {number}: write it again"
            ) from error
        except tf.errors.OpError as error:
            raise InputError(
                f"{path} cannot be read at record {number}: {error.message}"
            ) from error


def _records_of(path: str) -> tf.data.Dataset:
    return tf.data.TFRecordDataset(path, "GZIP" if path.endswith(".gz") else "")


def check_files(
    kind: str,
    paths: Sequence[str],
    sizes: Mapping[str, int],
    num_records: int | None = None,
    *,
    parse: Callable[[tf.Tensor], object] | None = None,
) -> None:
    """Reads all records in order and stops at the first bad one.

    With a parser whole batches are checked at a time, and only those records one by one that it
    complains about.

    Args:
        kind: a key of `records.RECORD_KINDS`.
        paths: TFRecord files.
        sizes: "S" -> max_seq_length and so on for each length and limit that the features name.
        num_records: records that the manifest lists; None: it is not asked.
        parse: of serialized records [B], raises tf.errors.OpError for a bad one.

    Raises:
        InputError: names the file, the record's number from 0, the feature and both values; or the
            file and the first record that cannot be read, for a truncated or corrupted file; or
            both numbers of records.
    """
    expected: dict[str, records.Feature] | None = None
    count = 0
    for number, path in enumerate(paths):
        if number:
            logging.info("no bad record in %d of %d files", number, len(paths))
        good = 0 if parse is None else _good_records(path, parse)
        if expected is None and good:
            first, location = next(read_examples([path]))
            expected = records.features_of(kind, first, location)
        count += good
        for example, location in read_examples([path], skip=good):
            if expected is None:
                expected = records.features_of(kind, example, location)
            _check_record(example, expected, sizes, location)
            count += 1
    if num_records is not None and count != num_records:
        raise InputError(
            f"{', '.join(paths[:3])}{', …' if len(paths) > 3 else ''}: {count} records, but the "
            f"manifest lists {num_records}: prepare the data again"
        )


def _good_records(path: str, parse: Callable[[tf.Tensor], object]) -> int:
    """How many records a file begins with that the parser takes; in whole batches."""
    good = 0
    try:
        for batch in _records_of(path).batch(_BATCH_SIZE):
            parse(batch)
            good += len(batch)
    except tf.errors.OpError:
        pass
    return good


def _check_record(
    example: tf.train.Example,
    expected: Mapping[str, records.Feature],
    sizes: Mapping[str, int],
    location: str,
) -> None:
    stored: dict[str, Sequence[float]] = {}
    for name, feature in expected.items():
        values = _values(example, name, feature, location)
        _check_values(name, feature, values, sizes, location)
        stored[feature.model_name] = values
    _check_joint(expected, stored, location)
    if "num_choices" in stored:
        _check_choices(stored, sizes, location)


def _values(
    example: tf.train.Example, name: str, feature: records.Feature, location: str
) -> Sequence[float]:
    stored = example.features.feature.get(name)
    if stored is None:
        raise InputError(f"{location}: the feature {name!r} is missing, which other records have")
    list_name = "float_list" if feature.dtype == "float32" else "int64_list"
    if stored.WhichOneof("kind") not in (None, list_name):
        raise InputError(
            f"{location}: {name!r} is a {stored.WhichOneof('kind')}, expected {list_name}"
        )
    values: Sequence[float] = getattr(stored, list_name).value
    return values


def _check_values(
    name: str,
    feature: records.Feature,
    values: Sequence[float],
    sizes: Mapping[str, int],
    location: str,
) -> None:
    longest = records.longest(feature, sizes)
    if len(values) > longest:
        raise InputError(f"{location}: {name!r} has {len(values)} values, at most {longest} fit")
    if not values and (feature.required or feature.length in ("1", "N")):
        raise InputError(f"{location}: {name!r} is empty")
    for value in values if feature.below else ():
        if not feature.least <= value < feature.limit(sizes):
            limit = f"{_LIMIT_NAMES.get(feature.below, '')} {feature.limit(sizes)}".strip()
            raise InputError(
                f"{location}: {name!r} holds {value}, which is not below {limit}"
                if value >= 0
                else f"{location}: {name!r} holds {value}, the least is {feature.least}"
            )
    for value in values if feature.dtype == "float32" else ():
        if not math.isfinite(value):
            raise InputError(f"{location}: {name!r} holds {value}, which is no finite number")


def _check_joint(
    expected: Mapping[str, records.Feature], stored: Mapping[str, Sequence[float]], location: str
) -> None:
    """Looks at what the features of a record say together."""
    names = {feature.model_name: name for name, feature in expected.items()}
    for name, feature in expected.items():
        values, others = stored[feature.model_name], stored.get(feature.along)
        if others is not None and len(values) != len(others):
            raise InputError(
                f"{location}: {name!r} has {len(values)} values, {names[feature.along]!r} has "
                f"{len(others)}"
            )
    num_tokens = sum(stored["input_mask"])
    if not num_tokens:
        raise InputError(f"{location}: 'input_mask' is 0 throughout: there is no text")
    for name in records.TOKEN_POSITIONS:
        for position in stored.get(name, ()):
            if position >= num_tokens:
                raise InputError(
                    f"{location}: {name!r} holds {position}, but the text has {num_tokens} tokens"
                )
    for weight in stored.get("masked_lm_weights", ()):
        if weight < 0:
            raise InputError(f"{location}: 'masked_lm_weights' holds {weight}, the least is 0")


def _check_choices(
    stored: Mapping[str, Sequence[float]], sizes: Mapping[str, int], location: str
) -> None:
    """Looks at what the features of a record with choices say together."""
    count = int(stored["num_choices"][0])
    if not 1 <= count <= sizes["C"]:
        raise InputError(f"{location}: 'num_choices' holds {count}, it must be 1 to {sizes['C']}")
    length = len(stored["input_word_ids"])
    if length % count or length > count * sizes["S"]:
        raise InputError(
            f"{location}: 'input_ids' has {length} values, which are not {count} choices of one "
            f"length up to {sizes['S']}"
        )
    for label in stored.get("label_ids", ()):
        if not 0 <= label < count:
            raise InputError(f"{location}: 'label_ids' holds {label}, there are {count} choices")
