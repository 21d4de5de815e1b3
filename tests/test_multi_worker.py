"""Two workers, as two processes of this machine, train like one device."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.prepared_data import write_pretraining_data
from tests.public_data import ROOT
from tests.test_train import CONFIG, _finish, _wait_for_checkpoint

STEPS = 120
# Without dropout: each replica draws masks of its own.
_OVERRIDES = (
    f"train.steps={STEPS},evaluation.every_steps=0,model.encoder.hidden_dropout_prob=0.0,"
    "model.encoder.attention_probs_dropout_prob=0.0"
)


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _start(config, data, model_dir, strategy, environment=None, overrides=_OVERRIDES):
    flags = [
        f"--config_file={config}",
        f"--params_override=data.path={data},{overrides},runtime.strategy={strategy}",
        f"--model_dir={model_dir}",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "official_bert.train", *flags],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _start_workers(config, data, model_dir, *, other_dir=None, overrides=_OVERRIDES):
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(2)]
    return [
        _start(
            config,
            data,
            other_dir if index and other_dir else model_dir,
            "multi_worker_mirrored",
            {
                "TF_CONFIG": json.dumps(
                    {
                        "cluster": {"worker": addresses},
                        "task": {"type": "worker", "index": index},
                    }
                )
            },
            overrides,
        )
        for index in range(2)
    ]


def _weights(model_dir, steps=STEPS):
    reader = tf.train.load_checkpoint(str(model_dir / "checkpoints" / f"ckpt-{steps}"))
    names = [n for n in reader.get_variable_to_shape_map() if n.startswith("model/")]
    assert names
    return {name: reader.get_tensor(name) for name in names}


@pytest.mark.slow
def test_two_workers_killed_and_restarted_end_like_one_device(tmp_path):
    config = tmp_path / "config.json"  # JSON is YAML.
    config.write_text(json.dumps(CONFIG))
    data = write_pretraining_data(tmp_path / "data")
    _finish(_start(config, data, tmp_path / "one", "one_device"))

    workers = _start_workers(config, data, tmp_path / "two")
    _wait_for_checkpoint(workers[0], tmp_path / "two", 20)
    for worker in reversed(workers):
        worker.kill()
        worker.communicate()
    for worker in _start_workers(config, data, tmp_path / "two"):
        _, errors = _finish(worker)
        assert "going on from step" in errors

    one, two = _weights(tmp_path / "one"), _weights(tmp_path / "two")
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(two[name], one[name], atol=1e-4, err_msg=name)


def _checkpoint_step(model_dir):
    steps = [int(p.stem.split("-")[1]) for p in (model_dir / "checkpoints").glob("*.index")]
    return max(steps, default=0)


@pytest.mark.slow
def test_one_worker_is_stopped_or_lost_at_random_steps_and_all_are_started_again(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    data = write_pretraining_data(tmp_path / "data")
    # A step takes 20 ms, and each of the 12 starts shall make a part of them.
    steps = 1000
    overrides = _OVERRIDES.replace(f"train.steps={STEPS}", f"train.steps={steps}")
    overrides += ",train.checkpoint_every_steps=10"
    for worker in _start_workers(config, data, tmp_path / "unbroken", overrides=overrides):
        _finish(worker, timeout=1000)

    broken, rng = tmp_path / "broken", random.Random(18)
    breaks = [(number, index) for number in ("TERM", "KILL") for index in (0, 1)] * 3
    rng.shuffle(breaks)
    for name, index in breaks:
        workers = _start_workers(config, data, broken, overrides=overrides)
        _wait_for_checkpoint(workers[index], broken, _checkpoint_step(broken) + rng.randint(1, 60))
        workers[index].send_signal(getattr(signal, f"SIG{name}"))
        for number, worker in enumerate(workers):
            _, errors = worker.communicate(timeout=300)
            if name == "KILL" and number == index:
                continue
            assert worker.returncode == 75, errors[-3000:]
            assert "Traceback" not in errors
            assert "the same command goes on" in errors.splitlines()[-1]
            saved = name == "TERM" and number == 0
            assert ("SIGTERM; saved:" in errors) == saved
    for worker in _start_workers(config, data, broken, overrides=overrides):
        _finish(worker, timeout=1000)
    ours, theirs = _weights(broken, steps), _weights(tmp_path / "unbroken", steps)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    lines = [json.loads(line) for line in (broken / "metrics.jsonl").read_text().splitlines()]
    # One process writes, and what a lost step had reported is dropped.
    assert [x["step"] for x in lines if x["split"] == "train"] == list(range(20, steps + 1, 20))


@pytest.mark.slow
def test_workers_with_folders_of_their_own_do_not_start(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    data = write_pretraining_data(tmp_path / "data")
    workers = _start_workers(config, data, tmp_path / "one", other_dir=tmp_path / "two")
    for worker in workers:
        _, errors = _finish(worker, status=2)
        assert "name a folder on a drive that all of them share" in errors.splitlines()[-1]
    assert not (tmp_path / "two").exists()
