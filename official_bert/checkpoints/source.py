"""A checkpoint in our terms: what the reader of each format gives, and the loader takes."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Mapping

from official_bert.checkpoints import name_maps
from official_bert.checkpoints.heads import HEADS, PARTS, Head, Part
from official_bert.checkpoints.tensors import StoredTensor
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab


@dataclasses.dataclass
class Source:
    """What was found at a path.

    Attributes:
        path: where, for messages.
        format: "official_bert", "huggingface", "google_tf1", "model_garden" or "tf_hub".
        config: of the encoder.
        kind: a key of `heads.HEADS`.
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

    @property
    def head(self) -> Head:
        """The row of its kind."""
        return HEADS[self.kind]

    def parts(self) -> tuple[Part, ...]:
        """What the model is to have beside the encoder."""
        return self.head.parts_in(self.tensors)


def renamed(
    path: pathlib.Path, stored: Mapping[str, StoredTensor], rename: Callable[[str], str]
) -> dict[str, StoredTensor]:
    """The tensors by other names.

    Raises:
        InputError: two of them would have the same name.
    """
    tensors: dict[str, StoredTensor] = {}
    for name, tensor in stored.items():
        other = tensors.setdefault(rename(name), tensor)
        if other is not tensor:
            raise InputError(f"{path} has one array twice, as {other.name} and as {tensor.name}")
    return tensors


def drop_lone_parts(tensors: dict[str, StoredTensor], dropped: dict[str, str]) -> None:
    """A part that is optional in a head is no model of ours by itself: next sentence, say."""
    for head in HEADS.values():
        for part in head.parts:
            if part.name in head.optional and not head.fits(tensors):
                for name in [f"{part.name}/{variable}" for variable in part.shapes]:
                    if name in tensors:
                        why = f"a {part.name.replace('_', '-')} head alone"
                        dropped[tensors.pop(name).name] = why


def num_classes(tensors: Mapping[str, StoredTensor]) -> int | None:
    """The number of classes of a classifier; None without one."""
    for part in PARTS:
        for variable, letters in part.shapes.items():
            tensor = tensors.get(f"{part.name}/{variable}")
            if letters == "C" and tensor is not None and len(tensor.shape) == 1:
                return tensor.shape[0]
    return None


def expected_shapes(
    config: BertConfig, parts: Iterable[Part], num_classes: int | None
) -> dict[str, tuple[int, ...]]:
    """Our names and shapes of all variables of an encoder and these parts of heads."""
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
        "1": 1,
        "2": 2,
    }
    tables = [name_maps.SHAPES["embeddings"], name_maps.SHAPES["layers"]]
    tables += [{f"{p.name}/{name}": axes for name, axes in p.shapes.items()} for p in parts]
    if config.embedding_width != config.hidden_size:
        tables.append(name_maps.SHAPES["projection"])
    if config.use_pooler:
        tables.append(name_maps.SHAPES["pooler"])
    if config.bilstm:
        tables.append(name_maps.SHAPES["bilstm"])
    return {
        name.format(i=index): tuple(sizes[letter] for letter in letters)
        for table in tables
        for name, letters in table.items()
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
