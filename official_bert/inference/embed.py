"""A text as vectors: the encoder without a head.

B rows, S sequence, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from official_bert.inference.base import AnswerModule, RowOutputs, Tensors

_LAYERS = 4
_SHOWN = 6


class Embed(AnswerModule):
    """`text` -> `pooled`, `cls`, `mean` float32 [B, H].

    `pooled` is the pooler's output (absent without a pooler), `cls` the last layer's state of
    [CLS] (absent where attention is causal: there it is the same for all texts), `mean` the mean of
    the last layer's states over all tokens, [CLS] and [SEP] among them. On request
    `concat_last_four` [B, 4 H]: the same mean of each of the last four layers, the last one first
    (Devlin et al. 2019, section 5.3, has them for each token).
    """

    name = "embed"

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> the vectors themselves."""
        outputs = self.encoder(dict(inputs), training=False)
        weights = tf.cast(inputs["input_mask"], tf.float32)
        weights /= tf.reduce_sum(weights, axis=1, keepdims=True)  # [B, S]

        def mean(states: tf.Tensor) -> tf.Tensor:
            weighted = weights[:, tf.newaxis] @ tf.cast(states, tf.float32)  # [B, 1, H]
            return tf.squeeze(weighted, axis=1)

        last = outputs["sequence_output"]
        vectors = {"mean": mean(last)}
        if self.encoder.config.first_sees_all:
            vectors["cls"] = tf.cast(last[:, 0], tf.float32)
        if "pooled_output" in outputs:
            vectors["pooled"] = tf.cast(outputs["pooled_output"], tf.float32)
        if self._options.concat_last_four:
            layers = outputs["encoder_outputs"][-1 : -_LAYERS - 1 : -1]
            vectors["concat_last_four"] = tf.concat([mean(states) for states in layers], axis=-1)
        return vectors

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        return dict(logits)

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        lines = [texts[0]]
        for name, vector in sorted(outputs.items()):
            first = " ".join(f"{value:.4f}" for value in vector[:_SHOWN])
            lines.append(f"  {name} ({len(vector)} numbers): {first} …")
        return lines
