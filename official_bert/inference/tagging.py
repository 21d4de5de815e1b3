"""The entities of a text of any length (Devlin et al. 2019, section 5.3).

B rows, K windows of all rows, S sequence, N words of all rows, W words of the row with most, E
entities of the row with most, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from official_bert.data.packing import pack_and_seat
from official_bert.inference.base import (
    AnswerModule,
    AnswerOptions,
    AnswerSource,
    Tensors,
    text_spec,
)
from official_bert.models.encoder import ENCODER_INPUTS, OPTIONAL_ENCODER_INPUTS
from official_bert.models.inputs import can_pack
from official_bert.text.offsets import count_chars, row_ids, substrings
from official_bert.text.word_windows import clause_end_ids, word_windows
from official_bert.text.written_words import WrittenWords

# Windows that go through the model at a time: memory stays bounded however long a text is.
_WINDOWS_AT_ONCE = 32


class _Tagged(NamedTuple):
    """What the model says of each word.

    Attributes:
        labels: string [N], as `evaluation.tagging.repaired` has them.
        scores: float32 [N], the probability of the label that the model gave.
        kinds: int32 [N], the type of the entity that the word is in; -1 for none.
        goes_on: bool [N], whether the word is in the entity of the word before.
    """

    labels: tf.Tensor
    scores: tf.Tensor
    kinds: tf.Tensor
    goes_on: tf.Tensor


class Tagging(AnswerModule):
    """`text` -> its words with their labels, and the entities that these make up.

        "Ann Lee lives in Paris."
            -> words [Ann, Lee, lives, in, Paris, .], word_labels [B-PER, I-PER, O, O, B-LOC, O],
               entity_text [Ann Lee, Paris], entity_label [PER, LOC], entity_start [0, 17],
               entity_end [7, 22], entity_score [0.98, 0.95], num_entities 2

    `words` and `word_labels` string [B, W], filled up with ""; `entity_text` and `entity_label`
    string, `entity_start` and `entity_end` int32 (characters of the text, the end exclusive) and
    `entity_score` float32 (the mean of its words' probabilities), [B, E], filled up with "" and -1;
    `num_entities` int32 [B].

    Words are those of `WrittenWords`: of text whose words have spaces between them, those. A text
    that is longer than the model reads is cut as in training, and no entity goes over a cut.

    A model of ours says IOB2, and an I- that goes on with no entity is O, as in evaluation. In one
    from elsewhere (no `tag_schemes` among the `task_options`), whose convention nobody knows, it
    begins an entity.
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
        labels = [_Label.read(label) for label in self._labels]
        self._kind_names = sorted({label.kind for label in labels if label.kind})
        numbers = {kind: number for number, kind in enumerate(self._kind_names)}
        self._kinds = tf.constant([numbers.get(label.kind, -1) for label in labels], tf.int32)
        self._inside = tf.constant([label.prefix not in ("B", "S") for label in labels], tf.bool)
        strict = "tag_schemes" in options.task_options
        self._needs_start = tf.constant([strict and label.prefix in ("I", "E") for label in labels])
        self._ends = tf.constant([label.prefix in ("E", "S") for label in labels])
        self._as_first = tf.constant([label.named("B") for label in labels])
        self._as_further = tf.constant([label.named("I") for label in labels])

    @property
    def text_inputs(self) -> dict[str, tf.TensorSpec]:
        return {"text": text_spec("text")}

    def encode(self, texts: Tensors) -> tuple[dict[str, tf.Tensor], dict[str, Any]]:
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
        place = 1 + splits[:-1] - tf.gather(splits, first_word)  # Behind [CLS].
        return self._join(windows), {
            "texts": texts["text"],
            "rows": words.rows,
            "row_splits": words.row_splits,
            "word_starts": words.starts,
            "word_limits": words.limits,
            "begins_window": tf.range(count) == first_word,
            "places": tf.stack([window_of, place], axis=1),  # [N, 2]
        }

    def logits(self, inputs: Tensors) -> dict[str, tf.Tensor]:
        """-> `logits` float32 [K, S, C]."""
        return {"logits": self._model(dict(inputs), training=False)}

    def answer(self, texts: Tensors) -> dict[str, tf.Tensor]:
        """As `logits` and `decode`, a few windows at a time."""
        inputs, context = self.encode(texts)
        return self.decode({"logits": self._logits_in_blocks(inputs)}, context)

    def decode(self, logits: Tensors, context: Mapping[str, Any]) -> dict[str, tf.Tensor]:
        tagged = self._tagged(logits["logits"], context)
        texts, rows = context["texts"], context["rows"]
        starts, limits = context["word_starts"], context["word_limits"]

        def by_row(values: tf.Tensor, rows: tf.Tensor, filler: Any) -> tf.Tensor:
            size = tf.size(texts, tf.int64)
            ragged = tf.RaggedTensor.from_value_rowids(values, rows, size, validate=False)
            return ragged.to_tensor(filler)

        begins = (tagged.kinds >= 0) & ~tagged.goes_on
        first = tf.where(begins)[:, 0]  # The first word of each entity.
        entity_of = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, tagged.kinds >= 0)
        count = tf.size(first, tf.int64)
        sizes = tf.math.unsorted_segment_sum(tf.ones_like(entity_of), entity_of, count)
        scores = tf.boolean_mask(tagged.scores, tagged.kinds >= 0)
        entity_rows = tf.gather(rows, first)
        entity_starts = tf.gather(starts, first)
        entity_limits = tf.gather(limits, first + sizes - 1)
        start_chars = count_chars(texts, entity_rows, tf.zeros_like(entity_starts), entity_starts)
        chars = count_chars(texts, entity_rows, entity_starts, entity_limits)
        # One more, for a model without entities.
        kind_names = tf.constant([*self._kind_names, ""])
        entities = {
            "entity_text": (substrings(texts, entity_rows, entity_starts, entity_limits), ""),
            "entity_label": (tf.gather(kind_names, tf.gather(tagged.kinds, first)), ""),
            "entity_start": (start_chars, -1),
            "entity_end": (start_chars + chars, -1),
            "entity_score": (tf.math.unsorted_segment_mean(scores, entity_of, count), -1.0),
        }
        ones = tf.ones_like(entity_rows, tf.int32)
        return {
            "words": by_row(substrings(texts, rows, starts, limits), rows, ""),
            "word_labels": by_row(tagged.labels, rows, ""),
            **{
                name: by_row(values, entity_rows, fill) for name, (values, fill) in entities.items()
            },
            "num_entities": tf.math.unsorted_segment_sum(ones, entity_rows, tf.size(texts)),
        }

    @classmethod
    def tidy(cls, answer: Mapping[str, Any], candidates: int) -> dict[str, Any]:
        count = sum(label != "" for label in answer["word_labels"])
        sizes = {"words": count, "word_labels": count}
        return {
            name: value
            if name == "num_entities"
            else value[: sizes.get(name, answer["num_entities"])]
            for name, value in answer.items()
        }

    @classmethod
    def readable(cls, texts: Sequence[str], answer: Mapping[str, Any]) -> list[str]:
        entities = zip(
            answer["entity_score"],
            answer["entity_label"],
            answer["entity_text"],
            answer["entity_start"],
            answer["entity_end"],
            strict=True,
        )
        found = [
            f"  {score:.4f}  {label}  {text}  (characters {start}-{end})"
            for score, label, text, start, end in entities
        ]
        return [texts[0], *(found or ["  (no entities)"])]

    def _tagged(self, logits: tf.Tensor, context: Mapping[str, Any]) -> _Tagged:
        probabilities = tf.nn.softmax(tf.gather_nd(logits, context["places"]))  # [N, C]
        best = tf.argmax(probabilities, axis=1, output_type=tf.int32)
        kinds = tf.gather(self._kinds, best)
        before = tf.concat([tf.constant([0]), best], axis=0)[:-1]
        goes_on = (
            tf.gather(self._inside, best)
            & (kinds >= 0)
            & (kinds == tf.gather(self._kinds, before))
            & ~tf.gather(self._ends, before)
            & ~context["begins_window"]
        )
        # Each word with those that go on from it; all are what the first one is.
        first = tf.gather(tf.where(~goes_on)[:, 0], tf.cumsum(tf.cast(~goes_on, tf.int32)) - 1)
        is_nothing = tf.gather(self._needs_start, tf.gather(best, first))
        labels = tf.where(
            goes_on, tf.gather(self._as_further, best), tf.gather(self._as_first, best)
        )
        return _Tagged(
            labels=tf.where(is_nothing, "O", labels),
            scores=tf.reduce_max(probabilities, axis=1),
            kinds=tf.where(is_nothing, -1, kinds),
            goes_on=goes_on,
        )

    def _logits_in_blocks(self, inputs: Tensors) -> tf.Tensor:
        """float32 [K, S, C]."""
        count = tf.shape(inputs["input_word_ids"])[0]
        # At least one: an empty TensorArray has nothing to concatenate.
        blocks = tf.maximum(1, (count + _WINDOWS_AT_ONCE - 1) // _WINDOWS_AT_ONCE)

        def of_block(number: tf.Tensor, seen: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            block = slice(number * _WINDOWS_AT_ONCE, (number + 1) * _WINDOWS_AT_ONCE)
            logits = self._block_logits({name: tensor[block] for name, tensor in inputs.items()})
            return number + 1, seen.write(number, logits)

        _, seen = tf.while_loop(
            lambda number, _: number < blocks,
            of_block,
            (
                0,
                tf.TensorArray(
                    tf.float32,
                    size=blocks,
                    infer_shape=False,
                    element_shape=[None, None, len(self._labels)],
                ),
            ),
            parallel_iterations=1,
        )
        return seen.concat()

    def _block_logits(self, inputs: Tensors) -> tf.Tensor:
        """float32 [K, S, C]; from rows of several windows where shapes are free and the model can.

        Windows are of many lengths, as texts are. Where there is padding, it may be anything.
        """
        if self._options.pad_to or not can_pack(self._encoder.config):
            return self.logits(inputs)["logits"]
        packed, seats = pack_and_seat(inputs)
        starts = tf.gather_nd(packed["cls_positions"], seats)  # [K]
        names = (*ENCODER_INPUTS, *OPTIONAL_ENCODER_INPUTS)
        logits = self.logits({name: packed[name] for name in names})["logits"]  # [R, W, C]
        width, row_length = tf.shape(inputs["input_mask"])[1], tf.shape(logits)[1]
        columns = tf.minimum(starts[:, tf.newaxis] + tf.range(width), row_length - 1)  # [K, S]
        return tf.gather(tf.gather(logits, seats[:, 0]), columns, batch_dims=1)


class _Label(NamedTuple):
    """A label as prefix and type: "B-PER" is B and PER; "O" has neither.

    One without a prefix ("NOUN") is a type, and equal ones in a row are one entity.
    """

    prefix: str
    kind: str

    @classmethod
    def read(cls, label: str) -> _Label:
        if label[:2] in ("B-", "I-", "E-", "S-") and len(label) > 2:
            return cls(label[0], label[2:])
        return cls("", "") if label == "O" else cls("", label)

    def named(self, prefix: str) -> str:
        """The label with another prefix, if it has one."""
        return f"{prefix}-{self.kind}" if self.prefix else self.kind or "O"
