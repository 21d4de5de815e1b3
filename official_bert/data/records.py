"""The features of every TFRecord kind, in one place: name, dtype, length, the model's name.

The names on disk follow google-research/bert and the Model Garden, so that files go both ways. The
model's names differ (`input_ids` is `input_word_ids` to the model); `rename` changes them once.

Lengths are named: S tokens of the record, P masked positions, N packed sequences, C choices,
"1" one number, L labels, "C*S" tokens of all choices in a row. Records are stored without padding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from official_bert.errors import InputError

Value = TypeVar("Value")


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        name: the name on disk.
        dtype: "int64" or "float32", as tf.train.Example stores it.
        length: "S", "P", "N", "L", "C*S" or "1".
        model_name: the name that the model (or the loss) knows it by.
        alias: a second name on disk under which other programs write the same thing.
        required: false for a feature that only some records of the kind have; a file has it in all
            of its records or in none.
        below: what its values stay below: a number, or the name of a size ("vocab_size",
            "type_vocab_size", "num_labels", "S"); "" for values without a limit.
        least: the smallest value, where there is a limit.
        along: the model's name of the feature that it has an entry for each entry of; "" for none.
    """

    name: str
    dtype: str
    length: str
    model_name: str
    alias: str = ""
    required: bool = True
    below: str = ""
    least: int = 0
    along: str = ""

    def limit(self, sizes: Mapping[str, int]) -> int:
        """The number that stands for `below`."""
        return int(self.below) if self.below.isdecimal() else sizes[self.below]


def _integers(name: str, length: str, model_name: str = "", **further: Any) -> Feature:
    return Feature(name, "int64", length, model_name or name, **further)


def _optional(name: str, length: str, dtype: str = "int64", **further: Any) -> Feature:
    return Feature(name, dtype, length, name, required=False, **further)


_INPUT_IDS = _integers(
    "input_ids", "S", "input_word_ids", alias="input_word_ids", below="vocab_size"
)
_INPUT_MASK = _integers("input_mask", "S", below="2", along="input_word_ids")
_SEGMENT_IDS = _integers(
    "segment_ids",
    "S",
    "input_type_ids",
    alias="input_type_ids",
    below="type_vocab_size",
    along="input_word_ids",
)
_INPUTS = (_INPUT_IDS, _INPUT_MASK, _SEGMENT_IDS)

RECORD_KINDS: dict[str, tuple[Feature, ...]] = {
    # The masked_lm features are absent where masks are made at training time and where there are
    # none (left to right); next_sentence_labels where there are no pairs; the last three where
    # sequences are not packed.
    "pretraining": (
        *_INPUTS,
        _optional("masked_lm_positions", "P", below="S"),
        _optional("masked_lm_ids", "P", below="vocab_size", along="masked_lm_positions"),
        _optional("masked_lm_weights", "P", "float32", along="masked_lm_positions"),
        _optional("next_sentence_labels", "N", below="2"),
        _optional("position_ids", "S", below="S", along="input_word_ids"),
        _optional("pack_ids", "S", along="input_word_ids"),
        _optional("cls_positions", "N", below="S"),
    ),
    # A class; or floats: the number of a regression, or 0 and 1 for each class of several.
    "sentence_prediction": (
        *_INPUTS,
        _optional("label_ids", "1", below="num_labels"),
        _integers("example_id", "1"),
    ),
    # Answers are in training records only. Those of google-research/bert and the Model Garden lack
    # what prediction needs (the last four); the former lack paragraph_mask and class_index as well.
    "question_answering": (
        _integers("unique_ids", "1"),
        *_INPUTS,
        _optional("paragraph_mask", "S", below="2", along="input_word_ids"),
        _optional("class_index", "1"),
        _optional("start_positions", "1", below="S"),
        _optional("end_positions", "1", below="S"),
        _optional("is_impossible", "1"),
        _optional("example_index", "1"),
        _optional("token_starts", "S", along="input_word_ids"),
        _optional("token_limits", "S", along="input_word_ids"),
        _optional("max_context_mask", "S", below="2", along="input_word_ids"),
    ),
    "tagging": (
        *_INPUTS,
        # -1: no first piece of a word.
        _integers("label_ids", "S", below="num_labels", least=-1, along="input_word_ids"),
        _integers("sentence_id", "1"),
        _integers("sub_sentence_id", "1"),
        _integers("word_ids", "S", along="input_word_ids"),
    ),
    "multiple_choice": (
        _integers("input_ids", "C*S", "input_word_ids", below="vocab_size"),
        _integers("input_mask", "C*S", below="2", along="input_word_ids"),
        _integers(
            "segment_ids",
            "C*S",
            "input_type_ids",
            below="type_vocab_size",
            along="input_word_ids",
        ),
        _integers("num_choices", "1"),
        _optional("label_ids", "1"),
        _integers("example_id", "1"),
    ),
}


def features(kind: str, floats: Collection[str] = ()) -> tuple[Feature, ...]:
    """The features of a record kind.

    Args:
        kind: a key of `RECORD_KINDS`.
        floats: names of features that hold floats; the labels of sentences may.

    Raises:
        InputError: there is no such kind.
    """
    if kind not in RECORD_KINDS:
        raise InputError(f"record kind {kind!r} is not one of {sorted(RECORD_KINDS)}")
    if "label_ids" not in floats or kind != "sentence_prediction":
        return RECORD_KINDS[kind]
    return tuple(
        dataclasses.replace(feature, dtype="float32", length="L", below="")
        if feature.name == "label_ids"
        else feature
        for feature in RECORD_KINDS[kind]
    )


def present_features(
    kind: str, names: Collection[str], floats: Collection[str] = ()
) -> dict[str, Feature]:
    """Which features a record has, by their name on disk.

    Args:
        kind: a key of `RECORD_KINDS`.
        names: the names in a record, for example {"input_word_ids", "input_mask", …}.
        floats: those of them that hold floats.

    Returns:
        name on disk (the alias where the record has that one) -> feature. Names that the kind does
        not know are left out.

    Raises:
        InputError: a required feature is missing.
    """
    found = {}
    for feature in features(kind, floats):
        if feature.name in names:
            found[feature.name] = feature
        elif feature.alias and feature.alias in names:
            found[feature.alias] = feature
        elif feature.required:
            either = f"{feature.name!r}" + (f" (or {feature.alias!r})" if feature.alias else "")
            raise InputError(f"a {kind} record lacks the feature {either}; it has {sorted(names)}")
    return found


def features_of(kind: str, example: Any, location: str) -> dict[str, Feature]:
    """`present_features` of a tf.train.Example.

    Args:
        kind: a key of `RECORD_KINDS`.
        example: the record.
        location: file and number of the record, for the message.

    Raises:
        InputError: a required feature is missing.
    """
    stored = example.features.feature
    floats = {name for name in stored if stored[name].WhichOneof("kind") == "float_list"}
    try:
        return present_features(kind, set(stored), floats)
    except InputError as error:
        raise InputError(f"{location}: {error}") from error


def parsing_spec(present: Mapping[str, Feature]) -> dict[str, Any]:
    """A spec for `tf.io.parse_example` that reads padded and unpadded records alike.

    Args:
        present: from `present_features`.

    Returns:
        name on disk -> tf.io.RaggedFeature (rows of any length), for single numbers too: a record
        that lacks one then shows as a row of length 0 instead of an error that names no record.
    """
    import tensorflow as tf

    return {
        name: tf.io.RaggedFeature(tf.as_dtype(feature.dtype), row_splits_dtype=tf.int64)
        for name, feature in present.items()
    }


def rename(parsed: Mapping[str, Value], present: Mapping[str, Feature]) -> dict[str, Value]:
    """Names on disk -> the model's names: {"input_ids": x} -> {"input_word_ids": x}."""
    return {feature.model_name: parsed[name] for name, feature in present.items()}


# Model's names of features that hold positions of tokens: these must be tokens of the text, not of
# its padding.
TOKEN_POSITIONS = ("masked_lm_positions", "cls_positions", "start_positions", "end_positions")


def longest(feature: Feature, sizes: Mapping[str, int]) -> int:
    """The most values that the feature may have in one record, with {"S": max_seq_length, …}."""
    return 1 if feature.length == "1" else sizes[feature.length]
