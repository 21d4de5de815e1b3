"""Predicted labels of words -> tags that follow a scheme, and the entities that they make up.

N words of all windows, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf


class EntityTags(NamedTuple):
    """The tags of words.

    Attributes:
        labels: string [N]: the repaired tags.
        types: int32 [N], the entity type of the word, an index into `EntityTagger.types`; -1 for
            none.
        continues: bool [N], whether the word is in the same entity as the word before it.
    """

    labels: tf.Tensor
    types: tf.Tensor
    continues: tf.Tensor


class EntityTagger:
    """Repairs predicted tags; used by evaluation and by serving.

    A tagger predicts each word on its own, so its tags need not follow any scheme. Tags are read
    as entities and written again as IOB2:

        tagger = EntityTagger(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], strict=True)
        tagger([1, 2, 4, 4, 0], starts_window=[True, False, False, False, False])
        # B-PER I-PER I-LOC I-LOC O -> labels B-PER I-PER O O O

    With `strict`, an I- (or E-) that continues no entity of its type is O, as are those behind it:
    this is how seqeval's strict mode for IOB2 reads it. Otherwise it begins an entity: B-LOC I-LOC
    above. A label without a prefix ("NOUN") is a type; equal ones in a row are one entity. E- ends
    an entity and S- is one of a single word (IOBES).

    Args:
        labels: names of the classes in id order.
        strict: whether an entity needs a tag that begins it.

    Attributes:
        types: names of the entity types, sorted.
    """

    def __init__(self, labels: Sequence[str], *, strict: bool):
        parsed = [_Label.parse(label) for label in labels]
        self.types = sorted({label.type for label in parsed if label.type})
        ids = {name: number for number, name in enumerate(self.types)}
        self._types = tf.constant([ids.get(label.type, -1) for label in parsed], tf.int32)
        self._inside = tf.constant([label.prefix not in ("B", "S") for label in parsed], tf.bool)
        self._needs_start = tf.constant(
            [strict and label.prefix in ("I", "E") for label in parsed], tf.bool
        )
        self._ends = tf.constant([label.prefix in ("E", "S") for label in parsed], tf.bool)
        self._as_first = tf.constant([label.with_prefix("B") for label in parsed], tf.string)
        self._as_inside = tf.constant([label.with_prefix("I") for label in parsed], tf.string)

    def __call__(self, label_ids: tf.Tensor, starts_window: tf.Tensor) -> EntityTags:
        """Repairs the tags of words.

        Args:
            label_ids: int32 [N], the predicted class of each word.
            starts_window: bool [N], whether the word is the first one of a sentence, or of a part
                of it that the model read at once: no entity continues from the word before.
        """
        label_ids, starts_window = tf.convert_to_tensor(label_ids), tf.cast(starts_window, tf.bool)
        types = tf.gather(self._types, label_ids)
        previous = tf.concat([[0], label_ids], axis=0)[:-1]
        continues = (
            tf.gather(self._inside, label_ids)
            & (types >= 0)
            & (types == tf.gather(self._types, previous))
            & ~tf.gather(self._ends, previous)
            & ~starts_window
        )
        # The words of an entity are what its first word is.
        first = tf.gather(tf.where(~continues)[:, 0], tf.cumsum(tf.cast(~continues, tf.int32)) - 1)
        is_outside = tf.gather(self._needs_start, tf.gather(label_ids, first))
        labels = tf.where(
            continues, tf.gather(self._as_inside, label_ids), tf.gather(self._as_first, label_ids)
        )
        return EntityTags(
            labels=tf.where(is_outside, "O", labels),
            types=tf.where(is_outside, -1, types),
            continues=continues,
        )


class _Label(NamedTuple):
    """A label as prefix and type: "B-PER" is B and PER; "O" has neither."""

    prefix: str
    type: str

    @classmethod
    def parse(cls, label: str) -> _Label:
        if label[:2] in ("B-", "I-", "E-", "S-") and len(label) > 2:
            return cls(label[0], label[2:])
        return cls("", "") if label == "O" else cls("", label)

    def with_prefix(self, prefix: str) -> str:
        """The label with another prefix, if it has one."""
        return f"{prefix}-{self.type}" if self.prefix else self.type or "O"
