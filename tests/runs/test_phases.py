"""Runs on two folders of prepared data, one after the other; and evaluation beside a training."""

import json
import shutil
import signal
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.experiment import load_experiment
from official_bert.model_folder import WATCHED_METRICS_NAME
from official_bert.runs.run import Run
from official_bert.tasks.pretraining import PretrainingTask
from official_bert.training.run_log import read_metrics
from official_bert.training.stop_signal import Interrupted
from tests.prepared_data import write_pretraining_data

SMALL = [
    "model.encoder.hidden_size=8",
    "model.encoder.num_hidden_layers=1",
    "model.encoder.num_attention_heads=2",
    "model.encoder.intermediate_size=16",
    "model.encoder.max_position_embeddings=16",
    "optimizer.learning_rate=0.01,optimizer.warmup_proportion=0.5",
    "train.batch_size=8,train.steps=20,train.log_every_steps=1,evaluation.every_steps=5",
    "second_phase.start=0.5,second_phase.batch_size=4",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return [
        write_pretraining_data(folder / "short"),
        write_pretraining_data(folder / "long", train=30, shards=3, seed=1),
    ]


def _run(folder, data, *overrides):
    paths = f"data.path={data[0]},second_phase.path={data[1]}"
    return Run(load_experiment([], [*SMALL, paths, *overrides]), str(folder))


def _train(folder, data, *overrides):
    return _run(folder, data, *overrides).train(evaluate=True, skip_nonfinite=False)


def _weights(folder):
    reader = tf.train.load_checkpoint(str(folder / "checkpoints"))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith("model/")
    }


@pytest.fixture(scope="module")
def unbroken(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    _train(folder, data)
    return folder


@pytest.mark.parametrize("stop_at", [10, 15])
def test_a_run_stopped_in_either_phase_ends_like_an_unbroken_one(
    data, unbroken, tmp_path, monkeypatch, stop_at
):
    results, evaluations = PretrainingTask.results, []

    def stop_after_this_step(*args):
        evaluations.append(None)
        if len(evaluations) == stop_at // 5:
            signal.raise_signal(signal.SIGTERM)
        return results(*args)

    with monkeypatch.context() as patch:
        patch.setattr(PretrainingTask, "results", stop_after_this_step)
        with pytest.raises(Interrupted):
            _train(tmp_path, data)
    # At the end of a phase the request is heard in the first step of the next.
    assert read_metrics(tmp_path)[-1]["step"] in (stop_at, stop_at + 1)
    _train(tmp_path, data)
    ours, theirs = _weights(tmp_path), _weights(unbroken)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not np.array_equal(ours[name], theirs[name])] == []


@pytest.mark.parametrize(
    ("start", "batch_size", "shards"), [(0.1, 8, 2), (0.05, 4, 3)], ids=["first", "second"]
)
def test_each_phase_reads_its_own_data_in_batches_of_its_own_size(
    data, tmp_path, start, batch_size, shards
):
    """The second step, number 1, is not finite: the last of one phase or the first of another.

    The epsilon is 0 in float32; what has no gradient in the first step gets 0 / 0.
    """
    overrides = ["optimizer.epsilon=1e-50", f"second_phase.start={start}"]
    with pytest.raises(InputError, match="not finite"):
        _train(tmp_path, data, *overrides)
    written = json.loads((tmp_path / "nonfinite.json").read_text())
    assert written["step"] == 1
    assert len(written["records"]) == batch_size
    files = {record["file"] for record in written["records"]}
    assert files <= {f"train-{n:05}-of-{shards:05}.tfrecord" for n in range(shards)}


def test_the_second_phase_ends_the_run(unbroken):
    assert read_metrics(unbroken)[-1]["step"] == 20


def test_one_schedule_over_both_or_one_for_each(data, unbroken, tmp_path):
    def rates(folder):
        lines = (line for line in read_metrics(folder) if line["split"] == "train")
        return {line["step"]: line["learning_rate"] for line in lines}

    # Warm-up in 10 of 20 steps, then decay; the first step has the rate of t = 0.
    assert [rates(unbroken)[t] for t in (1, 6, 11, 16)] == pytest.approx([0.0, 0.005, 0.01, 0.005])
    own = "second_phase.learning_rate=0.004,second_phase.warmup_proportion=0.2"
    _train(tmp_path, data, own)
    # Twice: 5 of 10 steps up to 0.01, 2 of 10 up to 0.004.
    assert [rates(tmp_path)[t] for t in (1, 6, 10, 11, 12, 13, 17)] == pytest.approx(
        [0.0, 0.01, 0.002, 0.0, 0.002, 0.004, 0.002], abs=1e-8
    )


def test_settings_that_do_not_go_together(data, tmp_path):
    with pytest.raises(InputError, match=r"second_phase.path needs train.steps"):
        _run(tmp_path, data, "train.steps=null")
    with pytest.raises(InputError, match=r"second_phase.start is 1.0: it must be above 0"):
        _run(tmp_path, data, "second_phase.start=1.0")
    other = write_pretraining_data(tmp_path / "other")
    (other / "vocab.txt").write_text((other / "vocab.txt").read_text() + "more\n")
    with pytest.raises(InputError, match=r"the manifest beside it says"):
        _train(tmp_path / "model", [data[0], other])


def test_watching_evaluates_each_checkpoint_and_ends_with_the_last(data, tmp_path):
    source, watched = tmp_path / "source", tmp_path / "watched"
    settings = ["train.checkpoint_every_steps=10", "evaluation.every_steps=0"]
    _run(source, data, *settings).train(evaluate=False, skip_nonfinite=False)
    assert not (source / "best").exists()
    shutil.copytree(source, watched, ignore=shutil.ignore_patterns("checkpoints"))
    (watched / "checkpoints").mkdir()

    def publish(step):
        for path in (source / "checkpoints").glob(f"ckpt-{step}.*"):
            shutil.copy(path, watched / "checkpoints")
        state = (
            f'model_checkpoint_path: "ckpt-{step}"\n'
            f'all_model_checkpoint_paths: "ckpt-{step}"\n'
            "all_model_checkpoint_timestamps: 1.0\n"
        )
        (watched / "checkpoints" / "checkpoint").write_text(state)

    def train():
        publish(10)
        while not read_metrics(watched, WATCHED_METRICS_NAME):
            time.sleep(0.05)
        publish(20)

    training = threading.Thread(target=train)
    training.start()
    results = _run(watched, data, *settings).watch(timeout=120.0)
    training.join()
    assert [line["step"] for line in read_metrics(watched, WATCHED_METRICS_NAME)] == [10, 20]
    best = json.loads((watched / "best" / "score.json").read_text())
    assert results["step"] == best["step"]
    assert results["total_steps"] == 20
    assert json.loads((watched / "eval_results.json").read_text()) == results


def test_watching_a_folder_without_news_ends(data, tmp_path):
    with pytest.raises(InputError, match=r"no checkpoint came into .* within 0.1 s"):
        _run(tmp_path, data).watch(timeout=0.1)
