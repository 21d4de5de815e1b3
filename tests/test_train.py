"""`python -m official_bert.train` as a user runs it: whole, stopped, killed, and started again."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
import yaml

from tests.prepared_data import write_pretraining_data
from tests.public_data import ROOT

STEPS = 200
CONFIG = {
    "model": {
        "encoder": {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": 16,
        }
    },
    "optimizer": {"learning_rate": 0.01},
    "train": {"batch_size": 16, "steps": STEPS, "checkpoint_every_steps": 20},
    "evaluation": {"every_steps": 100},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Flags for a config file and prepared data."""
    folder = tmp_path_factory.mktemp("inputs")
    data = write_pretraining_data(folder / "data")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    return [f"--config_file={folder / 'config.yaml'}", f"--params_override=data.path={data}"]


def _start(inputs, model_dir, *flags):
    command = [sys.executable, "-m", "official_bert.train", *inputs, *flags]
    return subprocess.Popen(
        [*command, f"--model_dir={model_dir}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process, status=0, timeout=300):
    output, errors = process.communicate(timeout=timeout)
    assert process.returncode == status, errors[-3000:]
    return output, errors


def _wait_for_checkpoint(process, model_dir, step):
    """Waits until a checkpoint of at least that step is whole."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        steps = [int(p.stem.split("-")[1]) for p in (model_dir / "checkpoints").glob("*.index")]
        if steps and max(steps) >= step:
            return
        time.sleep(0.01)
    raise AssertionError(f"no checkpoint of step {step}: {process.communicate()[1][-3000:]}")


def _weights(model_dir):
    reader = tf.train.load_checkpoint(str(model_dir / "checkpoints" / f"ckpt-{STEPS}"))
    names = reader.get_variable_to_shape_map()
    return {
        name: reader.get_tensor(name) for name in names if name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    }


def _lines(model_dir):
    return (model_dir / "metrics.jsonl").read_text().splitlines()


def test_a_stopped_and_killed_run_ends_like_an_unbroken_one(inputs, tmp_path):
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    _finish(_start(inputs, unbroken))

    process = _start(inputs, broken)
    _wait_for_checkpoint(process, broken, 20)
    process.send_signal(signal.SIGTERM)
    _, errors = _finish(process, status=75)
    assert "the same command goes on" in errors

    process = _start(inputs, broken)
    _wait_for_checkpoint(process, broken, 100)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    output, errors = _finish(_start(inputs, broken))
    assert "going on from step" in errors
    assert "masked_lm_accuracy" in output

    ours, theirs = _weights(broken), _weights(unbroken)
    assert ours.keys() == theirs.keys()
    # Weights, moments and counters: everything but the number of saves so far.
    different = [
        name
        for name in ours
        if not np.array_equal(ours[name], theirs[name]) and not name.startswith("save_counter")
    ]
    assert different == []

    results = json.loads((broken / "eval_results.json").read_text())
    assert results == json.loads((unbroken / "eval_results.json").read_text())
    # Each word is the one before plus one: a model that reads the context knows it.
    assert results["masked_lm_accuracy"] > 0.8 > 5 * results["majority_accuracy"]
    assert results["masked_lm_loss"] < results["unigram_loss"] - 1.0

    for name in ("config.yaml", "bert_config.json", "vocab.txt", "training.png", "best/score.json"):
        assert (broken / name).exists()
    steps = [json.loads(line)["step"] for line in _lines(broken)]
    assert steps == sorted(steps)
    assert steps[-1] == STEPS

    # Started once more, it has nothing to do; with another setting it is another run.
    _, errors = _finish(_start(inputs, broken))
    assert "is finished" in errors
    _, errors = _finish(_start(inputs, broken, "--params_override=train.seed=5"), status=2)
    assert "holds a run with train.seed 0, now it is 5" in errors

    evaluation = subprocess.run(
        [sys.executable, "-m", "official_bert.evaluate", f"--model_dir={broken}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert evaluation.returncode == 0, evaluation.stderr
    assert json.loads((broken / "eval_results.json").read_text())[
        "masked_lm_loss"
    ] == pytest.approx(results["masked_lm_loss"], rel=1e-6)


def test_a_loss_that_is_not_finite_stops_with_a_report(inputs, tmp_path):
    # Each step multiplies the kernels by up to -9,999.
    high = "optimizer.learning_rate=100,optimizer.weight_decay=100,optimizer.max_grad_norm=0"
    flags = [f"--params_override={high}"]
    _, errors = _finish(_start(inputs, tmp_path, *flags), status=2)
    assert "the loss or the gradient is not finite; the last checkpoint is good" in errors
    assert "Traceback" not in errors
    report = json.loads((tmp_path / "nonfinite.json").read_text())
    assert report["step"] > 0
    assert len(report["records"]) == 16
    assert set(report["records"][0]) == {"file", "record"}
    assert all(np.isfinite(json.loads(line)["loss"]) for line in _lines(tmp_path))
