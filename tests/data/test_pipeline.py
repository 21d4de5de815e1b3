import pathlib

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data import diagnosis, pipeline
from official_bert.errors import InputError
from tests.prepared_data import VOCAB, write_pretraining_data

SIZES = {"S": 16, "P": 2, "N": 1, "vocab_size": len(VOCAB), "type_vocab_size": 2}


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """Files whose records are b"0" … b"24"."""
    folder = tmp_path_factory.mktemp("numbered")
    paths = []
    for shard in range(3):
        path = str(folder / f"{shard}.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(25)[shard::3]:
                writer.write(str(number).encode())
        paths.append(path)
    return paths


def _order(paths, batches, *, seed=1, start_record=0, shuffle_buffer=100):
    dataset = pipeline.training_batches(
        paths,
        num_records=25,
        batch_size=5,
        seed=seed,
        shuffle_buffer=shuffle_buffer,
        start_record=start_record,
    )
    return [int(x) for batch in dataset.take(batches) for x in batch.numpy()]


def test_each_record_comes_once_an_epoch_in_another_order(numbered):
    order = _order(numbered, 10)
    first, second = order[:25], order[25:]
    assert sorted(first) == sorted(second) == list(range(25))
    assert first != second
    assert first != list(range(25))


def test_order_is_a_function_of_the_seed(numbered):
    assert _order(numbered, 10) == _order(numbered, 10)
    assert _order(numbered, 10) != _order(numbered, 10, seed=2)
    tf.random.set_seed(77)
    assert _order(numbered, 5, seed=0) == _order(numbered, 5, seed=0)


@pytest.mark.parametrize("shuffle_buffer", [1, 4, 100])
def test_starts_anywhere(numbered, shuffle_buffer):
    whole = _order(numbered, 15, shuffle_buffer=shuffle_buffer)
    for start in (0, 5, 25, 35):
        rest = _order(numbered, 3, start_record=start, shuffle_buffer=shuffle_buffer)
        assert rest == whole[start : start + 15]


def test_places_say_where_each_record_stands(numbered):
    dataset = pipeline.training_batches(
        numbered, num_records=25, batch_size=5, seed=1, shuffle_buffer=9, with_locations=True
    )
    for records, files, numbers in dataset.take(5):
        for record, file, number in zip(
            records.numpy(), files.numpy(), numbers.numpy(), strict=True
        ):
            shard = int(pathlib.Path(file.decode()).stem)
            assert int(record) == shard + 3 * number


def test_evaluation_reads_all_in_order(numbered):
    batches = [b.numpy() for b in pipeline.evaluation_batches(numbered, batch_size=10)]
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert [int(x) for x in np.concatenate(batches)[:10]] == [0, 3, 6, 9, 12, 15, 18, 21, 24, 1]


def test_parser_renames_and_pads(tmp_path):
    folder = write_pretraining_data(tmp_path / "data", train=4, dev=2, shards=1)
    paths = [str(folder / "train-00000-of-00001.tfrecord")]
    present = pipeline.present_features("pretraining", paths)
    serialized = next(iter(pipeline.evaluation_batches(paths, batch_size=4)))
    shortest = pipeline.make_parser(present, sizes=SIZES, pad_to_max=False)(serialized)
    static = pipeline.make_parser(present, sizes=SIZES, pad_to_max=True)(serialized)
    assert static["input_word_ids"].shape == [4, 16]
    lengths = shortest["input_mask"].numpy().sum(1)
    assert shortest["input_word_ids"].shape == [4, lengths.max()]
    assert shortest["input_word_ids"].dtype == tf.int32
    assert shortest["masked_lm_weights"].dtype == tf.float32
    assert shortest["next_sentence_labels"].shape == [4, 1]
    np.testing.assert_array_equal(
        static["input_word_ids"][:, : lengths.max()], shortest["input_word_ids"]
    )
    assert not static["input_word_ids"].numpy()[:, lengths.max() :].any()


def _write(path, change):
    """Two good records and one that `change` has spoilt."""
    from tests.prepared_data import pretraining_example

    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(3):
            example = pretraining_example(random)
            if number == 2:
                change(example.features.feature)
            writer.write(example.SerializeToString())


def _too_long(features):
    features["input_ids"].int64_list.value.extend([7] * 20)


def _id_outside(features):
    features["input_ids"].int64_list.value[1] = 25


def _negative_id(features):
    features["masked_lm_ids"].int64_list.value[0] = -1


def _position_outside(features):
    features["masked_lm_positions"].int64_list.value[0] = 16


def _type_outside(features):
    features["segment_ids"].int64_list.value[0] = 2


def _missing(features):
    del features["input_mask"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_too_long, r"'input_ids' has \d+ values, at most 16 fit"),
        (_id_outside, "'input_ids' holds 25, which is not below the vocabulary's size 25"),
        (_negative_id, "'masked_lm_ids' holds -1, the least is 0"),
        (_position_outside, "'masked_lm_positions' holds 16, which is not below the maximal"),
        (_type_outside, "'segment_ids' holds 2, which is not below the number of segment types 2"),
        (_missing, "the feature 'input_mask' is missing"),
    ],
)
def test_bad_records_stop_the_run_and_are_named(tmp_path, change, message):
    path = tmp_path / "bad.tfrecord"
    _write(path, change)
    present = pipeline.present_features("pretraining", [str(path)])
    parse = pipeline.make_parser(present, sizes=SIZES, pad_to_max=False)
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(pipeline.evaluation_batches([str(path)], batch_size=8).map(parse))
    with pytest.raises(InputError, match=f"bad.tfrecord, record 2: {message}"):
        diagnosis.check_files("pretraining", [str(path)], SIZES)


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "cut.tfrecord"
    _write(path, lambda features: None)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="cut.tfrecord is truncated or corrupted at record 2"):
        diagnosis.check_files("pretraining", [str(path)], SIZES)
