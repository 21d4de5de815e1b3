"""The checks of a model's inputs, by keys and static shapes: they cost nothing at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.errors import InputError


def check_inputs(
    inputs: Mapping[str, Any],
    required: tuple[str, ...],
    optional: tuple[str, ...],
    max_length: int,
    rank: int = 2,
) -> dict[str, tf.Tensor]:
    """The inputs as tensors, after a look at their keys, ranks and lengths.

    Args:
        inputs: the dict that a model was called on.
        required: keys that must be there; [..., S].
        optional: keys that may be there.
        max_length: the largest S without `position_ids`; the model's max_position_embeddings.
        rank: number of axes of each input.

    Raises:
        InputError: not a dict, a missing or unknown key, a wrong rank, or too long a sequence.
    """
    if not isinstance(inputs, Mapping):
        raise InputError(
            f"the model is called on a dict with the keys {', '.join(required)}, "
            f"got {type(inputs).__name__}"
        )
    missing = [key for key in required if inputs.get(key) is None]
    if missing:
        raise InputError(
            f"missing model input {', '.join(missing)}; given: {', '.join(sorted(inputs))}"
        )
    unknown = sorted(set(inputs) - set(required) - set(optional))
    if unknown:
        raise InputError(
            f"unknown model input {', '.join(unknown)}; known: {', '.join((*required, *optional))}"
        )
    if inputs.get("pack_ids") is not None and inputs.get("position_ids") is None:
        raise InputError("pack_ids needs position_ids: each packed sequence starts again at 0")
    tensors = {
        key: tf.convert_to_tensor(value) for key, value in inputs.items() if value is not None
    }
    for key, tensor in tensors.items():
        if tensor.shape.rank != rank:
            raise InputError(f"{key} must have {rank} axes, got shape {tensor.shape}")
    length = tensors[required[0]].shape[-1]
    # Explicit position ids may restart at 0 within the row.
    if "position_ids" not in tensors and length is not None and length > max_length:
        raise InputError(
            f"{required[0]} has a sequence length of {length}, above max_position_embeddings "
            f"{max_length}: shorten the sequences or choose another encoder"
        )
    return tensors


def can_pack(config: BertConfig) -> bool:
    """Whether `check_packing` lets a model pack, the pooled output included."""
    return config.attention == "bidirectional" and not config.bilstm


def check_packing(config: BertConfig, *, pooled: bool) -> None:
    """Refuses rows of several sequences where a model would not read them one by one.

    Args:
        config: of the encoder.
        pooled: whether the pooled output of each sequence is wanted.

    Raises:
        InputError: an encoder with a BiLSTM, which reads over the ends of sequences; a causal one,
            whose pooler reads the last token of the row.
    """
    unpacked = "use bucketed or padded batches of records without packing"
    if config.bilstm:
        raise InputError(f"packed rows: a BiLSTM reads from one sequence into the next; {unpacked}")
    if pooled and config.attention == "causal":
        raise InputError(
            "packed rows have no pooled output where attention is causal: the pooler reads the "
            f"last token of the row; {unpacked}"
        )
