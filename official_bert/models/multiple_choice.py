"""One of several continuations (Devlin et al. 2019, section 4.4).

B batch, C choices, S sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.layers.dense import Dense
from official_bert.layers.dropout import Dropout
from official_bert.models.encoder import ENCODER_INPUTS, OPTIONAL_ENCODER_INPUTS, BertEncoder
from official_bert.models.encoder_model import EncoderModel
from official_bert.models.inputs import check_inputs


class BertMultipleChoice(EncoderModel):
    """A score for each choice: the encoder's inputs, int [B, C, S] each -> float32 logits [B, C].

    Attributes for checkpoints: `encoder`, `classifier` (one output).

    Args:
        encoder: a config, from which an encoder is made, or an encoder; with a pooler.
        dropout: rate of the dropout of the pooled output; the encoder's by default.
        name: name of the model.
    """

    def __init__(
        self,
        encoder: BertConfig | BertEncoder,
        dropout: float | None = None,
        name: str = "bert_multiple_choice",
        **kwargs: Any,
    ):
        super().__init__(encoder, name, **kwargs)
        self._require_pooler()
        self._settings = {"dropout": dropout}
        self.dropout = Dropout(self._dropout_rate(dropout), name="dropout")
        self.classifier = Dense(
            1, initializer_range=self.config.initializer_range, name="classifier"
        )
        self._build_heads(self.classifier, rank=3)

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        inputs = check_inputs(
            inputs,
            ENCODER_INPUTS,
            OPTIONAL_ENCODER_INPUTS,
            self.config.max_position_embeddings,
            rank=3,
        )
        choices = tf.shape(inputs["input_word_ids"])[1]
        rows = {
            key: tf.reshape(value, [-1, value.shape[2] or tf.shape(value)[2]])  # [B * C, S]
            for key, value in inputs.items()
        }
        pooled = self.encoder.pooled(rows, training=training)
        scores = self.classifier(self.dropout(pooled, training=training))  # [B * C, 1]
        return tf.cast(tf.reshape(scores, [-1, choices]), tf.float32)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
