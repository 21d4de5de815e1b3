"""A class, several, or a number for a text or a pair of texts. B rows, C classes."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from official_bert.data.packing import pack_with_indices
from official_bert.evaluation.glue import MULTI_LABEL, REGRESSION
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    RowOutputs,
    Tensors,
    text_spec,
)
from official_bert.models.inputs import can_pack


class SentencePrediction(AnswerModule):
    """`text`, or `text_a` and `text_b` -> what the model was trained for.

    One class of several: `label` string [B], `label_id` int32 [B], `probabilities` float32 [B, C].
    Any number of classes: `probabilities` [B, C], and `labels` string [B, C], those above one half,
    the most probable first, then "". A number: `score` float32 [B].
    """

    name = "sentence_prediction"
    ranked = {"labels": "probabilities", "label": "probabilities", "label_id": "probabilities"}

    def __init__(self, source: AnswerSource, options: AnswerOptions):
        super().__init__(source, options)
        self._problem = options.task_options.get("problem", "classification")
        # A checkpoint of another program does not record it: one text.
        self._inputs = tuple(options.task_options.get("text_inputs", ("text",)))

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {name: text_spec(name) for name in self._inputs}

    @property
    def packs(self) -> bool:
        return can_pack(self.encoder.config)

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """Strings -> the answer; rows of several texts where shapes are free and the model can."""
        if self._options.pad_to or not self.packs:
            return super().answer(texts)
        inputs, context = self.encode(texts)
        return self.decode(self._packed_logits(inputs), context)

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `logits` float32 [B, C]; of packed rows [R, N, C]."""
        return {"logits": self.model(dict(inputs), training=False)}

    def _packed_logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """As `logits`; without the padding of a batch of texts of many lengths."""
        packed, indices = pack_with_indices(inputs)
        del packed["record_weights"]
        return {"logits": tf.gather_nd(self.model(packed, training=False), indices)}

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        values = tf.cast(logits["logits"], tf.float32)
        if self._problem == REGRESSION:
            return {"score": values[:, 0]}
        names = tf.constant(self._names(values.shape[1]))
        if self._problem == MULTI_LABEL:
            probabilities = tf.sigmoid(values)
            order = tf.argsort(probabilities, direction="DESCENDING", stable=True)
            chosen = tf.gather(probabilities, order, batch_dims=1) > 0.5
            return {
                "probabilities": probabilities,
                "labels": tf.where(chosen, tf.gather(names, order), ""),
            }
        label_id = tf.argmax(values, axis=1, output_type=tf.int32)
        return {
            "label": tf.gather(names, label_id),
            "label_id": label_id,
            "probabilities": tf.nn.softmax(values),
        }

    def _names(self, count: int) -> list[str]:
        return list(self._labels) or [str(index) for index in range(count)]

    @classmethod
    def tidy(cls, outputs: RowOutputs, candidates: int) -> RowOutputs:
        tidied = dict(outputs)
        if "labels" in tidied:
            tidied["labels"] = [label for label in tidied["labels"] if label]
        return tidied

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        text = " ||| ".join(texts)
        if "score" in outputs:
            return [f"{outputs['score']:.4f}  {text}"]
        if "label" in outputs:
            return [
                f"{outputs['label']}  {outputs['probabilities'][outputs['label_id']]:.4f}  {text}"
            ]
        return [f"{', '.join(outputs['labels']) or '(no label)'}  {text}"]
