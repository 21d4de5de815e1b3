"""A float32 model -> the same model with weights and matrix products in bfloat16."""

from __future__ import annotations

from typing import TypeVar

import tensorflow as tf
import tf_keras
from tf_keras.src.mixed_precision.autocast_variable import AutoCastVariable

_Model = TypeVar("_Model", bound=tf_keras.Model)


def to_bfloat16(model: _Model) -> _Model:
    """A copy of `model` that stores and computes in bfloat16: half the memory.

    What the layers keep from autocasting stays float32: layer norms, softmax, logits. The copy is
    for inference.

    Args:
        model: a float32 model that can be made from its config.
    """
    policy = tf_keras.mixed_precision.global_policy()
    tf_keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        copy: _Model = type(model).from_config(model.get_config())
    finally:
        tf_keras.mixed_precision.set_global_policy(policy)
    copy.set_weights(model.get_weights())
    for layer in copy.submodules:
        for name, value in vars(layer).copy().items():
            # Mixed precision stores float32 and casts at each use: store what the cast gives.
            if isinstance(value, AutoCastVariable):
                stored = tf.Variable(
                    tf.cast(tf.convert_to_tensor(value), tf.bfloat16), False, name=value.name[:-2]
                )
                setattr(layer, name, stored)
    return copy
