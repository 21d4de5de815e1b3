"""A tagger on features that stay as they are (Devlin et al. 2019, section 5.3, Table 7).

B batch, S sequence, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.config import BertConfig
from official_bert.layers.dense import Dense
from official_bert.layers.dropout import Dropout
from official_bert.models.encoder import BertEncoder
from official_bert.models.encoder_model import EncoderModel
from official_bert.models.states import CONCAT_LAST_FOUR, all_states, check_choice, parts_of


class BertFeatureTagger(EncoderModel):
    """BiLSTM over hidden states of a frozen encoder: the encoder's inputs -> float32 [B, S, C].

    The encoder is neither trained nor does it drop anything. A sum of layers is weighted by a
    number for each, learned, and 1 at first ("weighted sum" in Table 7).

    Args:
        encoder: a config, from which an encoder is made, or an encoder.
        num_classes: C.
        features: which states, see `states.chosen_states`.
        lstm_size: units of each direction.
        lstm_layers: number of layers, 2 in the paper.
        dropout: rate of the dropout of the BiLSTM's output; the encoder's by default.
        name: name of the model.

    Raises:
        InputError: the encoder has no such layers.
    """

    def __init__(
        self,
        encoder: BertConfig | BertEncoder,
        num_classes: int,
        features: str = CONCAT_LAST_FOUR,
        lstm_size: int = 768,
        lstm_layers: int = 2,
        dropout: float | None = None,
        name: str = "bert_feature_tagger",
        **kwargs: Any,
    ):
        super().__init__(encoder, name, **kwargs)
        layers = self.config.num_hidden_layers
        check_choice(features, layers)
        self._features = features
        self._settings = {
            "num_classes": num_classes,
            "features": features,
            "lstm_size": lstm_size,
            "lstm_layers": lstm_layers,
            "dropout": dropout,
        }
        self.encoder.trainable = False
        # Stand-ins for the states, to count them.
        summed = len(parts_of([tf.zeros([])] * (layers + 1), features))
        concatenated = features == CONCAT_LAST_FOUR
        self.layer_weights = None
        with tf.name_scope(self.name):
            if summed > 1 and not concatenated:
                self.layer_weights = self.add_weight("layer_weights", [summed], initializer="ones")
        self.lstms = [
            tf_keras.layers.Bidirectional(
                tf_keras.layers.LSTM(lstm_size, return_sequences=True), name=f"bilstm_{index}"
            )
            for index in range(lstm_layers)
        ]
        self.dropout = Dropout(self._dropout_rate(dropout), name="dropout")
        self.classifier = Dense(
            num_classes, initializer_range=self.config.initializer_range, name="classifier"
        )
        self._build_heads()
        width = self.config.hidden_size * (summed if concatenated else 1)
        with tf.name_scope(self.name):
            for layer in (*self.lstms, self.classifier):
                layer.build(tf.TensorShape([None, None, width]))
                width = 2 * lstm_size

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> tf.Tensor:
        states = all_states(self.encoder, inputs)
        parts = [tf.stop_gradient(part) for part in parts_of(states, self._features)]
        if self.layer_weights is None:
            features = tf.concat(parts, axis=-1)
        else:
            weights = tf.unstack(self.layer_weights)
            features = tf.add_n([w * part for w, part in zip(weights, parts, strict=True)])
        is_token = tf.not_equal(inputs["input_mask"], 0)
        for lstm in self.lstms:
            features = lstm(features, mask=is_token)
        logits = self.classifier(self.dropout(features, training=training))
        return tf.cast(logits, tf.float32)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
