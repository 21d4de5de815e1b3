"""Several span labelers as one (Devlin et al. 2019, table 2: an ensemble of seven)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.config import BertConfig
from official_bert.models.encoder import BertEncoder
from official_bert.models.span_labeler import BertSpanLabeler, SpanLogits


class SpanEnsemble(tf_keras.Model):
    """The encoder's inputs -> the mean of the logits that the members give.

    Args:
        members: models of any size; they read the same vocabulary.

    Attributes:
        encoder: the one of the member that takes the shortest sequences.
        config: of that encoder.
    """

    def __init__(
        self, members: Sequence[BertSpanLabeler], name: str = "span_ensemble", **kwargs: Any
    ):
        super().__init__(name=name, **kwargs)
        self.members = list(members)
        shortest = min(members, key=lambda member: member.config.max_position_embeddings)
        self.encoder: BertEncoder = shortest.encoder
        self.config: BertConfig = shortest.config

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> SpanLogits:
        logits = [member(inputs, training=training) for member in self.members]
        return SpanLogits(*(tf.add_n(parts) / len(parts) for parts in zip(*logits, strict=True)))
