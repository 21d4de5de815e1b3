"""Packed batches of one shape."""

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data import static_packing
from official_bert.data.static_packing import BatchShape, batch_shape, fill_rows
from official_bert.errors import InputError
from official_bert.experiment import load_experiment
from official_bert.runs.setup import RunSetup
from tests.finetuning_data import prepare_table
from tests.prepared_data import write_pretraining_data
from tests.small_models import SMALL_ENCODER

NUM_RECORDS, BATCH_SIZE = 500, 24
SHAPE = BatchShape(rows=8, row_length=32, records_per_row=8, num_records=24.0)


def test_rows_take_the_longest_record_that_fits():
    source, starts = fill_rows(tf.constant([2, 5, 3, 4, 1]), 0, tf.constant(2), 6, 3)
    np.testing.assert_array_equal(source, [[1, 4, -1], [3, 0, -1]])
    np.testing.assert_array_equal(starts, [[0, 5, -1], [0, 4, -1]])


def test_what_waited_begins_the_rows():
    source, starts = fill_rows(tf.constant([2, 1, 5, 3, 4]), 2, tf.constant(2), 6, 3)
    np.testing.assert_array_equal(source, [[0, 4, -1], [1, 2, -1]])
    np.testing.assert_array_equal(starts, [[0, 2, -1], [0, 1, -1]])


def test_the_shape_gives_about_as_many_records_as_asked_for():
    shape = batch_shape(
        batch_size=256, mean_length=12.3, longest=47, max_seq_length=128, multiple=8
    )
    assert (shape.rows, shape.row_length, shape.records_per_row) == (24, 128, 21)
    assert shape.num_records == pytest.approx(24 * 128 * 0.98 / 12.3)
    # Eight rows of 128 would be 82 records.
    small = batch_shape(batch_size=32, mean_length=12.3, longest=47, max_seq_length=128, multiple=8)
    assert (small.rows, small.row_length) == (8, 48)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Records of 3 to 20 tokens, all of them the number of the record."""
    path = tmp_path_factory.mktemp("static") / "records.tfrecord"
    lengths = np.random.default_rng(0).integers(3, 21, NUM_RECORDS)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number, length in enumerate(lengths):
            example = tf.train.Example()
            features = example.features.feature
            features["input_ids"].int64_list.value.extend([number] * length)
            features["input_mask"].int64_list.value.extend([1] * length)
            writer.write(example.SerializeToString())
    return [str(path)]


def _batches(paths, seed=1, start_batch=0, count=50):
    dataset = static_packing.packed_training_batches(
        paths,
        shape=SHAPE,
        num_records=NUM_RECORDS,
        batch_size=BATCH_SIZE,
        seed=seed,
        shuffle_buffer=100,
        start_batch=start_batch,
    )
    return list(dataset.take(count).as_numpy_iterator())


def test_each_record_comes_once_an_epoch_and_rows_are_full(paths):
    batches = _batches(paths)
    seen, fill = [], []
    for columns, starts in batches:
        assert starts.shape == columns["serialized"].shape == (8, 8)
        is_there = starts >= 0
        lengths = np.zeros(starts.shape, int)
        for cell in np.argwhere(is_there):
            example = tf.train.Example.FromString(columns["serialized"][tuple(cell)])
            lengths[tuple(cell)] = len(example.features.feature["input_mask"].int64_list.value)
        # Record after record, without a gap.
        np.testing.assert_array_equal(
            starts[is_there], (np.cumsum(lengths, axis=1) - lengths)[is_there]
        )
        assert lengths.sum(axis=1).max() <= 32
        fill.append(lengths.sum() / (8 * 32))
        seen.extend(columns["numbers"][is_there])
    assert len(seen) == len(set(seen))
    # Of all but the last pool, most; and of what is long past, all.
    assert max(seen) + 1 - len(seen) < 6 * BATCH_SIZE
    assert set(range(300)) <= set(seen)
    assert np.mean(fill) > 0.95


def test_a_batch_of_any_number_can_be_had_and_the_order_is_that_of_the_seed(paths):
    unbroken = _batches(paths)
    resumed = _batches(paths, start_batch=37, count=13)
    for (ours, our_starts), (theirs, their_starts) in zip(resumed, unbroken[37:], strict=True):
        np.testing.assert_array_equal(our_starts, their_starts)
        for name in theirs:
            np.testing.assert_array_equal(ours[name], theirs[name])
    other = _batches(paths, seed=2, count=1)[0][0]["serialized"]
    assert (other != unbroken[0][0]["serialized"]).any()


def _table(folder):
    rows = [
        {"text": "good " + "the film " * (i % 6), "label": ["pos", "neg"][i % 2]}
        for i in range(120)
    ]
    return prepare_table(folder, {"train": rows, "dev": rows[:10]})


def _setup(data, folder, *overrides):
    fixed = [
        *SMALL_ENCODER,
        "task=sentence_prediction",
        f"data.path={data}",
        "data.batching=packed",
        "train.batch_size=16",
    ]
    return RunSetup(load_experiment([], [*fixed, *overrides]), folder)


def test_compiled_runs_have_packed_batches_of_one_shape(tmp_path):
    run = _setup(
        _table(tmp_path), tmp_path / "m", "runtime.jit_compile=true", "train.accumulate_steps=2"
    )
    batches = list(run.pipeline.training_dataset(0).take(12))
    assert len({tuple((n, t.shape) for n, t in sorted(batch.items())) for batch in batches}) == 1
    rows = batches[0]["input_word_ids"].shape[0]
    assert rows % 2 == 0
    spec = run.pipeline.training_dataset(0).element_spec
    assert all(None not in tensor.shape.as_list() for tensor in spec.values())
    counts = [float(tf.reduce_sum(batch["record_weights"])) for batch in batches]
    assert np.mean(counts) == pytest.approx(run.pipeline.records_per_batch, rel=0.1)
    assert run.total_steps() == round(120 * 3 / run.pipeline.records_per_batch)
    # A run that goes on has the batches of one that was not broken off.
    for name, tensor in next(iter(run.pipeline.training_dataset(7))).items():
        np.testing.assert_array_equal(tensor, batches[7][name])
    assert len(run.pipeline.record_locations(3)) == counts[3]


def test_packed_pretraining_and_manifests_without_tokens_are_refused(tmp_path):
    data = write_pretraining_data(tmp_path / "data")
    with pytest.raises(InputError, match="cannot be packed while training"):
        _setup(data, tmp_path / "m", "task=pretraining", "runtime.jit_compile=true")
