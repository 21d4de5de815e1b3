"""The entities of a text of any length (Devlin et al. 2019, section 5.3).

B rows, K windows of all rows, S sequence, N words of all rows, W words of the row with most, E
entities of the row with most, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from official_bert.data.packing import pack_with_indices
from official_bert.decoding.blocks import in_blocks
from official_bert.decoding.entity_tags import EntityTagger
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    RowOutputs,
    Tensors,
)
from official_bert.models.encoder import ENCODER_INPUTS, OPTIONAL_ENCODER_INPUTS
from official_bert.models.inputs import can_pack
from official_bert.text.offsets import count_chars, row_ids, substrings
from official_bert.text.word_windows import clause_end_ids, word_windows
from official_bert.text.written_words import WrittenWords

# Windows that go through the model at a time: memory stays bounded however long a text is.
WINDOWS_AT_ONCE = 32


class Tagging(AnswerModule):
    """`text` -> its words with their labels, and the entities that these make up.

        "Ann Lee lives in Paris."
            -> words [Ann, Lee, lives, in, Paris, .], word_labels [B-PER, I-PER, O, O, B-LOC, O],
               entity_text [Ann Lee, Paris], entity_label [PER, LOC], entity_start [0, 17],
               entity_end [7, 22], entity_score [0.98, 0.95], num_entities 2

    `words` and `word_labels` string [B, W], padded with ""; `entity_text` and `entity_label`
    string, `entity_start` and `entity_end` int32 (characters of the text, the end exclusive) and
    `entity_score` float32 (the mean of its words' probabilities), [B, E], padded with "" and -1;
    `num_entities` int32 [B].

    Words are those of `WrittenWords`: of text whose words have spaces between them, those. A text
    that is longer than the model reads is cut as in training, and no entity goes over a cut.

    A model of this package predicts IOB2, and an I- that continues no entity is O, as in
    evaluation. In a model of another program (no `tag_schemes` among the `task_options`), whose
    scheme is unknown, it begins an entity.
    """

    name = "tagging"

    def __init__(self, source: AnswerSource, options: AnswerOptions):
        super().__init__(source, options)
        self._written_words = WrittenWords(self._vocab)
        self._clause_ends = clause_end_ids(self._vocab)
        self._room = (options.pad_to or options.max_seq_length) - 2  # [CLS] and [SEP]
        if source.model is not None and not self._labels:
            classes = source.model.classifier.bias.shape[0]
            self._labels = tuple(f"LABEL_{number}" for number in range(classes))
        self._tagger = EntityTagger(self._labels, strict="tag_schemes" in options.task_options)

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], Tensors]:
        """Strings -> the windows of all rows, int32 [K, S] each, and where the words are."""
        tokens = self._tokenizer.tokenize_with_offsets(texts["text"])
        words = self._written_words.split(texts["text"], *tokens)
        pieces = words.pieces[:, : self._room]
        _, starts, _ = word_windows(pieces, words.row_splits, self._room, self._clause_ends)
        splits = tf.cast(pieces.row_splits, tf.int64)
        total = tf.size(pieces.values, tf.int64)
        windows = tf.RaggedTensor.from_row_splits(
            pieces.values, tf.concat([tf.gather(splits, starts), [total]], axis=0), validate=False
        )
        count = tf.size(words.starts, tf.int64)
        window_of = row_ids(tf.concat([starts, [count]], axis=0))  # [N]
        first_word = tf.gather(starts, window_of)
        position = 1 + splits[:-1] - tf.gather(splits, first_word)  # Behind [CLS].
        return self._join(windows), {
            "texts": texts["text"],
            "rows": words.rows,
            "row_splits": words.row_splits,
            "word_starts": words.starts,
            "word_ends": words.ends,
            "starts_window": tf.range(count) == first_word,
            "first_pieces": tf.stack([window_of, position], axis=1),  # [N, 2]
        }

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `logits` float32 [K, S, C]."""
        return {"logits": self.model(dict(inputs), training=False)}

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """As `logits` and `decode`, a few windows at a time."""
        inputs, context = self.encode(texts)
        signature = tf.TensorSpec([None, None, len(self._labels)], tf.float32)
        logits = in_blocks(self._block_logits, inputs, WINDOWS_AT_ONCE, signature)
        return self.decode({"logits": logits}, context)

    def decode(self, logits: Tensors, context: Tensors) -> dict[str, tf.Tensor]:
        probabilities = tf.nn.softmax(
            tf.gather_nd(logits["logits"], context["first_pieces"])
        )  # [N, C]
        label_ids = tf.argmax(probabilities, axis=1, output_type=tf.int32)
        tags = self._tagger(label_ids, context["starts_window"])
        texts, rows = context["texts"], context["rows"]
        starts, ends = context["word_starts"], context["word_ends"]

        def by_row(values: tf.Tensor, rows: tf.Tensor, filler: str | int | float) -> tf.Tensor:
            size = tf.size(texts, tf.int64)
            ragged = tf.RaggedTensor.from_value_rowids(values, rows, size, validate=False)
            return ragged.to_tensor(filler)

        in_entity = tags.types >= 0  # [N]
        starts_entity = in_entity & ~tags.continues
        first = tf.where(starts_entity)[:, 0]  # The first word of each entity.
        entity_of = tf.boolean_mask(tf.cumsum(tf.cast(starts_entity, tf.int64)) - 1, in_entity)
        count = tf.size(first, tf.int64)
        sizes = tf.math.unsorted_segment_sum(tf.ones_like(entity_of), entity_of, count)
        scores = tf.boolean_mask(tf.reduce_max(probabilities, axis=1), in_entity)
        entity_rows = tf.gather(rows, first)
        entity_starts = tf.gather(starts, first)
        entity_ends = tf.gather(ends, first + sizes - 1)
        start_chars = count_chars(texts, entity_rows, tf.zeros_like(entity_starts), entity_starts)
        chars = count_chars(texts, entity_rows, entity_starts, entity_ends)
        # One more, for a model without entities.
        type_names = tf.constant([*self._tagger.types, ""])
        entities: dict[str, tuple[tf.Tensor, str | int | float]] = {
            "entity_text": (substrings(texts, entity_rows, entity_starts, entity_ends), ""),
            "entity_label": (tf.gather(type_names, tf.gather(tags.types, first)), ""),
            "entity_start": (start_chars, -1),
            "entity_end": (start_chars + chars, -1),
            "entity_score": (tf.math.unsorted_segment_mean(scores, entity_of, count), -1.0),
        }
        ones = tf.ones_like(entity_rows, tf.int32)
        return {
            "words": by_row(substrings(texts, rows, starts, ends), rows, ""),
            "word_labels": by_row(tags.labels, rows, ""),
            **{
                name: by_row(values, entity_rows, fill) for name, (values, fill) in entities.items()
            },
            "num_entities": tf.math.unsorted_segment_sum(ones, entity_rows, tf.size(texts)),
        }

    @classmethod
    def tidy(cls, outputs: RowOutputs, candidates: int) -> RowOutputs:
        count = sum(label != "" for label in outputs["word_labels"])
        sizes = {"words": count, "word_labels": count}
        return {
            name: value
            if name == "num_entities"
            else value[: sizes.get(name, outputs["num_entities"])]
            for name, value in outputs.items()
        }

    @classmethod
    def readable(cls, texts: Sequence[str], outputs: RowOutputs) -> list[str]:
        entities = zip(
            outputs["entity_score"],
            outputs["entity_label"],
            outputs["entity_text"],
            outputs["entity_start"],
            outputs["entity_end"],
            strict=True,
        )
        found = [
            f"  {score:.4f}  {label}  {text}  (characters {start}-{end})"
            for score, label, text, start, end in entities
        ]
        return [texts[0], *(found or ["  (no entities)"])]

    def _block_logits(self, inputs: Tensors) -> tf.Tensor:
        """float32 [K, S, C]; from rows of several windows where shapes are free and the model can.

        Windows are of many lengths, as texts are. Where there is padding, it may be anything.
        """
        if self._options.pad_to or not can_pack(self.encoder.config):
            return self.logits(inputs)["logits"]
        packed, indices = pack_with_indices(inputs)
        starts = tf.gather_nd(packed["cls_positions"], indices)  # [K]
        names = (*ENCODER_INPUTS, *OPTIONAL_ENCODER_INPUTS)
        logits = self.logits({name: packed[name] for name in names})["logits"]  # [R, W, C]
        width, row_length = tf.shape(inputs["input_mask"])[1], tf.shape(logits)[1]
        columns = tf.minimum(starts[:, tf.newaxis] + tf.range(width), row_length - 1)  # [K, S]
        return tf.gather(tf.gather(logits, indices[:, 0]), columns, batch_dims=1)
