"""Features of texts -> a JSONL, .npz or TFRecord file.

N texts, T tokens, W words, H width of the features.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from official_bert.atomic import atomic_file
from official_bert.features.extractor import TextFeatures, Vectors

KINDS = ("tokens", "words", "cls", "mean")
_SEVERAL = ("tokens", "words")
# As google-research/bert rounds.
_DIGITS = 6
_PIECES_AT_ONCE = 256

Path = str | os.PathLike[str]


def write_features(
    path: Path, output_format: str, features: Iterable[TextFeatures], kinds: Sequence[str]
) -> None:
    """Writes what was extracted, text by text; the file is whole or not there.

    Args:
        path: of the file.
        output_format: "jsonl", "tfrecord" or "npz", which has all in memory until the end.
        features: of the texts.
        kinds: which of `KINDS` are written.
    """
    writers = {"jsonl": _write_jsonl, "npz": _write_npz, "tfrecord": _write_tfrecord}
    writers[output_format](path, features, kinds)


def _write_jsonl(path: Path, features: Iterable[TextFeatures], kinds: Sequence[str]) -> None:
    """An object a text: {"linex_index": 0, "features": [{"token": …, "layers": […]}, …]}.

    This is the form (and the spelling) of google-research/bert's extract_features.py; words
    follow the tokens as "words": [{"word": …, "layers": […]}, …], and the vectors of the whole text
    as "cls" and "mean": […], each a list of {"index": layer, "values": […]}.
    """
    with atomic_file(path) as file:
        for number, text in enumerate(features):
            file.write(f'{{"linex_index": {number}')
            for kind in kinds:
                if kind in _SEVERAL:
                    key, name = {"tokens": ("features", "token"), "words": ("words", "word")}[kind]
                    file.write(f', "{key}": [')
                    # Piece by piece: as Python's numbers a long text would take ten times the room.
                    for index, piece in enumerate(_json_pieces(*_several(text, kind), name)):
                        file.write(", " * bool(index) + piece)
                    file.write("]")
                else:
                    pooled = {layer: v[np.newaxis] for layer, v in text.pooled(kind).items()}
                    vectors = [values[0] for values in _json_layers(pooled)]
                    file.write(f', "{kind}": {json.dumps(vectors)}')
            file.write("}\n")


def _json_pieces(names: Sequence[str], vectors: Vectors, key: str) -> Iterator[str]:
    """Each token or word with its vectors: '{"token": "a", "layers": […]}'."""
    for start in range(0, len(names), _PIECES_AT_ONCE):
        chosen = slice(start, start + _PIECES_AT_ONCE)
        layers = _json_layers({layer: rows[chosen] for layer, rows in vectors.items()})
        for name, of_piece in zip(names[chosen], zip(*layers, strict=True), strict=True):
            yield json.dumps({key: name, "layers": list(of_piece)}, ensure_ascii=False)


def _json_layers(vectors: Vectors) -> Iterator[list[dict[str, Any]]]:
    """For each layer, its rows as {"index": -1, "values": [0.12, …]}."""
    for layer, rows in vectors.items():
        index = layer if layer.isidentifier() else int(layer)
        rounded = np.round(rows.astype(np.float64), _DIGITS).tolist()
        yield [{"index": index, "values": values} for values in rounded]


def _write_npz(path: Path, features: Iterable[TextFeatures], kinds: Sequence[str]) -> None:
    """Arrays over all texts, one behind the other.

    `tokens` and `words`: the strings [sum T]; `tokens_splits` int64 [N + 1]: where each text begins
    and ends among them; `tokens_ids` int64; `tokens_-1` float32 [sum T, H]: the vectors of layer
    -1.
    `cls_-1` and `mean_-1` are [N, H].
    """
    parts: dict[str, list[Any]] = {}
    counts: dict[str, list[int]] = {kind: [0] for kind in kinds if kind in _SEVERAL}

    def add(name: str, value: Any) -> None:
        parts.setdefault(name, []).append(value)

    for text in features:
        for kind in kinds:
            if kind in _SEVERAL:
                names, vectors = _several(text, kind)
                add(kind, np.array(names, str))
                counts[kind].append(len(names))
            else:
                vectors = {layer: v[np.newaxis] for layer, v in text.pooled(kind).items()}
            for layer, values in vectors.items():
                add(f"{kind}_{layer}", values)
        if "tokens" in kinds:
            add("tokens_ids", text.ids)
    arrays: dict[str, Any] = {name: np.concatenate(values) for name, values in parts.items()}
    arrays |= {f"{kind}_splits": np.cumsum(values) for kind, values in counts.items()}
    with atomic_file(path, "wb") as file:
        np.savez(file, **arrays)


def _write_tfrecord(path: Path, features: Iterable[TextFeatures], kinds: Sequence[str]) -> None:
    """A tf.train.Example a text.

    `linex_index`; `tokens` and `words`: the strings; `tokens_ids`; `tokens_-1` and so on: the
    vectors of a layer, flattened to [T * H] floats; `width_-1`: H.
    """
    # The writer opens the file by its name; the handle makes it durable at the end.
    with atomic_file(path, "wb") as file, tf.io.TFRecordWriter(file.name) as writer:
        for number, text in enumerate(features):
            example = tf.train.Example()
            feature = example.features.feature
            feature["linex_index"].int64_list.value.append(number)
            if "tokens" in kinds:
                feature["tokens_ids"].int64_list.value.extend(text.ids.tolist())
            for kind in kinds:
                vectors: Vectors
                if kind in _SEVERAL:
                    names, vectors = _several(text, kind)
                    feature[kind].bytes_list.value.extend(name.encode() for name in names)
                else:
                    vectors = text.pooled(kind)
                for layer, values in vectors.items():
                    feature[f"{kind}_{layer}"].float_list.value.extend(values.ravel().tolist())
                    feature[f"width_{layer}"].int64_list.value[:] = [values.shape[-1]]
            writer.write(example.SerializeToString())


def _several(text: TextFeatures, kind: str) -> tuple[list[str], Vectors]:
    if kind == "tokens":
        return text.tokens, text.token_vectors
    return text.words, text.word_vectors
