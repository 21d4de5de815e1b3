"""Classes, or a number, for a whole sequence (Devlin et al. 2019, section 4.1).

B batch, S sequence, H hidden, C classes, N packed sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.layers.dense import Dense
from official_bert.layers.dropout import Dropout
from official_bert.models.encoder import BertEncoder
from official_bert.models.encoder_model import EncoderModel


class BertClassifier(EncoderModel):
    """dropout(pooled output) @ kernel + bias: the encoder's inputs -> float32 logits [B, C].

    With packed rows the input `cls_positions`, int [B, N], says where each sequence starts, and the
    logits are [B, N, C]. One class is a regression: the logit is the number.

    Attributes for checkpoints: `encoder`, `classifier`.

    Args:
        encoder: a config, from which an encoder is made, or an encoder; with a pooler.
        num_classes: C.
        dropout: rate of the dropout of the pooled output; the encoder's by default.
        name: name of the model.
    """

    def __init__(
        self,
        encoder: BertConfig | BertEncoder,
        num_classes: int,
        dropout: float | None = None,
        name: str = "bert_classifier",
        **kwargs: Any,
    ):
        super().__init__(encoder, name, **kwargs)
        self._require_pooler()
        self._settings = {"num_classes": num_classes, "dropout": dropout}
        self.dropout = Dropout(self._dropout_rate(dropout), name="dropout")
        self.classifier = Dense(
            num_classes, initializer_range=self.config.initializer_range, name="classifier"
        )
        self._build_heads(self.classifier)

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        encoder_inputs = dict(inputs)
        cls_positions = encoder_inputs.pop("cls_positions", None)
        pooled = self.encoder.pooled(encoder_inputs, cls_positions, training)
        logits = self.classifier(self.dropout(pooled, training=training))
        return tf.cast(logits, tf.float32)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
