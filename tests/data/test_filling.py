"""Batches of one number of rows: what fills them counts for nothing."""

import numpy as np
import pytest
import tensorflow as tf

from official_bert.data.filling import fill_batch
from official_bert.experiment import load_experiment
from official_bert.runs.setup import RunSetup
from official_bert.tasks.base import record_weights
from official_bert.tasks.multiple_choice import MultipleChoiceTask
from official_bert.tasks.question_answering import QuestionAnsweringTask, SpanLogits
from official_bert.tasks.tagging import TaggingTask
from tests.finetuning_data import opinions, prepare_table
from tests.prepared_data import write_pretraining_data
from tests.small_models import SMALL_ENCODER


def test_a_batch_is_filled_with_copies_of_weight_0():
    batch = {
        "input_word_ids": tf.constant([[2, 7, 3], [2, 8, 3]]),
        "label_ids": tf.constant([[1], [0]]),
    }
    filled = fill_batch(batch, 4)
    np.testing.assert_array_equal(
        filled["input_word_ids"], [[2, 7, 3], [2, 8, 3], [2, 7, 3], [2, 7, 3]]
    )
    np.testing.assert_array_equal(filled["label_ids"], [[1], [0], [1], [1]])
    np.testing.assert_array_equal(filled["record_weights"], [1.0, 1.0, 0.0, 0.0])
    assert filled["record_weights"].dtype == tf.float32
    np.testing.assert_array_equal(record_weights(batch), [1.0, 1.0])


@pytest.fixture(scope="module", params=["pretraining", "sentence_prediction"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filling")
    if request.param == "pretraining":
        data = write_pretraining_data(folder / "data", train=8, dev=7)
    else:
        data = prepare_table(folder, {"train": opinions(8), "dev": opinions(7)})
    overrides = [
        *SMALL_ENCODER,
        f"task={request.param}",
        f"data.path={data}",
        "model.encoder.num_hidden_layers=1",
        "evaluation.batch_size=3",
    ]

    def make(*more):
        return RunSetup(load_experiment([], [*overrides, *more]), folder / "m")

    return make


def test_a_filled_evaluation_counts_each_record_once(run):
    plain, static = run(), run("runtime.jit_compile=true")
    shapes = {
        name: set() for name in ("input_word_ids", "label_ids", "masked_lm_ids", "record_weights")
    }
    total = 0.0
    for batch in static.pipeline.evaluation_dataset("dev"):
        total += float(tf.reduce_sum(batch["record_weights"]))
        for name in shapes:
            if name in batch:
                shapes[name].add(tuple(batch[name].shape))
    assert total == 7
    assert shapes["input_word_ids"] == {(3, 16)}
    assert all(len(of_name) <= 1 for of_name in shapes.values())

    model = plain.make_model()
    values, records = plain.evaluator(model, "dev", with_losses=True)()
    filled_values, filled_records = static.evaluator(model, "dev", with_losses=True)()
    assert values.keys() == filled_values.keys()
    for name, value in values.items():
        assert filled_values[name] == pytest.approx(value, abs=1e-5), name
    assert len(filled_records) == len(records)
    for ours, theirs in zip(
        *(sorted(r, key=lambda record: record["example_id"]) for r in (filled_records, records)),
        strict=True,
    ):
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], atol=1e-5)


def _without_settings(task):
    """A task for its losses alone, which ask for no data."""
    return task.__new__(task)


@pytest.mark.parametrize(
    ("task", "outputs", "batch"),
    [
        (
            TaggingTask,
            tf.constant([[[1.0, 2.0]] * 3, [[3.0, 0.0]] * 3]),
            {"label_ids": tf.constant([[-1, 1, 0], [0, 0, 1]])},
        ),
        (
            QuestionAnsweringTask,
            SpanLogits(
                tf.constant([[1.0, 2, 0], [0, 1, 3]]), tf.constant([[0.0, 2, 1], [1, 1, 2]])
            ),
            {
                "start_positions": tf.constant([[1], [0]]),
                "end_positions": tf.constant([[2], [2]]),
            },
        ),
        (
            MultipleChoiceTask,
            tf.constant([[1.0, 2.0, 0.5], [0.0, 1.0, 2.0]]),
            {"label_ids": tf.constant([[1], [0]])},
        ),
    ],
)
def test_losses_leave_out_what_fills_a_batch(task, outputs, batch):
    shape = [2, 3, 2] if task is MultipleChoiceTask else [2, 3]
    batch = {**batch, "input_word_ids": tf.ones(shape[:2], tf.int32)}
    batch["input_mask"] = tf.ones(shape, tf.int32)
    task = _without_settings(task)
    one = tf.nest.map_structure(lambda tensor: tensor[:1], (outputs, batch))
    filled = {**batch, "record_weights": tf.constant([1.0, 0.0])}
    for found, expected in (
        (task.sums(outputs, filled), task.sums(*one)),
        (task.weights(filled), task.weights(one[1])),
    ):
        assert found.keys() == expected.keys() != set()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)
    assert float(task.weights(batch)[name]) > float(task.weights(filled)[name])
