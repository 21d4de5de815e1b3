"""What the tasks of fine-tuning have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import tensorflow as tf

from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.models.encoder import ENCODER_INPUTS

Tensors = Mapping[str, tf.Tensor]


class FineTuningTask:
    """A task whose records are whole: nothing is added to them while training.

    Args:
        manifest: of the prepared data.

    Attributes:
        batching: of `data.batching`, where the config does not say.
        can_pack: whether several records can share a row.
        token_features: features of a record with something for each token, if it can.
        best_is_lower: whether less of `best_metric` is better.
        model_inputs: the entries of a batch that the model reads.
    """

    batching: ClassVar[str] = "bucketed"
    can_pack: ClassVar[bool] = False
    token_features: ClassVar[tuple[str, ...]] = ()
    best_is_lower: ClassVar[bool] = False
    model_inputs: ClassVar[tuple[str, ...]] = tuple(ENCODER_INPUTS)

    def __init__(self, manifest: Manifest):
        self._manifest = manifest

    def sizes(self, config: BertConfig) -> dict[str, int]:
        """The largest lengths and values of these records, for the parser."""
        return {
            "S": self._manifest.max_seq_length,
            "vocab_size": config.vocab_size,
            "type_vocab_size": config.type_vocab_size,
        }

    def completion(self, seed: int) -> Callable[[Tensors, tf.Tensor], Tensors]:
        """A parsed batch lacks nothing."""
        del seed
        return lambda batch, numbers: batch

    def baselines(
        self, train_paths: Sequence[str], eval_paths: Sequence[str], config: BertConfig
    ) -> dict[str, float]:
        """None beside the official metrics."""
        del train_paths, eval_paths, config
        return {}
