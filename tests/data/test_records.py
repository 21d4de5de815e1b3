"""Record features: names on disk, the model's names, parsing of padded and unpadded records."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data import records
from official_bert.errors import InputError


def _example(**values: list[int]) -> bytes:
    feature = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))
        for name, numbers in values.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


@pytest.mark.parametrize(
    ("ids_name", "types_name"),
    [("input_ids", "segment_ids"), ("input_word_ids", "input_type_ids")],
)
def test_both_namings_parse_to_the_models_names(ids_name, types_name):
    serialized = [
        _example(**{ids_name: [2, 7, 3], "input_mask": [1, 1, 1], types_name: [0, 0, 0]}),
        _example(**{ids_name: [2, 3, 0, 0], "input_mask": [1, 1, 0, 0], types_name: [0, 0, 0, 0]}),
    ]
    present = records.present_features("pretraining", {ids_name, "input_mask", types_name})
    parsed = tf.io.parse_example(serialized, records.parsing_spec(present))
    batch = records.rename(parsed, present)
    assert sorted(batch) == ["input_mask", "input_type_ids", "input_word_ids"]
    assert batch["input_word_ids"].to_list() == [[2, 7, 3], [2, 3, 0, 0]]
    assert batch["input_mask"].to_list() == [[1, 1, 1], [1, 1, 0, 0]]


def test_optional_features_are_found_and_unknown_names_ignored():
    names = {"input_ids", "input_mask", "segment_ids", "masked_lm_weights", "colour"}
    present = records.present_features("pretraining", names)
    assert "colour" not in present
    assert present["masked_lm_weights"].dtype == "float32"
    assert "position_ids" not in present


def test_a_missing_feature_is_named():
    with pytest.raises(InputError, match="'segment_ids'.*or 'input_type_ids'"):
        records.present_features("tagging", {"input_ids", "input_mask"})


def test_regression_labels_are_floats():
    by_name = {f.name: f for f in records.features("sentence_prediction", floats={"label_ids"})}
    assert by_name["label_ids"].dtype == "float32"
    serialized = tf.train.Example()
    serialized.features.feature["label_ids"].float_list.value.append(2.5)
    spec = records.parsing_spec({"label_ids": by_name["label_ids"]})
    parsed = tf.io.parse_example([serialized.SerializeToString()], spec)
    np.testing.assert_array_equal(parsed["label_ids"].to_tensor(), [[2.5]])


def test_unknown_kind():
    with pytest.raises(InputError, match="'squad' is not one of"):
        records.features("squad")
