"""What each objective trains: heads, targets, and encoders that it refuses."""

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.tasks.pretraining import PretrainingTask, next_token_targets
from official_bert.text import Vocab
from tests.prepared_data import VOCAB
from tests.small_models import TINY

CAUSAL = TINY.replace(attention="causal")


def _task(objective, masks, instances=1):
    manifest = Manifest(
        task="pretraining",
        dataset="",
        splits={},
        max_seq_length=16,
        vocab_size=len(VOCAB),
        vocab_sha256="",
        sources={},
        seed=0,
        options={
            "objective": objective,
            "masks": masks,
            "max_instances_per_record": instances,
        },
    )
    return PretrainingTask(manifest, Vocab(VOCAB), ExperimentConfig())


@pytest.mark.parametrize(
    ("objective", "masks", "config", "has_pairs"),
    [("bert", "static", TINY, True), ("full_sentences", "dynamic", TINY, False)]
    + [("ltr", "none", CAUSAL, False)],
)
def test_only_pairs_train_a_next_sentence_head(objective, masks, config, has_pairs):
    model = _task(objective, masks).make_model(config, None)
    assert (model.next_sentence is not None) == has_pairs


def test_a_model_that_sees_the_token_to_predict_is_refused():
    with pytest.raises(InputError, match="set model.encoder.attention to causal, not bidirection"):
        _task("ltr", "none").check_encoder(TINY)


def test_a_bilstm_is_for_fine_tuning():
    for task, config in ((_task("bert", "static"), TINY), (_task("ltr", "none"), CAUSAL)):
        with pytest.raises(InputError, match="a BiLSTM on top is for fine-tuning"):
            task.check_encoder(config.replace(bilstm=True))


def test_packed_rows_of_a_causal_encoder():
    _task("ltr", "none", instances=3).check_encoder(CAUSAL)
    with pytest.raises(InputError, match="no pooled output where attention is causal"):
        _task("bert", "static", instances=3).check_encoder(CAUSAL)


def test_each_token_is_the_target_of_the_one_before():
    batch = {
        "input_word_ids": tf.constant([[2, 7, 8, 3, 0], [2, 9, 3, 0, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]),
    }
    targets = next_token_targets(batch)
    assert targets["masked_lm_positions"].numpy().tolist() == [[0, 1, 2, 3]] * 2
    assert targets["masked_lm_ids"].numpy().tolist() == [[7, 8, 3, 0], [9, 3, 0, 0]]
    np.testing.assert_array_equal(targets["masked_lm_weights"], [[1, 1, 1, 0], [1, 1, 0, 0]])


def test_no_target_in_another_packed_sequence():
    batch = {
        "input_word_ids": tf.constant([[2, 7, 3, 2, 9, 3, 0]]),
        "input_mask": tf.constant([[1, 1, 1, 1, 1, 1, 0]]),
        "pack_ids": tf.constant([[1, 1, 1, 2, 2, 2, 0]]),
    }
    weights = next_token_targets(batch)["masked_lm_weights"]
    np.testing.assert_array_equal(weights, [[1, 1, 0, 1, 1, 0]])
