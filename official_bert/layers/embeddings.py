"""Sum of word, position and type embeddings (Devlin et al. 2019, figure 2)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.layers.dense import Dense, build_child, initializer
from official_bert.layers.dropout import Dropout
from official_bert.layers.normalization import LayerNorm


class Embeddings(tf_keras.layers.Layer):
    """dropout(layer_norm(word + position + type)), projected where the tables are narrower than H.

    Called on word ids and type ids, int [B, S], and optionally position ids, int [B, S]; without
    them the positions are 0, 1, 2, …

    Args:
        vocab_size: rows of the word table, V.
        embedding_size: width of the three tables, E.
        hidden_size: H; where it is not E, the sum is projected to it (Lan et al. 2020).
        max_positions: rows of the position table.
        type_vocab_size: rows of the type table.
        dropout: rate of the dropout after the layer norm.
        initializer_range: standard deviation of the initial values.
        layer_norm_eps: added to the variance in the layer norm.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        hidden_size: int,
        max_positions: int = 512,
        type_vocab_size: int = 2,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "embedding_size": embedding_size,
            "hidden_size": hidden_size,
            "max_positions": max_positions,
            "type_vocab_size": type_vocab_size,
            "dropout": dropout,
            "initializer_range": initializer_range,
            "layer_norm_eps": layer_norm_eps,
        }
        self.layer_norm = LayerNorm(layer_norm_eps, name="layer_norm", dtype=self.dtype_policy)
        self.dropout = Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.projection = (
            Dense(
                hidden_size,
                initializer_range=initializer_range,
                name="projection",
                dtype=self.dtype_policy,
            )
            if embedding_size != hidden_size
            else None
        )

    def build(self, input_shape: Any) -> None:
        width = self._settings["embedding_size"]
        self.word_embeddings = self._add_table("word_embeddings", self._settings["vocab_size"])
        self.position_embeddings = self._add_table(
            "position_embeddings", self._settings["max_positions"]
        )
        self.type_embeddings = self._add_table("type_embeddings", self._settings["type_vocab_size"])
        build_child(self.layer_norm, [None, width])
        if self.projection is not None:
            build_child(self.projection, [None, width])
        super().build(input_shape)

    def _add_table(self, name: str, rows: int) -> tf.Variable:
        return self.add_weight(
            name=name,
            shape=[rows, self._settings["embedding_size"]],
            initializer=initializer(self._settings["initializer_range"]),
        )

    def call(
        self,
        word_ids: tf.Tensor,
        type_ids: tf.Tensor,
        position_ids: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        words = tf.gather(self.word_embeddings, word_ids)  # [B, S, E]
        types = tf.gather(self.type_embeddings, type_ids)  # [B, S, E]
        if position_ids is None:
            length = word_ids.shape[1] or tf.shape(word_ids)[1]
            positions = self.position_embeddings[:length]  # [S, E]
        else:
            positions = tf.gather(self.position_embeddings, position_ids)  # [B, S, E]
        embeddings = self.layer_norm(words + types + positions)
        embeddings = self.dropout(embeddings, training=training)
        return embeddings if self.projection is None else self.projection(embeddings)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._settings}
