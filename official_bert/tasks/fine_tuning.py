"""What the tasks of fine-tuning have in common: a head of the table on a pretrained encoder."""

from __future__ import annotations

from typing import ClassVar

import tf_keras

from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.tasks.base import Task


class FineTuningTask(Task):
    """A task whose model is a row of `checkpoints.heads.HEADS`, and whose records are whole.

    Attributes:
        head: the key in `HEADS`.
    """

    head: ClassVar[str]

    @property
    def num_classes(self) -> int | None:
        """Outputs of the head; None for a head that has none to choose."""
        return None

    def make_model(self, config: BertConfig, pretrained: Pretrained | None) -> tf_keras.Model:
        """A new head, unless the checkpoint has one of this kind with the same labels."""
        head = HEADS[self.head]
        if pretrained is None:
            return head.build(config, self.num_classes)
        if self._goes_on_from(pretrained):
            return pretrained.model
        return head.build(pretrained.encoder, self.num_classes)

    def _goes_on_from(self, pretrained: Pretrained) -> bool:
        if pretrained.kind != self.head or self.num_classes is None:
            return pretrained.kind == self.head
        num_classes = pretrained.model.get_config()["num_classes"]
        same_labels = list(pretrained.labels) == self.manifest.labels
        return same_labels and num_classes == self.num_classes
