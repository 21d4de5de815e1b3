"""Records of several choices: [B, C, S] out of rows of any length, and what is wrong with some."""

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data import diagnosis, pipeline
from official_bert.errors import InputError

KIND = "multiple_choice"
SIZES = {"S": 4, "C": 3, "C*S": 12, "vocab_size": 20, "type_vocab_size": 2}


def _record(ids, count, label=0):
    example = tf.train.Example()
    features = {
        "input_ids": ids,
        "input_mask": [1] * len(ids),
        "segment_ids": [0] * len(ids),
        "num_choices": [count],
        "label_ids": [label],
        "example_id": [7],
    }
    for name, values in features.items():
        example.features.feature[name].int64_list.value.extend(values)
    return example.SerializeToString()


def _parse(serialized, pad_to_max=False):
    example = tf.train.Example.FromString(serialized[0])
    present = pipeline.records.features_of(KIND, example, "choices.tfrecord, record 0")
    return pipeline.make_parser(present, sizes=SIZES, pad_to_max=pad_to_max)(
        tf.constant(serialized)
    )


def test_lengths_and_numbers_of_choices_differ():
    batch = _parse([_record([1, 2, 3, 4, 5, 6], 2), _record([7, 8, 9], 3), _record([1, 2, 3], 1)])
    assert batch["input_word_ids"].numpy().tolist() == [
        [[1, 2, 3], [4, 5, 6], [0, 0, 0]],
        [[7, 0, 0], [8, 0, 0], [9, 0, 0]],
        [[1, 2, 3], [0, 0, 0], [0, 0, 0]],
    ]
    assert batch["input_mask"].numpy().sum(axis=2).tolist() == [[3, 3, 0], [1, 1, 1], [3, 0, 0]]
    assert batch["num_choices"].numpy().tolist() == [[2], [3], [1]]


def test_static_shapes():
    batch = _parse([_record([1, 2, 3, 4], 2), _record([7, 8, 9], 3)], pad_to_max=True)
    ids = np.zeros((2, 3, 4), int)
    ids[0, :2, :2] = [[1, 2], [3, 4]]
    ids[1, :, 0] = [7, 8, 9]
    assert batch["input_word_ids"].numpy().tolist() == ids.tolist()
    assert batch["label_ids"].shape == [2, 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (_record([1] * 12, 4), "'num_choices' holds 4, it must be 1 to 3"),
        (_record([1] * 4, 0), "'num_choices' holds 0, it must be 1 to 3"),
        (_record([1] * 5, 2), "'input_ids' has 5 values, which are not 2 choices of one length"),
        (_record([1] * 10, 2), "'input_ids' has 10 values, which are not 2 choices of one length"),
        (_record([1] * 4, 2, label=2), "'label_ids' holds 2, there are 2 choices"),
        (_record([1] * 4, 2, label=-1), "'label_ids' holds -1, there are 2 choices"),
    ],
)
def test_bad_records_are_named(tmp_path, record, message):
    good = _record([1, 2, 3, 4], 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        _parse([good, record])
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(good)
        writer.write(record)
    with pytest.raises(InputError, match=f"a.tfrecord, record 1: {message}"):
        diagnosis.check_files(KIND, [path], SIZES)
