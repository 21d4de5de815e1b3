"""The best words for each [MASK] of a text (Devlin et al. 2019, section 3.1, task 1).

B rows, S sequence, M masks of the row with most, K candidates, V vocabulary, H hidden.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from official_bert.checkpoints.load import Pretrained
from official_bert.decoding.blocks import in_blocks
from official_bert.errors import InputError
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    RowOutputs,
    Tensors,
)
from official_bert.text import BertTokenizer

# Masks whose logits are in memory at a time: [128, V] are 16 MB for 30,522 words.
MASKS_AT_ONCE = 128


class FillMask(AnswerModule):
    """`text` with [MASK] -> `tokens`, `token_ids`, `probabilities` [B, M, K], `num_masks` [B].

        "the capital of france is [MASK]." ->
            tokens [["paris", "lyon", …]], token_ids [[3000, 10241, …]],
            probabilities [[0.4168, 0.0714, …]], num_masks 1

    Rows with fewer masks than M are padded with "", -1 and 0. A mask beyond `max_seq_length` has no
    answer and is not counted.
    """

    name = "fill_mask"
    fixed_size_logits = False
    ranked = {"tokens": "probabilities", "token_ids": "probabilities"}

    def __init__(self, source: AnswerSource, options: AnswerOptions):
        super().__init__(source, options)
        size = len(self._vocab)
        if options.candidates > size:
            raise InputError(f"top_k {options.candidates} is above the vocabulary's size {size}")
        settings = {**self._tokenizer.config(), "keep_special_tokens": True}
        self._tokenizer = BertTokenizer(self._vocab, **settings)
        # Lines that repeat or are blank included: the model has an output for every line.
        self._tokens = tf.constant(self._vocab.tokens)

    @classmethod
    def missing(cls, bundle: Pretrained) -> str:
        if bundle.config.attention == "causal":
            return "attention to both sides of a [MASK]"
        return "the masked-LM head" if "masked_lm" in bundle.missing_heads else ""

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `mlm_logits` float32 [B, M, V] of the [MASK]s and `mask_positions` int32 [B, M].

        Padded with 0 and -1.
        """
        positions, states = self._mask_states(inputs)
        logits = self._mask_logits(states.values)
        return {
            "mlm_logits": states.with_values(logits).to_tensor(),
            "mask_positions": positions.to_tensor(-1),
        }

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        positions, states = self._mask_states(self.encode(texts)[0])
        best = [None, self._options.candidates]
        probabilities, ids = in_blocks(
            lambda block: self._best_of(self._mask_logits(block)),
            states.values,
            MASKS_AT_ONCE,
            (tf.TensorSpec(best, tf.float32), tf.TensorSpec(best, tf.int32)),
        )  # [masks, K]
        return self._by_row(positions, probabilities, ids)

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        """As `answer`, which never has the logits of all masks in memory at a time."""
        positions = tf.RaggedTensor.from_tensor(logits["mask_positions"], padding=-1)
        at_masks = tf.boolean_mask(logits["mlm_logits"], logits["mask_positions"] >= 0)
        return self._by_row(positions, *self._best_of(at_masks))

    def _by_row(
        self, positions: tf.RaggedTensor, probabilities: tf.Tensor, ids: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """int32 [B, (masks)], and [masks, K] each -> the answer."""
        count = self._options.candidates

        def by_row(values: tf.Tensor, filler: str | int | float) -> tf.Tensor:
            return positions.with_values(values).to_tensor(filler, shape=[None, None, count])

        return {
            "tokens": by_row(tf.gather(self._tokens, ids), ""),
            "token_ids": by_row(ids, -1),
            "probabilities": by_row(probabilities, 0.0),
            "num_masks": tf.cast(positions.row_lengths(), tf.int32),
        }

    @classmethod
    def tidy(cls, outputs: RowOutputs, candidates: int) -> RowOutputs:
        count = outputs["num_masks"]
        tidied = {
            name: [mask[:candidates] for mask in outputs[name][:count]]
            for name in ("tokens", "token_ids", "probabilities")
        }
        return {**tidied, "num_masks": count}

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        lines = [texts[0]]
        if not outputs["num_masks"]:
            return [*lines, "  (no [MASK] in it)"]
        masks = zip(outputs["tokens"], outputs["probabilities"], strict=True)
        for number, (tokens, probabilities) in enumerate(masks, start=1):
            if outputs["num_masks"] > 1:
                lines.append(f"  mask {number}")
            lines += [
                f"  {probability:.4f}  {token}"
                for token, probability in zip(tokens, probabilities, strict=True)
            ]
        return lines

    def _sample_texts(self) -> list[str]:
        texts = super()._sample_texts()
        masked = [f"{text[: len(text) // 2]} [MASK] {text[len(text) // 2 :]}" for text in texts]
        return [texts[0], masked[1], *masked[2:6], "[MASK]" * 40, *texts[7:9], *masked[9:]]

    def _mask_states(self, inputs: Tensors) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Positions int32 [B, (masks)] of the [MASK]s and the states there [B, (masks), H]."""
        is_mask = tf.logical_and(
            tf.equal(inputs["input_word_ids"], self._vocab.mask_id),
            tf.not_equal(inputs["input_mask"], 0),
        )
        indices = tf.where(is_mask)  # [masks, 2], row by row
        outputs = self.encoder(dict(inputs), training=False)
        states = tf.gather_nd(outputs["sequence_output"], indices)  # [masks, H]
        counts = tf.math.count_nonzero(is_mask, axis=1)  # [B]
        positions = tf.RaggedTensor.from_row_lengths(
            tf.cast(indices[:, 1], tf.int32), counts, validate=False
        )
        return positions, positions.with_values(states)

    def _mask_logits(self, states: tf.Tensor) -> tf.Tensor:
        """[masks, H] -> float32 [masks, V]."""
        table = self.encoder.embeddings.word_embeddings
        return self.model.masked_lm(states[tf.newaxis], table)[0]

    def _best_of(self, logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """float32 [masks, V] -> probabilities and ids [masks, K]."""
        best = tf.math.top_k(logits, k=self._options.candidates)
        total = tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
        return tf.exp(best.values - total), best.indices
