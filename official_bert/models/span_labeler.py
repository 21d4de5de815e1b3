"""The start and the end of an answer (Devlin et al. 2019, section 4.2). B batch, S sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.layers.dense import Dense
from official_bert.models.encoder import BertEncoder
from official_bert.models.encoder_model import EncoderModel


class SpanLogits(NamedTuple):
    """A score for each token as the first, and as the last, of the answer; float32 [B, S] each."""

    start_logits: tf.Tensor
    end_logits: tf.Tensor


class BertSpanLabeler(EncoderModel):
    """The encoder's inputs -> `SpanLogits`. Padding and question have scores too: mask them later.

    Attributes for checkpoints: `encoder`, `span` (column 0 is the start, 1 the end).

    Args:
        encoder: a config, from which an encoder is made, or an encoder.
        name: name of the model.
    """

    def __init__(
        self, encoder: BertConfig | BertEncoder, name: str = "bert_span_labeler", **kwargs: Any
    ):
        super().__init__(encoder, name, **kwargs)
        self.span = Dense(2, initializer_range=self.config.initializer_range, name="span")
        self._build_heads(self.span)

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> SpanLogits:
        states = self.encoder(inputs, training=training)["sequence_output"]
        logits = tf.cast(self.span(states), tf.float32)  # [B, S, 2]
        return SpanLogits(start_logits=logits[..., 0], end_logits=logits[..., 1])
