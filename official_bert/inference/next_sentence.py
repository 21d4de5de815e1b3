"""Whether one text follows another (Devlin et al. 2019, section 3.1, task 2)."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from official_bert.checkpoints.load import Pretrained
from official_bert.inference.base import AnswerModule, RowOutputs, Tensors, text_spec


class NextSentence(AnswerModule):
    """`text_a`, `text_b` -> `is_next_probability` float32 [B]."""

    name = "next_sentence"

    @classmethod
    def missing(cls, bundle: Pretrained) -> str:
        return "the next-sentence head" if "next_sentence" in bundle.missing_heads else ""

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {name: text_spec(name) for name in ("text_a", "text_b")}

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `next_sentence` float32 [B, 2]; class 0: the second text follows the first."""
        pooled = self.encoder(dict(inputs), training=False)["pooled_output"]
        return {"next_sentence": tf.cast(self.model.next_sentence(pooled), tf.float32)}

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        return {"is_next_probability": tf.nn.softmax(logits["next_sentence"])[:, 0]}

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        return [f"{outputs['is_next_probability']:.4f}  {texts[0]} ||| {texts[1]}"]
