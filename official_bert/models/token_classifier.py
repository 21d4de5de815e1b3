"""A class for each token (Devlin et al. 2019, section 5.3). B batch, S sequence, C classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.layers.dense import Dense
from official_bert.layers.dropout import Dropout
from official_bert.models.encoder import BertEncoder
from official_bert.models.encoder_model import EncoderModel


class BertTokenClassifier(EncoderModel):
    """dropout(sequence output) @ kernel + bias: the encoder's inputs -> float32 [B, S, C].

    Attributes for checkpoints: `encoder`, `classifier`.

    Args:
        encoder: a config, from which an encoder is made, or an encoder.
        num_classes: C.
        dropout: rate of the dropout of the sequence output; the encoder's by default.
        name: name of the model.
    """

    def __init__(
        self,
        encoder: BertConfig | BertEncoder,
        num_classes: int,
        dropout: float | None = None,
        name: str = "bert_token_classifier",
        **kwargs: Any,
    ):
        super().__init__(encoder, name, **kwargs)
        self._settings = {"num_classes": num_classes, "dropout": dropout}
        self.dropout = Dropout(self._dropout_rate(dropout), name="dropout")
        # Uncut, as in transformers: two points for WNUT-17, see configs/finetuning/ner_minilm.yaml.
        self.classifier = Dense(
            num_classes,
            initializer_range=self.config.initializer_range,
            truncated=False,
            name="classifier",
        )
        self._build_heads(self.classifier)

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        states = self.encoder(inputs, training=training)["sequence_output"]
        logits = self.classifier(self.dropout(states, training=training))
        return tf.cast(logits, tf.float32)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
