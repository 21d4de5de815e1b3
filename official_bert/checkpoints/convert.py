"""Makes a model and fills it from a checkpoint: every array is used, every variable filled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.checkpoints.source import Source, expected_shapes
from official_bert.checkpoints.tensors import check_memory
from official_bert.checkpoints.variables import named_variables, own_name
from official_bert.errors import InputError

_SHOWN = 5
# Parts of the encoder that may be made anew, like heads.
_TOPS = ("encoder/pooler/", "encoder/bilstm/")


def make_model(source: Source, *, new_heads: bool = False) -> tuple[tf_keras.Model, list[str]]:
    """The model that a checkpoint holds.

    Args:
        source: what was found.
        new_heads: whether a pooler, a BiLSTM or a head that the checkpoint lacks may be made anew.

    Returns:
        The model, and our names of the variables that start from random values.

    Raises:
        InputError: the checkpoint and the model do not fit; both lists are in the message.
    """
    if source.head.pooled:
        source.config = source.config.replace(use_pooler=True)
    new = _check_fit(source, new_heads)
    if source.head.has_classes and source.num_classes is None:
        raise InputError(f"{source.path} does not say how many classes its new head has")
    filled: set[str] = set()

    def create(next_creator: Callable[..., tf.Variable], **kwargs: Any) -> tf.Variable:
        """Starts a variable from its array: no random values are drawn and none stand in memory."""
        name = own_name(f"{tf.get_current_name_scope()}/{kwargs['name']}")
        if name in source.tensors:
            kwargs["initial_value"] = source.tensors[name].read
            filled.add(name)
        return next_creator(**kwargs)

    with tf.variable_creator_scope(create):
        model = source.head.build(
            source.config, source.num_classes, source.head_dropout, {p.name for p in source.parts()}
        )
    # Whatever is not so is a fault of ours: the two lists were compared above.
    assert filled == set(source.tensors) and filled | set(new) == set(named_variables(model))
    return model, new


def _check_fit(source: Source, new_heads: bool) -> list[str]:
    """Compares names, shapes and sizes before anything is allocated.

    Returns:
        The names of variables that may be new.
    """
    shapes = expected_shapes(source.config, source.parts(), source.num_classes)
    unfilled = [name for name in shapes if name not in source.tensors]
    new = [name for name in unfilled if new_heads and not _is_body(name)]
    unfilled = [name for name in unfilled if name not in new]
    unused = source.unused + [t.name for name, t in source.tensors.items() if name not in shapes]
    if unfilled or unused:
        only_heads = unfilled and not unused and not any(map(_is_body, unfilled))
        hint = "; new heads can start from random values with --new_heads" if only_heads else ""
        raise InputError(
            f"{source.path} ({source.format}) does not fit its config: "
            f"{_listed('arrays without a variable', unused)}; "
            f"{_listed('variables without an array', unfilled)}{hint}"
        )
    for name, tensor in source.tensors.items():
        if not tensor.is_float:
            raise InputError(
                f"{source.path} ({source.format}): {tensor.name} has the type {tensor.dtype}; "
                "weights are floating-point numbers: save the model without quantization"
            )
        if tensor.shape != shapes[name]:
            raise InputError(
                f"{source.path} ({source.format}) does not fit its config: {tensor.name} is "
                f"{list(tensor.shape)}, {list(shapes[name])} is wanted for {name} "
                f"(vocab_size {source.config.vocab_size}, hidden_size {source.config.hidden_size}, "
                f"intermediate_size {source.config.intermediate_size}, max_position_embeddings "
                f"{source.config.max_position_embeddings})"
            )
    if source.vocab is not None and len(source.vocab) != source.config.vocab_size:
        remedy = (
            "give the right vocab.txt as vocab_file"
            if len(source.vocab) > source.config.vocab_size
            else "python -m official_bert.convert_checkpoint --vocab_file=vocab.txt leaves out the "
            "rows that no token has"
        )
        raise InputError(
            f"{source.path} has {source.config.vocab_size} word embeddings and a vocabulary of "
            f"{len(source.vocab)} tokens: {remedy}"
        )
    check_memory(source.path, source.tensors.values())
    return new


def _is_body(name: str) -> bool:
    """Whether a variable belongs to the embeddings or a layer."""
    return name.startswith("encoder/") and not name.startswith(_TOPS)


def _listed(what: str, names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{what} ({len(names)}): {', '.join(names[:_SHOWN]) or 'none'}{more}"
