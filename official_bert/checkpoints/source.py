"""A checkpoint in our terms: what the reader of each format gives, and the loader takes."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Mapping

from official_bert.checkpoints import name_maps
from official_bert.checkpoints.tensors import StoredTensor
from official_bert.config import BertConfig
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab

# The models and their heads. The names of the heads are the first parts of our names.
HEADS: dict[str, tuple[str, ...]] = {
    "encoder": (),
    "pretrainer": ("masked_lm", "next_sentence"),
    "classifier": ("classifier",),
    "token_classifier": ("classifier",),
    "multiple_choice": ("classifier",),
    "span_labeler": ("span",),
}
# These read the pooled output.
POOLED_KINDS = ("classifier", "multiple_choice")


@dataclasses.dataclass
class Source:
    """What was found at a path.

    Attributes:
        path: where, for messages.
        format: "official_bert", "huggingface", "google_tf1", "model_garden" or "tf_hub".
        config: of the encoder.
        kind: a key of `HEADS`.
        tensors: by our names, in our layout.
        unused: names in the file that are known neither as weights nor as something to drop.
        dropped: names in the file that are left out on purpose, and why.
        num_classes: of a classifier.
        labels: names of the classes in id order; empty where nobody says.
        head_dropout: rate of the dropout before the head; None for the encoder's.
        vocab: None where the folder has none.
        tokenizer: None where there is no vocabulary.
    """

    path: pathlib.Path
    format: str
    config: BertConfig
    kind: str
    tensors: dict[str, StoredTensor]
    unused: list[str]
    dropped: dict[str, str]
    num_classes: int | None = None
    labels: tuple[str, ...] = ()
    head_dropout: float | None = None
    vocab: Vocab | None = None
    tokenizer: TokenizerConfig | None = None

    def heads(self) -> tuple[str, ...]:
        """The heads that the model is to have; a pretrainer has those that the file has."""
        heads = HEADS[self.kind]
        if self.kind != "pretrainer":
            return heads
        return tuple(h for h in heads if any(name.startswith(h + "/") for name in self.tensors))


def head_kind(tensors: Mapping[str, StoredTensor], classifier_kind: str = "classifier") -> str:
    """The kind of model that these tensors make, by their heads.

    Args:
        tensors: by our names.
        classifier_kind: which of the three models with a `classifier` it would be.
    """
    if "masked_lm/output_bias" in tensors:
        return "pretrainer"
    if "span/bias" in tensors:
        return "span_labeler"
    return classifier_kind if "classifier/bias" in tensors else "encoder"


def drop_lone_next_sentence(tensors: dict[str, StoredTensor], dropped: dict[str, str]) -> None:
    """A next-sentence head without a masked-LM head beside it is no model of ours."""
    if "masked_lm/output_bias" not in tensors:
        for name in name_maps.SHAPES["next_sentence"]:
            if name in tensors:
                dropped[tensors.pop(name).name] = "a next-sentence head alone"


def num_classes(tensors: Mapping[str, StoredTensor]) -> int | None:
    """The number of classes of a classifier; None without one."""
    bias = tensors.get("classifier/bias")
    return bias.shape[0] if bias else None


def expected_shapes(
    config: BertConfig, heads: Iterable[str], num_classes: int | None
) -> dict[str, tuple[int, ...]]:
    """Our names and shapes of all variables of an encoder and these heads."""
    sizes = {
        "V": config.vocab_size,
        "P": config.max_position_embeddings,
        "T": config.type_vocab_size,
        "E": config.embedding_width,
        "H": config.hidden_size,
        "I": config.intermediate_size,
        "C": num_classes or 1,
        "U": config.hidden_size // 2,
        "G": 4 * (config.hidden_size // 2),
        "2": 2,
    }
    parts = ["embeddings", "layers", *heads]
    if config.embedding_width != config.hidden_size:
        parts.append("projection")
    if config.use_pooler:
        parts.append("pooler")
    if config.bilstm:
        parts.append("bilstm")
    return {
        name.format(i=index): tuple(sizes[letter] for letter in letters)
        for part in parts
        for name, letters in name_maps.SHAPES[part].items()
        for index in _layer_indices(name, config)
    }


def expand(name_map: Mapping[str, str], config: BertConfig) -> dict[str, str]:
    """{our name: foreign name} of a map, for each layer."""
    return {
        ours.format(i=index): theirs.format(i=index)
        for ours, theirs in name_map.items()
        for index in _layer_indices(ours, config)
    }


def _layer_indices(template: str, config: BertConfig) -> range:
    """The numbers that `{i}` stands for; one for a name without it."""
    layers = 1 if config.share_layers else config.num_hidden_layers
    return range(layers if "{i}" in template else 1)
