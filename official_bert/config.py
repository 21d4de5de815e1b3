"""The shape of a BERT encoder: one small, checked, serialisable value. Imports no TensorFlow."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from typing import Any

from absl import logging

from official_bert.errors import InputError
from official_bert.fields import bounded, check_known, checked_field
from official_bert.json_file import read_json

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "tanh")
ATTENTION_KINDS = ("bidirectional", "causal")
# No BERT has a twentieth of this; a config that asks for more would fill the memory of any machine.
_MAX_WEIGHTS = 100_000_000_000

# Keys of google-research/bert's files that describe no part of this model. `directionality` and the
# `pooler_*` keys stand in the multilingual and Chinese releases and were never read by its code.
_WITHOUT_EFFECT = frozenset(
    {
        "directionality",
        "pooler_fc_size",
        "pooler_num_attention_heads",
        "pooler_num_fc_layers",
        "pooler_size_per_head",
        "pooler_type",
    }
)


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Sizes and rates of the encoder (Devlin et al. 2019, section 3).

    The defaults are those of BERT-Base, uncased.

    A config is valid once it exists: every value is checked when it is made.

    Attributes:
        vocab_size: rows of the word embeddings, V.
        hidden_size: width of the hidden states, H; a multiple of `num_attention_heads`.
        num_hidden_layers: number of transformer layers, L.
        num_attention_heads: heads of each layer, N; the head width is D = H / N.
        intermediate_size: width of the feed-forward layer, 4 H in the paper.
        hidden_act: "gelu" (with erf, Hugging Face), "gelu_tanh" (google-research/bert and the
            Model Garden), "relu" or "tanh".
        hidden_dropout_prob: dropout of embeddings and of both outputs of a layer, in [0, 1).
        attention_probs_dropout_prob: dropout of the attention probabilities, in [0, 1).
        max_position_embeddings: the longest sequence the model can read, in tokens.
        type_vocab_size: number of segment types, 2 in the paper.
        initializer_range: standard deviation of the truncated normal initializer.
        layer_norm_eps: added to the variance in layer normalization.
        embedding_size: width of the embedding tables where it is not H: they are then projected to
            H (Lan et al. 2020, section 3.1). None means H.
        share_layers: one set of weights for all L layers (Lan et al. 2020, section 3.1).
        attention: "bidirectional", or "causal" for the left-to-right ablation (section 5.1).
        use_pooler: whether there is a tanh layer on [CLS], that is, a `pooled_output`; on the last
            token where attention is causal and nothing stands on top.
        bilstm: whether a BiLSTM of H / 2 units in each direction stands on the last layer, for
            fine-tuning (section 5.1, "+ BiLSTM"); H must be even.
    """

    vocab_size: int = bounded(30522, least=1, most=10_000_000)
    hidden_size: int = bounded(768, least=1, most=65_536)
    num_hidden_layers: int = bounded(12, least=1, most=1_000)
    num_attention_heads: int = bounded(12, least=1, most=65_536)
    intermediate_size: int = bounded(3072, least=1, most=1_000_000)
    hidden_act: str = bounded("gelu", choices=ACTIVATIONS)
    hidden_dropout_prob: float = bounded(0.1, least=0, below=1)
    attention_probs_dropout_prob: float = bounded(0.1, least=0, below=1)
    max_position_embeddings: int = bounded(512, least=1, most=1_000_000)
    type_vocab_size: int = bounded(2, least=1, most=10_000)
    initializer_range: float = bounded(0.02, above=0, below=1)
    layer_norm_eps: float = bounded(1e-12, above=0, below=1)
    embedding_size: int | None = bounded(None, least=1, most=65_536)
    share_layers: bool = False
    attention: str = bounded("bidirectional", choices=ATTENTION_KINDS)
    use_pooler: bool = True
    bilstm: bool = False

    def __post_init__(self) -> None:
        for name in _FIELDS:
            checked_field(type(self), name, getattr(self, name), name)
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size is {self.hidden_size}: it must be a multiple of "
                f"num_attention_heads, which is {self.num_attention_heads}"
            )
        if self.bilstm and self.hidden_size % 2:
            raise InputError(f"hidden_size is {self.hidden_size}: it must be even with bilstm")
        tables = self.vocab_size + self.max_position_embeddings + self.type_vocab_size
        layers = 1 if self.share_layers else self.num_hidden_layers
        layer = 4 * self.hidden_size**2 + 2 * self.hidden_size * self.intermediate_size
        weights = tables * self.embedding_width + layers * layer
        if weights > _MAX_WEIGHTS:
            raise InputError(
                f"the sizes make {weights:,} weights, above {_MAX_WEIGHTS:,}: is hidden_size "
                f"{self.hidden_size} or num_hidden_layers {self.num_hidden_layers} a mistake?"
            )

    @property
    def embedding_width(self) -> int:
        """Width of the embedding tables: `embedding_size`, or H where that is None."""
        return self.embedding_size or self.hidden_size

    @property
    def first_sees_all(self) -> bool:
        """Whether the state at position 0, that of [CLS], has seen the whole text."""
        return self.attention != "causal" or self.bilstm

    def replace(self, **changes: Any) -> BertConfig:
        """A copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name; `embedding_size` only where it is set, as other readers expect."""
        values = dataclasses.asdict(self)
        if self.embedding_size is None:
            del values["embedding_size"]
        return values

    def to_json(self) -> str:
        """The text of a bert_config.json: sorted keys, a line each, ending in a line break."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BertConfig:
        """The config with these fields; the others have their defaults.

        Raises:
            InputError: a key that is no field (the nearest one is named), a wrong value, or some
                of the four sizes of the layers without the others.
        """
        for key in values:
            check_known(key, _FIELDS)
        missing = [name for name in _SHAPE if name not in values]
        if missing and len(missing) < len(_SHAPE):
            raise InputError(f"{missing[0]} is missing: it belongs to the shape of an encoder")
        return cls(**values)

    @classmethod
    def from_json_file(
        cls, path: str | os.PathLike[str], *, known: Collection[str] = ()
    ) -> BertConfig:
        """Reads a bert_config.json; reports keys that describe no part of the model in the log.

        "gelu" is taken as erf here. In google-research/bert's own files it stands for the tanh
        form: `official_bert.checkpoints`, which sees whose checkpoint it is, tells them apart.

        Args:
            path: the file.
            known: keys that the caller reads itself and that are not reported.

        Raises:
            InputError: no such file, not a JSON object, a size is missing, or a wrong value.
        """
        values = read_json(path)
        for name in ("vocab_size", *_SHAPE):
            if name not in values:
                raise InputError(f"{path} has no {name}: it is not the config of a BERT encoder")
        unknown = sorted(values.keys() - set(_FIELDS) - _WITHOUT_EFFECT - set(known))
        if unknown:
            logging.warning("%s: unknown keys without effect: %s", path, ", ".join(unknown))
        try:
            return cls.from_dict({key: values[key] for key in _FIELDS if key in values})
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


_FIELDS = tuple(field.name for field in dataclasses.fields(BertConfig))
# No one who gives one of these means BERT-Base's in place of another.
_SHAPE = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
