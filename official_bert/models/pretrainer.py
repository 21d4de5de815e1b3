"""The encoder with both pretraining heads (Devlin et al. 2019, section 3.1).

B batch, S sequence, P masked-LM predictions, N packed sequences, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.layers.dense import Dense
from official_bert.layers.heads import MaskedLMHead
from official_bert.models.encoder import BertEncoder
from official_bert.models.encoder_model import EncoderModel


class BertPretrainer(EncoderModel):
    """Masked language model and next-sentence prediction on one encoder.

    Called on the encoder's inputs and `masked_lm_positions`, int [B, P]; gives the encoder's
    outputs and `mlm_logits`, float32 [B, P, V], and `next_sentence`, float32 [B, 2] (class 1: the
    second segment is a random one). With packed rows `cls_positions`, int [B, N], says where each
    sequence starts, and `next_sentence` is [B, N, 2]. An encoder without pooler has no
    `next_sentence`.

    Attributes for checkpoints: `encoder`, `masked_lm`, `next_sentence`.

    Args:
        encoder: a config, from which an encoder is made, or an encoder.
        use_next_sentence: whether there is a next-sentence head; by default where there is a
            pooler, which it reads.
        name: name of the model.
    """

    def __init__(
        self,
        encoder: BertConfig | BertEncoder,
        use_next_sentence: bool | None = None,
        name: str = "bert_pretrainer",
        **kwargs: Any,
    ):
        super().__init__(encoder, name, **kwargs)
        config = self.config
        self._use_next_sentence = (
            config.use_pooler if use_next_sentence is None else use_next_sentence
        )
        if self._use_next_sentence:
            self._require_pooler()
        self.masked_lm = MaskedLMHead(
            vocab_size=config.vocab_size,
            embedding_size=config.embedding_width,
            activation=config.hidden_act,
            initializer_range=config.initializer_range,
            layer_norm_eps=config.layer_norm_eps,
            name="masked_lm",
        )
        self.next_sentence = (
            Dense(2, initializer_range=config.initializer_range, name="next_sentence")
            if self._use_next_sentence
            else None
        )
        self._build_heads(self.masked_lm, self.next_sentence, extra_inputs=("masked_lm_positions",))

    def call(self, inputs: Mapping[str, tf.Tensor], training: bool | None = None) -> dict[str, Any]:
        encoder_inputs = dict(inputs)
        masked_lm_positions = encoder_inputs.pop("masked_lm_positions", None)
        cls_positions = encoder_inputs.pop("cls_positions", None)
        if masked_lm_positions is None:
            raise InputError("missing model input masked_lm_positions")
        # Each head reads some tokens only.
        positions = [tf.cast(masked_lm_positions, tf.int32)]
        if self.next_sentence is not None:
            positions.append(self.encoder.pooled_positions(encoder_inputs, cls_positions))
        outputs = self.encoder(
            encoder_inputs, training=training, positions=tf.concat(positions, axis=1)
        )
        states = outputs.pop("states_at_positions")
        masked, *firsts = tf.split(states, [tf.shape(p)[1] for p in positions], axis=1)
        outputs["mlm_logits"] = self.masked_lm(masked, self.encoder.embeddings.word_embeddings)
        if self.next_sentence is not None:
            assert self.encoder.pooler is not None
            logits = tf.cast(self.next_sentence(self.encoder.pooler(firsts[0])), tf.float32)
            outputs["next_sentence"] = logits[:, 0] if cls_positions is None else logits
        return outputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_next_sentence": self._use_next_sentence}
