"""Where the training runs: devices, precision, determinism."""

from __future__ import annotations

import dataclasses
import json
import os
import urllib.error
from collections.abc import Collection

import tensorflow as tf
import tf_keras
from absl import logging
from official.common import distribute_utils

from official_bert.errors import InputError, shown


@dataclasses.dataclass(frozen=True)
class Visible:
    """What TensorFlow could use.

    Attributes:
        gpus: GPUs of this machine.
        cpus: logical CPU devices; more than one only where a program split the CPU.
        workers: processes of the cluster in TF_CONFIG; 1 without one.
    """

    gpus: int = 0
    cpus: int = 1
    workers: int = 1


@dataclasses.dataclass(frozen=True)
class Devices:
    """What a run uses.

    Attributes:
        strategy: one_device, mirrored, multi_worker_mirrored or tpu.
        gpus: GPUs of this machine; 0: its CPU, or the TPU.
        reason: why, for people.
    """

    strategy: str
    gpus: int
    reason: str


def choose_devices(
    strategy: str, num_gpus: int | None, visible: Visible, *, tpu: str | None = None
) -> Devices:
    """The devices for a config, from what there is.

        choose_devices("auto", None, Visible(gpus=8)) -> mirrored over 8 GPUs

    Args:
        strategy: "auto" (the TPU that is named, else all workers of TF_CONFIG, else all GPUs, else
            the CPU), or one of `Devices.strategy`.
        num_gpus: None: all there are; 0: the CPU.
        visible: what there is.
        tpu: address of the TPU.

    Raises:
        InputError: more GPUs than there are, several with one_device, or tpu without an address.
    """
    if num_gpus is not None and num_gpus > visible.gpus:
        raise InputError(
            f"runtime.num_gpus is {num_gpus}, but TensorFlow sees {visible.gpus} GPUs (for NVIDIA: "
            "pip install 'tensorflow[and-cuda]' of this version)"
        )
    if strategy == "tpu" and tpu is None:
        raise InputError("runtime.strategy is tpu: give the address with --tpu=NAME or --tpu=local")
    if strategy not in ("auto", "tpu") and tpu is not None:
        raise InputError(
            f"--tpu={tpu} is given, but runtime.strategy is {strategy}: set it to tpu or auto"
        )
    gpus = visible.gpus if num_gpus is None else num_gpus
    if strategy == "tpu" or (strategy == "auto" and tpu is not None):
        return Devices("tpu", 0, f"the TPU {tpu}")
    if strategy == "auto" and visible.workers > 1:
        strategy = "multi_worker_mirrored"
    elif strategy == "auto":
        strategy = "mirrored" if gpus > 1 else "one_device"
    if strategy == "one_device" and num_gpus is not None and num_gpus > 1:
        raise InputError(
            f"runtime.num_gpus is {num_gpus}, but runtime.strategy is one_device: set it to "
            "mirrored or auto"
        )
    if strategy == "one_device":
        gpus = min(gpus, 1)
    return Devices(strategy, gpus, _reason(strategy, gpus, visible))


def _reason(strategy: str, gpus: int, visible: Visible) -> str:
    used = f"{gpus} of {visible.gpus} GPUs" if visible.gpus else "the CPU (no GPU is visible)"
    if visible.gpus and not gpus:
        used = f"the CPU, and leaves {visible.gpus} GPUs idle (runtime.num_gpus is 0)"
    if strategy == "multi_worker_mirrored":
        return f"{visible.workers} workers, here {used}"
    if strategy == "mirrored" and not gpus and visible.cpus > 1:
        return f"{visible.cpus} logical CPUs"
    return used


def visible_devices() -> Visible:
    """What TensorFlow sees on this machine, and the cluster in TF_CONFIG.

    Raises:
        InputError: TF_CONFIG is not what TensorFlow reads.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    return Visible(
        gpus=len(tf.config.list_physical_devices("GPU")),
        cpus=len(tf.config.get_logical_device_configuration(cpu) or [None]),
        workers=num_workers(os.environ.get("TF_CONFIG", "")),
    )


def num_workers(tf_config: str) -> int:
    """Processes that train together: those of the jobs chief and worker; 1 without a cluster.

        num_workers(
            '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
        ) -> 2

    Raises:
        InputError: it is not JSON, or names no cluster and task.
    """
    if not tf_config.strip():
        return 1
    example = (
        """'{"cluster": {"worker": ["host1:2222", "host2:2222"]}, """
        """"task": {"type": "worker", "index": 0}}'"""
    )
    try:
        config = json.loads(tf_config)
    except ValueError as error:
        raise InputError(f"TF_CONFIG is no JSON ({error}): it must be like {example}") from error
    cluster = config.get("cluster", {}) if isinstance(config, dict) else None
    task = config.get("task", {}) if isinstance(config, dict) else None
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise InputError(f"TF_CONFIG is {shown(config)}: it must be like {example}")
    if not cluster or task.get("type") == "evaluator":  # Which watches the others, alone.
        return 1
    hosts = [cluster.get(job, []) for job in ("chief", "worker")]
    if not all(isinstance(h, list) and all(isinstance(x, str) for x in h) for h in hosts):
        raise InputError(f"TF_CONFIG has the cluster {shown(cluster)}: it must be like {example}")
    job, index = task.get("type"), task.get("index")
    if not isinstance(job, str) or not isinstance(index, int):
        raise InputError(f"TF_CONFIG has the task {shown(task)}: it must be like {example}")
    of_job = cluster.get(job)
    if job not in ("chief", "worker") or not of_job or not 0 <= index < len(of_job):
        raise InputError(f"TF_CONFIG: the cluster {shown(cluster)} has no {job} number {index}")
    return sum(map(len, hosts))


def make_strategy(devices: Devices, *, tpu: str | None = None) -> tf.distribute.Strategy:
    """The `tf.distribute` strategy on these devices; logs which they are.

    Args:
        devices: from `choose_devices`. With mirrored and no GPU, there is one replica on each
            logical CPU device.
        tpu: address of the TPU, "local" for the machine's own.

    Raises:
        InputError: TensorFlow reaches no TPU.
    """
    logging.info("on %s (%s)", devices.reason, devices.strategy)
    if devices.strategy == "multi_worker_mirrored":
        # It takes all that are visible.
        gpus = tf.config.list_physical_devices("GPU")
        tf.config.set_visible_devices(gpus[: devices.gpus], "GPU")
    if devices.strategy == "mirrored" and not devices.gpus:
        # distribute_utils knows one CPU only; logical CPU devices are how mirroring is rehearsed.
        return tf.distribute.MirroredStrategy(
            [device.name for device in tf.config.list_logical_devices("CPU")]
        )
    try:
        return distribute_utils.get_distribution_strategy(
            devices.strategy, num_gpus=devices.gpus, tpu_address=tpu
        )
    except (ValueError, tf.errors.OpError, urllib.error.URLError) as error:
        if devices.strategy != "tpu":
            raise
        reason = str(error).splitlines()[0].partition(" Failed in init")[0]
        raise InputError(f"--tpu={tpu}: TensorFlow reaches no TPU there ({reason})") from error


def set_runtime(*, seed: int, precision: str, deterministic: bool) -> None:
    """Sets what TensorFlow keeps globally; to be called before the model is built."""
    tf_keras.mixed_precision.set_global_policy(precision)
    tf_keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process is the one that writes files.

    That is the only process, or of several the job `chief`; where there is none, worker 0.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return True
    resolver = strategy.cluster_resolver
    return is_chief_of(resolver.cluster_spec().jobs, resolver.task_type, resolver.task_id)


def is_chief_of(jobs: Collection[str], task_type: str | None, task_id: int | None) -> bool:
    """The same from the jobs of a cluster and this process' task.

    is_chief_of(["chief", "worker"], "worker", 0) -> False
    """
    if not task_type:
        return True
    return task_type == "chief" or ("chief" not in jobs and task_type == "worker" and not task_id)
