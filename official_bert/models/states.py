"""Which of an encoder's hidden states are taken as features (Devlin et al. 2019, Table 7).

B batch, S sequence, H hidden, L layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from official_bert.errors import InputError
from official_bert.models.encoder import BertEncoder

EMBEDDINGS = "embeddings"
SUM_LAST_FOUR = "sum_last_four"
CONCAT_LAST_FOUR = "concat_last_four"
SUM_ALL = "sum_all"
_NAMES = (EMBEDDINGS, SUM_LAST_FOUR, CONCAT_LAST_FOUR, SUM_ALL)


def check_choice(name: str, num_layers: int) -> None:
    """Raises InputError unless `chosen_states` knows `name` for an encoder of L layers."""
    if name in _NAMES:
        if "four" in name and num_layers < 4:
            raise InputError(f"{name} needs four layers, the encoder has {num_layers}")
        return
    try:
        index = int(name)
    except ValueError:
        raise InputError(
            f"there are no features {name!r}: they are {', '.join(_NAMES)}, or the number of a "
            f"layer: 0 is the first, -1 the last"
        ) from None
    if not -num_layers <= index < num_layers:
        raise InputError(
            f"layer {index} is not there: the encoder has {num_layers}, "
            f"0 to {num_layers - 1} or -{num_layers} to -1"
        )


def all_states(encoder: BertEncoder, inputs: Mapping[str, tf.Tensor]) -> list[tf.Tensor]:
    """The embeddings and what each layer gives, without dropout: L + 1 times [B, S, H]."""
    embeddings = encoder.embeddings(
        inputs["input_word_ids"],
        inputs["input_type_ids"],
        inputs.get("position_ids"),
        training=False,
    )
    return [embeddings, *encoder(inputs, training=False)["encoder_outputs"]]


def parts_of(states: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
    """Those of `all_states` that the features `name` are made of, the last layer first.

    A single one for "embeddings" and for the number of a layer.
    """
    layers = states[1:]
    if name == EMBEDDINGS:
        return [states[0]]
    if name in (SUM_LAST_FOUR, CONCAT_LAST_FOUR):
        return list(layers[:-5:-1])
    if name == SUM_ALL:
        return list(layers[::-1])
    return [layers[int(name)]]


def chosen_states(states: Sequence[tf.Tensor], name: str) -> tf.Tensor:
    """The features `name`: [B, S, H], or [B, S, 4 H] for "concat_last_four", the last layer first.

    Args:
        states: from `all_states`.
        name: "embeddings", "sum_last_four", "concat_last_four", "sum_all" (of all layers, without
            the embeddings), or the number of a layer as google-research/bert counts them: "0" is
            the first layer, "-1" the last.
    """
    parts = parts_of(states, name)
    return tf.concat(parts, axis=-1) if name == CONCAT_LAST_FOUR else tf.add_n(parts)
