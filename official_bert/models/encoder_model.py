"""What all models with an encoder and heads have in common."""

from __future__ import annotations

from typing import Any, TypeVar

import tensorflow as tf
import tf_keras

from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.layers.dense import build_child
from official_bert.models.encoder import ENCODER_INPUTS, BertEncoder

_Model = TypeVar("_Model", bound="EncoderModel")


class EncoderModel(tf_keras.Model):
    """An encoder, and heads that a subclass makes in `__init__` and passes to `_build_heads`.

    Attributes:
        encoder: the encoder; under this name in checkpoints.
        config: the encoder's config.
    """

    def __init__(self, encoder: BertConfig | BertEncoder, name: str, **kwargs: Any):
        super().__init__(name=name, **kwargs)
        self.encoder = encoder if isinstance(encoder, BertEncoder) else BertEncoder(encoder)
        self.config = self.encoder.config

    def _build_heads(
        self,
        *heads: tf_keras.layers.Layer | None,
        extra_inputs: tuple[str, ...] = (),
        rank: int = 2,
    ) -> None:
        """Creates the variables of the heads, each of which reads hidden states [..., H].

        Args:
            heads: the layers; None is skipped.
            extra_inputs: keys of inputs besides the encoder's, for saving before the first call.
            rank: number of axes of each input.
        """
        with tf.name_scope(self.name):
            for head in heads:
                if head is not None:
                    build_child(head, [None, None, self.config.hidden_size])
        self.built = True
        self._set_save_spec(
            {
                key: tf.TensorSpec([None] * rank, tf.int32, name=key)
                for key in (*ENCODER_INPUTS, *extra_inputs)
            }
        )

    def _require_pooler(self) -> None:
        if self.encoder.pooler is None:
            raise InputError(
                f"{type(self).__name__} reads the pooled output: set use_pooler in the config"
            )

    def _dropout_rate(self, rate: float | None) -> float:
        """The rate given for a head, or the encoder's."""
        return self.config.hidden_dropout_prob if rate is None else rate

    def build(self, input_shape: Any = None) -> None:
        """Does nothing: the variables are there since the model was made."""

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "encoder": self.encoder.get_config()}

    @classmethod
    def from_config(
        cls: type[_Model], config: dict[str, Any], custom_objects: Any = None
    ) -> _Model:
        return cls(**{**config, "encoder": BertEncoder.from_config(config["encoder"])})
