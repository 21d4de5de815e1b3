"""The shape of a BERT encoder: one small, checked, serialisable value. Imports no TensorFlow."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
from collections.abc import Collection, Mapping
from typing import Any

from absl import logging

from official_bert.errors import InputError
from official_bert.json_file import read_json

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "tanh")
ATTENTION_KINDS = ("bidirectional", "causal")

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

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    embedding_size: int | None = None
    share_layers: bool = False
    attention: str = "bidirectional"
    use_pooler: bool = True
    bilstm: bool = False

    def __post_init__(self) -> None:
        for name in _SIZES:
            _check_size(name, getattr(self, name))
        if self.embedding_size is not None:
            _check_size("embedding_size", self.embedding_size)
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = _check_number(name, getattr(self, name))
            if not 0.0 <= value < 1.0:
                raise InputError(f"{name} must be at least 0 and below 1, got {value}")
        for name in ("initializer_range", "layer_norm_eps"):
            value = _check_number(name, getattr(self, name))
            if not 0.0 < value < 1.0:
                raise InputError(f"{name} must be above 0 and below 1, got {value}")
        for name in ("share_layers", "use_pooler", "bilstm"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, got {getattr(self, name)!r}")
        _check_choice("hidden_act", self.hidden_act, ACTIVATIONS)
        _check_choice("attention", self.attention, ATTENTION_KINDS)
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size must be a multiple of num_attention_heads, got {self.hidden_size} "
                f"and {self.num_attention_heads}"
            )
        if self.bilstm and self.hidden_size % 2:
            raise InputError(f"hidden_size must be even with bilstm, got {self.hidden_size}")

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
            InputError: a key that is no field (the nearest one is named), or a wrong value.
        """
        for key in values:
            if key not in _FIELDS:
                near = difflib.get_close_matches(str(key), _FIELDS, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_FIELDS)}"
                raise InputError(f"unknown field {key!r} in the encoder's config; {hint}")
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
            InputError: no such file, not a JSON object, `vocab_size` is missing, or a wrong value.
        """
        values = read_json(path)
        if "vocab_size" not in values:
            raise InputError(f"{path} has no vocab_size: it is not the config of a BERT encoder")
        unknown = sorted(values.keys() - set(_FIELDS) - _WITHOUT_EFFECT - set(known))
        if unknown:
            logging.warning("%s: unknown keys without effect: %s", path, ", ".join(unknown))
        try:
            return cls.from_dict({key: values[key] for key in _FIELDS if key in values})
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


_FIELDS = tuple(field.name for field in dataclasses.fields(BertConfig))
_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)


def _check_size(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")


def _check_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} must be a number, got {value!r}")
    return value


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
