"""Where the training runs: devices, precision, determinism."""

from __future__ import annotations

import tensorflow as tf
import tf_keras
from official.common import distribute_utils

from official_bert.errors import InputError


def make_strategy(
    name: str, *, num_gpus: int = 0, tpu: str | None = None
) -> tf.distribute.Strategy:
    """The `tf.distribute` strategy of that name.

    Args:
        name: one_device, mirrored, multi_worker_mirrored (cluster in TF_CONFIG) or tpu.
        num_gpus: GPUs to use on this machine; 0: the CPU. With mirrored and several logical CPU
            devices, there is one replica on each of them.
        tpu: address of the TPU, "local" for the machine's own.

    Raises:
        InputError: more GPUs than there are, or no TPU address.
    """
    available = len(tf.config.list_physical_devices("GPU"))
    if num_gpus > available:
        raise InputError(f"runtime.num_gpus is {num_gpus}, but TensorFlow sees {available} GPUs")
    if name == "tpu" and tpu is None:
        raise InputError("runtime.strategy is tpu: give the address with --tpu=NAME or --tpu=local")
    if name == "mirrored" and num_gpus == 0:
        # distribute_utils knows one CPU only; logical CPU devices are how mirroring is rehearsed.
        return tf.distribute.MirroredStrategy(
            [device.name for device in tf.config.list_logical_devices("CPU")]
        )
    try:
        return distribute_utils.get_distribution_strategy(name, num_gpus=num_gpus, tpu_address=tpu)
    except ValueError as error:
        raise InputError(f"runtime.strategy {name}: {error}") from error


def set_runtime(*, seed: int, precision: str, deterministic: bool) -> None:
    """Sets what TensorFlow keeps globally; to be called before the model is built."""
    tf_keras.mixed_precision.set_global_policy(precision)
    tf_keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process is the one that writes files: the only one, or worker 0 of several."""
    resolver = strategy.cluster_resolver
    return resolver is None or resolver.task_type in (None, "", "chief") or not resolver.task_id
