"""TFRecord files -> batches of tensors, in an order that is a function of (seed, epoch) alone.

    training_batches    endless, shuffled anew each epoch; can start at any record
    evaluation_batches  once through, in the order of the files
    epoch_records       one epoch's order, for `batching`
    make_parser         serialized records [B] -> the model's inputs, padded

B batch, S sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from official_bert.data import diagnosis, records

Parser = Callable[[tf.Tensor], dict[str, tf.Tensor]]


def training_batches(
    paths: Sequence[str],
    *,
    num_records: int,
    batch_size: int,
    seed: int,
    shuffle_buffer: int,
    start_record: int = 0,
    with_locations: bool = False,
) -> tf.data.Dataset:
    """Endless batches of serialized records; epochs follow each other without a gap.

    Args:
        paths: TFRecord files (`.gz` ones are unpacked).
        num_records: records in all of them.
        batch_size: records a batch; always full.
        seed: of the order.
        shuffle_buffer: records among which the next one is drawn.
        start_record: how many records the run has had before; they are skipped unparsed.
        with_locations: also give where each record stands.

    Returns:
        A dataset of string [B]; with locations, of (string [B], file names [B], int64 numbers in
        the file [B]).
    """
    first_epoch, offset = divmod(start_record, num_records)

    def rest_of_epoch(epoch: tf.Tensor) -> tf.data.Dataset:
        dataset = epoch_records(
            paths,
            epoch,
            num_records=num_records,
            seed=seed,
            shuffle_buffer=shuffle_buffer,
            with_locations=with_locations,
        )
        return dataset.skip(tf.constant(offset, tf.int64) * tf.cast(epoch == first_epoch, tf.int64))

    epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
    return epochs.flat_map(rest_of_epoch).batch(batch_size, drop_remainder=True)


def epoch_records(
    paths: Sequence[str],
    epoch: tf.Tensor,
    *,
    num_records: int,
    seed: int,
    shuffle_buffer: int,
    with_locations: bool = False,
) -> tf.data.Dataset:
    """The records of one epoch in its order; inside a function that `tf.data` calls.

    Files with fewer or more records than `num_records` raise tf.errors.FailedPreconditionError at
    their end.

    Args:
        paths: TFRecord files.
        epoch: int64 scalar.
        num_records: records in all of them.
        seed: of the order, together with the epoch.
        shuffle_buffer: records among which the next one is drawn.
        with_locations: see `training_batches`.
    """
    # In this function's graph only: else the order would depend on the global seed as well.
    tf.random.set_seed(1)
    files = tf.random.experimental.stateless_shuffle(
        tf.constant(paths), seed=tf.stack([tf.constant(seed, tf.int64), epoch])
    )
    dataset = tf.data.Dataset.from_tensor_slices(files).flat_map(
        lambda path: _read(path, with_locations)
    )
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_records))
    return dataset.shuffle(
        min(shuffle_buffer, num_records),
        # Two epochs of one run, or one epoch of two runs, must not share their order.
        seed=tf.constant(seed * 1_000_003, tf.int64) + epoch,
        reshuffle_each_iteration=False,
    )


def evaluation_batches(
    paths: Sequence[str], *, batch_size: int, num_records: int | None = None
) -> tf.data.Dataset:
    """Batches of serialized records, each record once, in order; the last batch may be smaller.

    Args:
        paths: TFRecord files.
        batch_size: records a batch.
        num_records: records in all of them; None: however many there are. With another number, the
            end raises tf.errors.FailedPreconditionError.
    """
    dataset = tf.data.Dataset.from_tensor_slices(list(paths))
    dataset = dataset.flat_map(lambda path: _read(path, with_location=False))
    if num_records is not None:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_records))
    return dataset.batch(batch_size)


def _read(path: tf.Tensor, with_location: bool) -> tf.data.Dataset:
    compression = tf.where(tf.strings.regex_full_match(path, r".*\.gz"), "GZIP", "")
    dataset = tf.data.TFRecordDataset(path, compression_type=compression)
    if not with_location:
        return dataset
    files = tf.data.Dataset.from_tensors(path).repeat()
    return tf.data.Dataset.zip((dataset, files, tf.data.Dataset.counter()))


def present_features(kind: str, paths: Sequence[str]) -> dict[str, records.Feature]:
    """The features of the first record of the first file that has one; see `records`.

    Raises:
        InputError: that record cannot be read, or is of another kind.
    """
    for example, location in diagnosis.read_examples(paths):
        return records.features_of(kind, example, location)
    return records.present_features(kind, {f.name for f in records.features(kind)})


def make_parser(
    present: Mapping[str, records.Feature],
    *,
    sizes: Mapping[str, int],
    pad_to_max: bool,
) -> Parser:
    """A function from serialized records [B] to int32 and float32 tensors under the model's names.

    Rows are padded with zeros to the longest of the batch, or to `sizes` where shapes must
    be static (TPU). Single numbers come as [B, 1]; the tokens of several choices as [B, C, S],
    where choices that a record has not are zeros throughout.

    Args:
        present: features of these records, from `present_features`.
        sizes: "S" -> max_seq_length and so on for each length and limit that the features name.
        pad_to_max: pad to the largest length.

    The function raises tf.errors.InvalidArgumentError for a record that lacks a feature, is too
    long or has a value out of range; `diagnosis.check_files` then finds out which.
    """
    spec = records.parsing_spec(present)

    def parse(serialized: tf.Tensor) -> dict[str, tf.Tensor]:
        ragged = records.rename(tf.io.parse_example(serialized, spec), present)
        features = {feature.model_name: feature for feature in present.values()}
        checks = [
            check for name, rows in ragged.items() for check in _checks(features[name], rows, sizes)
        ]
        if "num_choices" in ragged:
            checks += _choice_checks(ragged, sizes)
        checks += _joint_checks(ragged, features)
        with tf.control_dependencies(checks):
            return {
                name: _dense(features[name], rows, sizes, pad_to_max, ragged.get("num_choices"))
                for name, rows in ragged.items()
            }

    return parse


def _checks(
    feature: records.Feature, rows: tf.RaggedTensor, sizes: Mapping[str, int]
) -> list[tf.Operation]:
    lengths = rows.row_lengths()
    longest = tf.constant(records.longest(feature, sizes), tf.int64)
    checks: list[Any] = [tf.debugging.assert_less_equal(lengths, longest)]
    # A number for the record, or for each sequence in it, that its file has at all.
    if feature.required or feature.length in ("1", "N"):
        checks.append(tf.debugging.assert_positive(lengths))
    if feature.below:
        limit = tf.constant(feature.limit(sizes), tf.int64)
        least = tf.constant(feature.least, tf.int64)
        checks.append(tf.debugging.assert_less(rows.flat_values, limit))
        checks.append(tf.debugging.assert_greater_equal(rows.flat_values, least))
    if feature.dtype == "float32":
        checks.append(tf.debugging.assert_all_finite(rows.flat_values, feature.name))
    return checks


def _joint_checks(
    ragged: Mapping[str, tf.RaggedTensor], features: Mapping[str, records.Feature]
) -> list[tf.Operation]:
    """Lists that go together are equally long, and there is text, with all positions in it."""
    checks: list[Any] = [
        tf.debugging.assert_equal(rows.row_lengths(), ragged[features[name].along].row_lengths())
        for name, rows in ragged.items()
        if features[name].along in ragged
    ]
    num_tokens = tf.reduce_sum(ragged["input_mask"], axis=1)
    checks.append(tf.debugging.assert_positive(num_tokens))
    for name in records.TOKEN_POSITIONS:
        if name in ragged:
            # Of a row without positions the maximum is the least number there is.
            checks.append(tf.debugging.assert_less(tf.reduce_max(ragged[name], axis=1), num_tokens))
    if "masked_lm_weights" in ragged:
        checks.append(tf.debugging.assert_non_negative(ragged["masked_lm_weights"].flat_values))
    return checks


def _choice_checks(
    ragged: Mapping[str, tf.RaggedTensor], sizes: Mapping[str, int]
) -> list[tf.Operation]:
    """Each record has 1 to C choices, all of one length up to S, and the label is one of them."""
    counts = ragged["num_choices"].flat_values
    lengths = ragged["input_word_ids"].row_lengths()
    checks: list[Any] = [
        tf.debugging.assert_positive(counts),
        tf.debugging.assert_less_equal(counts, tf.constant(sizes["C"], tf.int64)),
        tf.debugging.assert_less_equal(lengths, counts * sizes["S"]),
        tf.debugging.assert_equal(lengths % tf.maximum(counts, 1), tf.zeros_like(counts)),
    ]
    if "label_ids" in ragged:
        checks.append(tf.debugging.assert_less(ragged["label_ids"].flat_values, counts))
        checks.append(tf.debugging.assert_non_negative(ragged["label_ids"].flat_values))
    return checks


def _dense(
    feature: records.Feature,
    rows: tf.RaggedTensor,
    sizes: Mapping[str, int],
    pad_to_max: bool,
    num_choices: tf.RaggedTensor | None,
) -> tf.Tensor:
    if feature.length == "C*S":
        assert num_choices is not None
        rows = _by_choice(rows, num_choices.flat_values)
        shape = [None, sizes["C"], sizes["S"]]
    else:
        shape = [None, records.longest(feature, sizes)]
    static = pad_to_max or feature.length == "1"
    tensor = rows.to_tensor(shape=shape if static else None)
    return tf.cast(tensor, tf.float32 if feature.dtype == "float32" else tf.int32)


def _by_choice(rows: tf.RaggedTensor, counts: tf.Tensor) -> tf.RaggedTensor:
    """The tokens of all choices in a row -> choice by choice: [B, (C * S)] -> [B, (C), (S)].

    With counts [2, 3], [[1, 2, 3, 4], [5, 6, 7]] is [[[1, 2], [3, 4]], [[5], [6], [7]]].
    """
    lengths = rows.row_lengths() // counts
    choices = tf.RaggedTensor.from_row_lengths(rows.values, tf.repeat(lengths, counts))
    return tf.RaggedTensor.from_row_lengths(choices, counts)
