"""The devices of a run, from what is visible and what the config says."""

from __future__ import annotations

import json

import pytest

from official_bert.errors import InputError
from official_bert.training.strategy import (
    Visible,
    choose_devices,
    is_chief_of,
    make_strategy,
    num_workers,
)

TPU = "grpc://10.0.0.2:8470"


@pytest.mark.parametrize(
    ("strategy", "num_gpus", "visible", "tpu", "chosen", "gpus", "reason"),
    [
        ("auto", None, Visible(), None, "one_device", 0, "the CPU (no GPU is visible)"),
        ("auto", None, Visible(gpus=1), None, "one_device", 1, "1 of 1 GPUs"),
        ("auto", None, Visible(gpus=8), None, "mirrored", 8, "8 of 8 GPUs"),
        ("auto", 1, Visible(gpus=8), None, "one_device", 1, "1 of 8 GPUs"),
        ("auto", 3, Visible(gpus=8), None, "mirrored", 3, "3 of 8 GPUs"),
        (
            "auto",
            0,
            Visible(gpus=8),
            None,
            "one_device",
            0,
            "the CPU, and leaves 8 GPUs idle (runtime.num_gpus is 0)",
        ),
        ("auto", None, Visible(gpus=8), TPU, "tpu", 0, f"the TPU {TPU}"),
        ("auto", None, Visible(), "local", "tpu", 0, "the TPU local"),
        (
            "auto",
            None,
            Visible(gpus=8, workers=4),
            None,
            "multi_worker_mirrored",
            8,
            "4 workers, here 8 of 8 GPUs",
        ),
        ("auto", None, Visible(workers=4), TPU, "tpu", 0, f"the TPU {TPU}"),
        ("tpu", None, Visible(), TPU, "tpu", 0, f"the TPU {TPU}"),
        ("one_device", None, Visible(gpus=8), None, "one_device", 1, "1 of 8 GPUs"),
        ("one_device", None, Visible(), None, "one_device", 0, "the CPU (no GPU is visible)"),
        ("mirrored", None, Visible(gpus=8), None, "mirrored", 8, "8 of 8 GPUs"),
        ("mirrored", None, Visible(gpus=1), None, "mirrored", 1, "1 of 1 GPUs"),
        ("mirrored", None, Visible(cpus=2), None, "mirrored", 0, "2 logical CPUs"),
        (
            "multi_worker_mirrored",
            2,
            Visible(gpus=4, workers=2),
            None,
            "multi_worker_mirrored",
            2,
            "2 workers, here 2 of 4 GPUs",
        ),
    ],
)
def test_devices_follow_from_what_is_visible(
    strategy, num_gpus, visible, tpu, chosen, gpus, reason
):
    devices = choose_devices(strategy, num_gpus, visible, tpu=tpu)
    assert (devices.strategy, devices.gpus, devices.reason) == (chosen, gpus, reason)


@pytest.mark.parametrize(
    ("strategy", "num_gpus", "visible", "tpu", "message"),
    [
        ("auto", 2, Visible(gpus=1), None, "num_gpus is 2, but TensorFlow sees 1 GPUs"),
        ("one_device", 2, Visible(gpus=8), None, "num_gpus is 2, but runtime.strategy is one_"),
        ("tpu", None, Visible(gpus=8), None, "give the address with --tpu=NAME"),
        ("mirrored", None, Visible(gpus=8), TPU, "--tpu=grpc.* but runtime.strategy is mirrored"),
    ],
)
def test_what_is_not_there_is_refused(strategy, num_gpus, visible, tpu, message):
    with pytest.raises(InputError, match=message):
        choose_devices(strategy, num_gpus, visible, tpu=tpu)


def _tf_config(cluster, job="worker", index=0):
    return json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})


@pytest.mark.parametrize(
    ("tf_config", "count"),
    [
        ("", 1),
        ("{}", 1),
        (_tf_config({"worker": ["a:1"]}), 1),
        (_tf_config({"worker": ["a:1", "b:1"]}), 2),
        (_tf_config({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "chief"), 3),
        (_tf_config({"worker": ["a:1", "b:1"], "evaluator": ["c:1"]}), 2),
        (_tf_config({"worker": ["a:1", "b:1"], "evaluator": ["c:1"]}, "evaluator"), 1),
    ],
)
def test_workers_are_counted(tf_config, count):
    assert num_workers(tf_config) == count


@pytest.mark.parametrize(
    ("tf_config", "message"),
    [
        ("{", "TF_CONFIG is no JSON"),
        ("[]", r"TF_CONFIG is \[\]"),
        ('{"cluster": {"worker": "a:1"}}', "TF_CONFIG has the cluster"),
        ('{"cluster": {"worker": [1]}}', "TF_CONFIG has the cluster"),
        ('{"cluster": {"worker": ["a:1"]}}', "TF_CONFIG has the task"),
        (_tf_config({"worker": ["a:1"]}, index="0"), "TF_CONFIG has the task"),
        (_tf_config({"worker": ["a:1"]}, index=1), "has no worker number 1"),
        (_tf_config({"worker": ["a:1"]}, "ps"), "has no ps number 0"),
    ],
)
def test_a_wrong_cluster_is_one_line(tf_config, message):
    with pytest.raises(InputError, match=message):
        num_workers(tf_config)


def test_no_tpu_is_one_line():
    devices = choose_devices("tpu", None, Visible(), tpu="local")
    with pytest.raises(InputError, match="--tpu=local: TensorFlow reaches no TPU there") as raised:
        make_strategy(devices, tpu="local")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("jobs", "task_type", "task_id", "chief"),
    [
        (["worker"], "worker", 0, True),
        (["worker"], "worker", 1, False),
        (["chief", "worker"], "chief", 0, True),
        (["chief", "worker"], "worker", 0, False),
        (["chief", "worker"], "worker", 1, False),
        ([], None, None, True),
    ],
)
def test_of_several_processes_one_writes(jobs, task_type, task_id, chief):
    assert is_chief_of(jobs, task_type, task_id) == chief
