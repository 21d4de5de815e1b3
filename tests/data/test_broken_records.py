"""Records that contradict themselves: TensorFlow stops, and `check_files` says which and why."""

import math

import pytest
import tensorflow as tf

from official_bert.data import diagnosis, pipeline
from official_bert.errors import InputError

SIZES = {
    "S": 8,
    "P": 3,
    "N": 2,
    "C": 3,
    "C*S": 24,
    "L": 2,
    "vocab_size": 30,
    "type_vocab_size": 2,
    "num_labels": 3,
}
TEXT = {"input_ids": [2, 7, 8, 3], "input_mask": [1, 1, 1, 1], "segment_ids": [0, 0, 0, 0]}
PRETRAINING = {
    **TEXT,
    "masked_lm_positions": [1, 2],
    "masked_lm_ids": [7, 8],
    "masked_lm_weights": [1.0, 1.0],
    "next_sentence_labels": [0],
}
QUESTION = {
    "unique_ids": [5],
    **TEXT,
    "paragraph_mask": [1, 0, 1, 0],
    "start_positions": [2],
    "end_positions": [2],
}
TAGGING = {
    **TEXT,
    "label_ids": [-1, 2, -1, -1],
    "sentence_id": [0],
    "sub_sentence_id": [0],
    "word_ids": [-1, 0, 0, -1],
}
SENTENCE = {**TEXT, "label_ids": [1], "example_id": [0]}
NUMBER = {**TEXT, "label_ids": [0.5], "example_id": [0]}
CHOICES = {
    "input_ids": [2, 7, 3, 2, 8, 3],
    "input_mask": [1] * 6,
    "segment_ids": [0] * 6,
    "num_choices": [2],
    "label_ids": [1],
    "example_id": [0],
}

CASES = [
    ("pretraining", PRETRAINING, {"input_mask": [7, 1, 1, 1]}, "'input_mask' holds 7, .* below 2"),
    ("pretraining", PRETRAINING, {"input_mask": [-1, 1, 1, 1]}, "'input_mask' holds -1, the least"),
    ("pretraining", PRETRAINING, {"input_mask": [0, 0, 0, 0]}, "'input_mask' is 0 throughout"),
    (
        "pretraining",
        PRETRAINING,
        {"input_mask": [1, 1, 1]},
        "'input_mask' has 3 values, 'input_ids",
    ),
    ("pretraining", PRETRAINING, {"segment_ids": [0] * 5}, "'segment_ids' has 5 values, 'input_i"),
    (
        "pretraining",
        PRETRAINING,
        {"input_mask": [1, 1, 0, 0]},
        "positions' holds 2, but the text ha",
    ),
    ("pretraining", PRETRAINING, {"masked_lm_positions": [1, 6]}, "holds 6, but the text has 4"),
    ("pretraining", PRETRAINING, {"masked_lm_positions": [1, -1]}, "holds -1, the least is 0"),
    (
        "pretraining",
        PRETRAINING,
        {"masked_lm_ids": [7]},
        "'masked_lm_ids' has 1 values, 'masked_lm",
    ),
    (
        "pretraining",
        PRETRAINING,
        {"masked_lm_weights": [1.0]},
        "weights' has 1 values, 'masked_lm_p",
    ),
    ("pretraining", PRETRAINING, {"masked_lm_weights": [math.nan, 1.0]}, "nan, which is no finite"),
    ("pretraining", PRETRAINING, {"masked_lm_weights": [math.inf, 1.0]}, "inf, which is no finite"),
    ("pretraining", PRETRAINING, {"masked_lm_weights": [-1.0, 1.0]}, "holds -1.0, the least is 0"),
    (
        "pretraining",
        PRETRAINING,
        {"masked_lm_weights": [1, 1]},
        "is a int64_list, expected float_l",
    ),
    (
        "pretraining",
        PRETRAINING,
        {"next_sentence_labels": None},
        "'next_sentence_labels' is missin",
    ),
    ("pretraining", PRETRAINING, {"next_sentence_labels": []}, "'next_sentence_labels' is empty"),
    ("pretraining", PRETRAINING, {"next_sentence_labels": [2]}, "holds 2, which is not below 2"),
    ("pretraining", PRETRAINING, {"input_ids": [2, 7, 30, 3]}, "holds 30, .* vocabulary's size 30"),
    (
        "question_answering",
        QUESTION,
        {"start_positions": [5]},
        "holds 5, but the text has 4 tokens",
    ),
    (
        "question_answering",
        QUESTION,
        {"end_positions": [-3]},
        "'end_positions' holds -3, the least",
    ),
    ("question_answering", QUESTION, {"paragraph_mask": [1, 0]}, "'paragraph_mask' has 2 values"),
    ("question_answering", QUESTION, {"paragraph_mask": [1, 9, 1, 0]}, "holds 9, .* not below 2"),
    ("question_answering", QUESTION, {"start_positions": None}, "'start_positions' is missing"),
    ("tagging", TAGGING, {"label_ids": [-1, 3, -1, -1]}, "holds 3, .* the number of labels 3"),
    ("tagging", TAGGING, {"label_ids": [-2, 2, -1, -1]}, "holds -2, the least is -1"),
    ("tagging", TAGGING, {"label_ids": [-1, 2]}, "'label_ids' has 2 values, 'input_ids' has 4"),
    ("tagging", TAGGING, {"word_ids": [0]}, "'word_ids' has 1 values, 'input_ids' has 4"),
    ("sentence_prediction", SENTENCE, {"label_ids": [3]}, "holds 3, .* the number of labels 3"),
    ("sentence_prediction", SENTENCE, {"label_ids": None}, "'label_ids' is missing"),
    ("sentence_prediction", NUMBER, {"label_ids": [math.nan]}, "nan, which is no finite number"),
    ("sentence_prediction", NUMBER, {"label_ids": [-math.inf]}, "-inf, which is no finite number"),
    ("multiple_choice", CHOICES, {"num_choices": [0]}, "'num_choices' holds 0, it must be 1 to 3"),
    ("multiple_choice", CHOICES, {"input_mask": [1] * 5}, "'input_mask' has 5 values, 'input_ids'"),
    ("multiple_choice", CHOICES, {"label_ids": [2]}, "'label_ids' holds 2, there are 2 choices"),
]


def _example(features):
    example = tf.train.Example()
    for name, values in features.items():
        if values is None:
            continue
        kind = "float_list" if any(isinstance(v, float) for v in values) else "int64_list"
        getattr(example.features.feature[name], kind).value.extend(values)
    return example.SerializeToString()


def _write(path, *records):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return [str(path)]


@pytest.mark.parametrize(("kind", "good", "change", "message"), CASES)
def test_a_record_that_contradicts_itself_is_named(tmp_path, kind, good, change, message):
    good_record = _example(good)
    paths = _write(tmp_path / "r.tfrecord", good_record, _example({**good, **change}))
    parse = pipeline.make_parser(
        pipeline.present_features(kind, paths), sizes=SIZES, pad_to_max=False
    )
    parse(tf.constant([good_record]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(pipeline.evaluation_batches(paths, batch_size=2).map(parse))
    with pytest.raises(InputError, match=f"r.tfrecord, record 1: .*{message}"):
        diagnosis.check_files(kind, paths, SIZES)


@pytest.mark.parametrize(("listed", "written"), [(3, 2), (2, 3), (1, 0)])
def test_other_numbers_of_records_than_the_manifest_lists(tmp_path, listed, written):
    paths = _write(tmp_path / "r.tfrecord", *[_example(SENTENCE)] * written)
    training = pipeline.training_batches(
        paths, num_records=listed, batch_size=1, seed=0, shuffle_buffer=5
    )
    with pytest.raises(tf.errors.FailedPreconditionError):
        list(training.take(listed + 1))
    with pytest.raises(tf.errors.FailedPreconditionError):
        list(pipeline.evaluation_batches(paths, batch_size=1, num_records=listed))
    with pytest.raises(InputError, match=f"{written} records, but the manifest lists {listed}"):
        diagnosis.check_files("sentence_prediction", paths, SIZES, listed)


def test_a_first_record_that_cannot_be_read(tmp_path):
    paths = _write(tmp_path / "r.tfrecord", b"\xff\xff\xff")
    with pytest.raises(InputError, match="r.tfrecord, record 0: this is no tf.train.Example"):
        pipeline.present_features("tagging", paths)
    (tmp_path / "r.tfrecord").write_bytes(b"abcdefghijklmnopqrstuvwxyz")
    with pytest.raises(InputError, match="r.tfrecord is truncated or corrupted at record 0"):
        pipeline.present_features("tagging", paths)
    paths = _write(tmp_path / "r.tfrecord", _example({"input_ids": [1]}))
    with pytest.raises(InputError, match="r.tfrecord, record 0: a tagging record lacks the featu"):
        pipeline.present_features("tagging", paths)


def test_whole_batches_of_good_records_are_passed_over(tmp_path):
    bad = _example({**SENTENCE, "label_ids": [3]})
    records = [_example(SENTENCE)] * 2500
    records[2100] = bad
    paths = [
        *_write(tmp_path / "a.tfrecord", *records[:1500]),
        *_write(tmp_path / "b.tfrecord", *records),
    ]
    kind, looked_at = "sentence_prediction", []
    parser = pipeline.make_parser(
        pipeline.present_features(kind, paths), sizes=SIZES, pad_to_max=False
    )

    def parse(batch):
        looked_at.append(len(batch))
        return parser(batch)

    with pytest.raises(InputError, match="b.tfrecord, record 2100: .*holds 3, .* labels 3"):
        diagnosis.check_files(kind, paths, SIZES, parse=parse)
    assert looked_at == [1000, 500, 1000, 1000, 500]
    # What the parser takes is not looked at again, but counted.
    with pytest.raises(InputError, match="4000 records, but the manifest lists 9"):
        diagnosis.check_files(kind, paths, SIZES, 9, parse=lambda batch: None)
