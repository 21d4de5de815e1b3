"""Which layers learn, and how fast, while an encoder is fine-tuned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import tensorflow as tf
import tf_keras

from official_bert.errors import InputError


class LayeredEncoder(Protocol):
    """The parts of an encoder that learn at rates of their own (`models.encoder.BertEncoder`)."""

    embeddings: tf_keras.layers.Layer
    transformer_layers: list[tf_keras.layers.Layer]


def freeze_layers(encoder: LayeredEncoder, count: int) -> None:
    """Keeps the embeddings and the first `count` layers as they are; dropout goes on in them.

    Raises:
        InputError: there are not so many layers, or they share their weights.
    """
    layers: list[tf_keras.layers.Layer] = encoder.transformer_layers
    if count > len(layers):
        raise InputError(f"model.frozen_layers is {count}: the encoder has {len(layers)} layer(s)")
    for layer in [encoder.embeddings, *layers[:count]]:
        layer.trainable = False


def layer_rate_shares(encoder: LayeredEncoder, decay: float) -> Iterator[tuple[tf.Variable, float]]:
    """The share of the learning rate for each variable of the encoder.

    With L layers: a BiLSTM, the pooler and the head have 1, layer L the decay, layer 1 decay**L,
    the embeddings decay**(L + 1), which is how ELECTRA fine-tunes (Clark et al. 2020, appendix B).
    """
    depth = len(encoder.transformer_layers)
    layers: list[tf_keras.layers.Layer] = [encoder.embeddings, *encoder.transformer_layers]
    for index, layer in enumerate(layers):
        for variable in layer.trainable_variables:
            yield variable, decay ** (depth + 1 - index)
