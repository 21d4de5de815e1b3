"""What a run refuses before it builds a model."""

import shutil

import pytest

from official_bert.atomic import folder_lock
from official_bert.errors import InputError
from official_bert.experiment import load_experiment
from official_bert.runs.run import Run
from tests.prepared_data import write_pretraining_data
from tests.small_models import SMALL_ENCODER

SMALL = (
    *SMALL_ENCODER,
    "train.batch_size=8",
    "train.steps=2",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_pretraining_data(tmp_path_factory.mktemp("run") / "data", train=16, dev=8)


def _run(data, model_dir, *overrides):
    return Run(load_experiment([], [*SMALL, f"data.path={data}", *overrides]), model_dir)


@pytest.mark.parametrize("name", ["m[1]", "m*", "m?", "a\\b", "[x]/m"])
def test_a_model_folder_whose_name_is_a_pattern(data, tmp_path, name):
    with pytest.raises(InputError, match="for patterns, here in .*: choose a path without them"):
        _run(data, tmp_path / name).train(evaluate=False, skip_nonfinite=False)
    assert not (tmp_path / name).exists()


def test_a_folder_in_which_another_training_is_under_way(data, tmp_path):
    run = _run(data, tmp_path / "m")
    with (
        folder_lock(tmp_path / "m", "training"),
        pytest.raises(InputError, match="m is in use by another training .process "),
    ):
        run.train(evaluate=False, skip_nonfinite=False)
    run.train(evaluate=False, skip_nonfinite=False)


def test_data_that_is_cased_otherwise_than_the_checkpoint(data, tmp_path):
    _run(data, tmp_path / "m").train(evaluate=False, skip_nonfinite=False)
    cased = shutil.copytree(data, tmp_path / "cased")
    (cased / "tokenizer_config.json").write_text('{"do_lower_case": false}\n')
    with pytest.raises(
        InputError,
        match="cased is not lower-cased, that of .*m is lower-cased: .* --do_lower_case=true",
    ):
        _run(cased, tmp_path / "n", f"model.pretrained={tmp_path / 'm'}")


@pytest.mark.parametrize(
    ("split", "message"),
    [("dev", "dev-00000-of-00002.tfrecord, record 1: 'input_mask' is 0"), ("train", "record 1: ")],
)
def test_a_bad_record_of_either_split_is_named_while_training(data, tmp_path, split, message):
    import tensorflow as tf

    broken = shutil.copytree(data, tmp_path / "data")
    path = broken / f"{split}-00000-of-00002.tfrecord"
    records = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    example = tf.train.Example.FromString(records[1])
    mask = example.features.feature["input_mask"].int64_list.value
    mask[:] = [0] * len(mask)
    records[1] = example.SerializeToString()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    with pytest.raises(InputError, match=message):
        _run(broken, tmp_path / "m").train(evaluate=True, skip_nonfinite=False)
