"""Which continuation is right (Devlin et al. 2019, section 4.4). B rows, C choices, S sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from official_bert.decoding.choices import choice_logits
from official_bert.inference.base import AnswerModule, RowOutputs, Tensors, text_spec
from official_bert.models.encoder import ENCODER_INPUTS


class MultipleChoice(AnswerModule):
    """`prompt` [B], `choices` [B, C] -> `choice` int32 [B], `probabilities` float32 [B, C].

        prompt "The chicken cannot fly.", choices ["It flies.", "It crosses the road."]
            -> choice 1, probabilities [0.13, 0.87]

    A choice of "" is not there and has probability 0, for rows with fewer choices than others; in a
    row of these alone all are as probable.
    """

    name = "multiple_choice"
    # The number of choices is a second size that follows from no length.
    fixed_size_logits = False
    ranked = {"choice": "probabilities"}

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {
            "prompt": text_spec("prompt"),
            "choices": tf.TensorSpec([None, None], tf.string, name="choices"),
        }

    @property
    def encoded_inputs(self) -> dict[str, tf.TensorSpec]:
        shape = [None, None, self._options.pad_to]
        return {name: tf.TensorSpec(shape, tf.int32, name=name) for name in ENCODER_INPUTS}

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], Tensors]:
        """Strings -> the encoder's inputs, int32 [B, C, S] each; 0 for choices of ""."""
        choices = texts["choices"]
        count = tf.shape(choices)[1]
        joined = self._join(
            self._tokenizer.tokenize(tf.repeat(texts["prompt"], count)),
            self._tokenizer.tokenize(tf.reshape(choices, [-1])),
        )
        exists = tf.cast(choices != "", tf.int32)[:, :, tf.newaxis]
        shape = tf.concat([tf.shape(choices), tf.shape(joined["input_mask"])[1:]], axis=0)
        inputs = {name: tf.reshape(tensor, shape) for name, tensor in joined.items()}
        return {**inputs, "input_mask": inputs["input_mask"] * exists}, {}

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `logits` float32 [B, C]."""
        logits = self.model(dict(inputs), training=False)
        return {"logits": choice_logits(logits, inputs["input_mask"])}

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        probabilities = tf.nn.softmax(logits["logits"])
        return {
            "choice": tf.argmax(probabilities, axis=1, output_type=tf.int32),
            "probabilities": probabilities,
        }

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        prompt, *choices = texts
        scored = zip(outputs["probabilities"], choices, strict=False)
        lines = [f"  {probability:.4f}  {choice}" for probability, choice in scored]
        lines[outputs["choice"]] = f"> {lines[outputs['choice']][2:]}"
        return [prompt, *lines]

    def samples(self) -> list[dict[str, np.ndarray]]:
        """As of other answers, with 2 and with 7 choices; in the batch of 17 some are not there."""
        texts = [text.encode() for text in self._sample_texts()]
        batches = []
        for size, count in ((1, 2), (17, 7)):
            rows = range(17 - size, 17)
            choices = [[texts[(row + 3 * n) % 17] or b"a" for n in range(count)] for row in rows]
            if size > 1:
                choices[3][5:] = [b"", b""]
                choices[4][:] = [b""] * count
            batches.append(
                {
                    "prompt": np.array([texts[row] for row in rows], object),
                    "choices": np.array(choices, object),
                }
            )
        return batches
