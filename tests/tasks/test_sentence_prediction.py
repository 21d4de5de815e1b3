"""Losses in closed form, and whole runs on small tables."""

import json
import math
import shutil

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.checkpoints.load import load_pretrained
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig, load_experiment
from official_bert.runs.run import Run
from official_bert.tasks.sentence_prediction import SentencePredictionTask
from official_bert.text import Vocab
from tests.finetuning_data import TOKENS, opinions, prepare_table, settings
from tests.public_data import TESTDATA
from tests.small_models import SMALL_ENCODER

SMALL = (
    *SMALL_ENCODER,
    "model.encoder.initializer_range=0.2",
    "task=sentence_prediction",
    "optimizer.learning_rate=0.003",
)
# One step at the start of a warm-up, whose rate is 0: the weights stay what they were.
STILL = ("train.steps=1", "optimizer.warmup_steps=1")


def _task(problem, labels=("a", "b"), class_weights=()):
    manifest = Manifest(
        task="sentence_prediction",
        dataset="csv",
        splits={},
        max_seq_length=8,
        vocab_size=len(TOKENS),
        vocab_sha256="",
        sources={},
        seed=0,
        labels=list(labels),
        options={"problem": problem},
    )
    experiment = ExperimentConfig()
    experiment.train.class_weights = list(class_weights)
    return SentencePredictionTask(manifest, Vocab(TOKENS), experiment)


def _loss(task, outputs, labels):
    batch = {"label_ids": tf.constant(labels)}
    sums, weights = task.sums(tf.constant(outputs, tf.float32), batch), task.weights(batch)
    return float(sums["loss"] / weights["loss"])


def test_predictions_that_equal_the_targets_have_no_loss():
    targets = [[1.0], [2.5], [4.0]]
    assert _loss(_task("regression", ()), targets, targets) == 0.0
    assert _loss(_task("regression", ()), [[1.0], [2.5], [5.0]], targets) == pytest.approx(1 / 3)


def test_classes():
    assert _loss(_task("classification"), [[0.0, 0.0]] * 3, [[0], [1], [1]]) == pytest.approx(
        math.log(2)
    )
    loss = _loss(_task("classification"), [[0.0, math.log(3)]], [[1]])
    assert loss == pytest.approx(-math.log(3 / 4))


def test_class_weights_are_those_of_a_weighted_mean():
    weighted = _task("classification", class_weights=[1.0, 3.0])
    outputs = [[0.0, 0.0], [0.0, math.log(3)]]
    expected = (1 * math.log(2) + 3 * -math.log(3 / 4)) / 4
    assert _loss(weighted, outputs, [[0], [1]]) == pytest.approx(expected)
    with pytest.raises(
        InputError, match="class_weights has 3 numbers; the data has 2 labels: a, b"
    ):
        _task("classification", class_weights=[1.0, 1.0, 1.0])


def test_several_labels():
    loss = _loss(_task("multi_label"), [[0.0, math.log(3)]], [[0.0, 1.0]])
    assert loss == pytest.approx((math.log(2) - math.log(3 / 4)) / 2)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """33 training rows: a batch of 32 and one more."""
    rows = {"train": opinions(33), "dev": opinions(13), "test": opinions(7)}
    return prepare_table(tmp_path_factory.mktemp("opinions"), rows)


def _run(data, model_dir, *overrides):
    return Run(load_experiment([], [*SMALL, f"data.path={data}", *overrides]), str(model_dir))


def _trained(data, model_dir, *overrides):
    run = _run(data, model_dir, *overrides)
    return run, run.train(evaluate=True, skip_nonfinite=False)


def _encoder_weights(folder):
    """Name, such as layer_1/output/kernel -> value."""
    variables = load_pretrained(folder).encoder.variables
    return {variable.name.split("/", 1)[1]: variable.numpy() for variable in variables}


@pytest.mark.parametrize("batching", ["bucketed", "packed", "padded"])
def test_a_small_model_learns_the_first_word(data, tmp_path, batching):
    _, results = _trained(data, tmp_path / "m", "train.epochs=60", f"data.batching={batching}")
    assert results["accuracy"] == 1.0
    assert results["matthews_correlation"] == 1.0
    assert results["best_metric"] == "accuracy"


def test_a_left_to_right_model_learns_the_first_word(data, tmp_path):
    causal = "model.encoder.attention=causal"
    _, results = _trained(data, tmp_path / "m", "train.epochs=60", causal)
    assert results["accuracy"] == 1.0
    with pytest.raises(InputError, match="packed rows have no pooled output where attention is ca"):
        _trained(data, tmp_path / "p", "data.batching=packed", causal)


def test_predictions_are_in_order_and_the_same_for_the_same_seed(data, tmp_path):
    texts = []
    for name in ("a", "b"):
        run, _ = _trained(data, tmp_path / name, "train.epochs=3", "train.batch_size=8")
        table, picture = run.predict("test", str(tmp_path / name / "out"))
        assert table.name == "predictions.tsv" and picture.read_bytes()[1:4] == b"PNG"
        texts.append(table.read_text())
    assert texts[0] == texts[1]
    lines = [line.split("\t") for line in texts[0].splitlines()]
    assert lines[0] == ["id", "prediction", "probability_neg", "probability_pos"]
    assert [line[0] for line in lines[1:]] == [str(number) for number in range(7)]
    for _, prediction, negative, positive in lines[1:]:
        assert float(negative) + float(positive) == pytest.approx(1.0, abs=1e-5)
        assert prediction == ("neg" if float(negative) > float(positive) else "pos")


def test_one_row_trains(tmp_path):
    data = prepare_table(tmp_path, {"train": opinions(2)[:1], "dev": opinions(1)})
    _, results = _trained(data, tmp_path / "m", "train.steps=2")
    assert results["accuracy"] == 1.0


def test_numbers_are_learnt(tmp_path):
    rows = [{"text": word, "label": value} for word, value in (("good", 4), ("bad", 1))] * 16
    data = prepare_table(tmp_path, {"train": rows, "dev": rows[:2]}, problem="regression")
    run, results = _trained(data, tmp_path / "m", "train.epochs=100")
    assert results["pearson"] == pytest.approx(1.0)
    assert results["mean_squared_error"] < 0.1
    assert [path.name for path in run.predict("dev", str(tmp_path / "out"))] == ["predictions.tsv"]
    lines = (tmp_path / "out" / "predictions.tsv").read_text().splitlines()
    assert lines[0] == "id\tprediction"
    assert float(lines[1].split("\t")[1]) == pytest.approx(4.0, abs=0.5)


def test_rows_of_sts_b_train(tmp_path):
    given = settings("stsb", TESTDATA / "stsb", max_seq_length=16)
    write_folder(make_data_set(given), given, tmp_path / "data", num_shards=1, overwrite=False)
    _, before = _trained(tmp_path / "data", tmp_path / "a", "train.steps=1", "train.batch_size=3")
    _, after = _trained(tmp_path / "data", tmp_path / "b", "train.steps=60", "train.batch_size=3")
    assert after["loss"] < 0.5 * before["loss"]


def test_several_labels_are_learnt(tmp_path):
    rows = [
        {"text": "good film", "label": "film|good"},
        {"text": "good book", "label": "good"},
        {"text": "bad film", "label": "film"},
        {"text": "bad book", "label": ""},
    ] * 8
    data = prepare_table(tmp_path, {"train": rows, "dev": rows[:4]}, problem="multi_label")
    run, results = _trained(data, tmp_path / "m", "train.epochs=120")
    assert results["accuracy"] == results["micro_f1"] == 1.0
    run.predict("dev", str(tmp_path / "out"))
    lines = (tmp_path / "out" / "predictions.tsv").read_text().splitlines()
    assert [line.split("\t")[1] for line in lines[1:]] == ["film|good", "good", "film", ""]


def test_frozen_layers_stay_and_the_others_move(data, tmp_path):
    _trained(data, tmp_path / "before", "train.steps=1")
    pretrained = f"model.pretrained={tmp_path / 'before'}"
    _trained(data, tmp_path / "m", pretrained, "model.frozen_layers=1", "train.steps=3")
    before = _encoder_weights(tmp_path / "before")
    after = _encoder_weights(tmp_path / "m")
    moved = {name for name in before if not np.array_equal(before[name], after[name])}
    assert not any(name.startswith(("embeddings", "layer_0")) for name in moved)
    assert any(name.startswith("layer_1") for name in moved)
    with pytest.raises(InputError, match="model.frozen_layers is 5: the encoder has 2"):
        _trained(data, tmp_path / "o", "model.frozen_layers=5", "train.steps=1")


def test_training_ends_when_nothing_gets_better(data, tmp_path):
    overrides = (
        "train.epochs=200",
        "evaluation.every_steps=10",
        "evaluation.patience=3",
        "train.log_every_steps=10",
    )
    _trained(data, tmp_path / "m", *overrides)
    lines = (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()
    assert max(json.loads(line)["step"] for line in lines) < 200


def test_labels_out_of_range_are_named(data, tmp_path):
    manifest = Manifest.load(data)
    manifest.labels = ["neg"]
    folder = tmp_path / "data"
    folder.mkdir()
    for path in data.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    manifest.save(folder)
    with pytest.raises(InputError, match="'label_ids' holds 1, .* number of labels 1"):
        _trained(folder, tmp_path / "m", "train.steps=1")


def test_a_checkpoint_with_the_same_labels_keeps_its_head(data, tmp_path):
    _trained(data, tmp_path / "m", "train.steps=30")
    _trained(data, tmp_path / "n", f"model.pretrained={tmp_path / 'm'}", *STILL)
    before, after = (load_pretrained(tmp_path / name).model for name in ("m", "n"))
    assert before.classifier.kernel.shape == [16, 2]
    for name in ("kernel", "bias"):
        np.testing.assert_array_equal(
            getattr(after.classifier, name), getattr(before.classifier, name)
        )


@pytest.mark.parametrize("metric", ["loss", "accuracy"])
def test_the_best_model_is_the_best_by_the_chosen_metric(data, tmp_path, metric):
    chosen = f"evaluation.best_metric={metric}"
    _trained(data, tmp_path / "m", "train.steps=12", "evaluation.every_steps=2", chosen)
    lines = (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()
    values = [line[metric] for line in map(json.loads, lines) if line["split"] == "eval"]
    score = json.loads((tmp_path / "m" / "best" / "score.json").read_text())
    assert len(values) == 6
    assert score["value"] == (min if metric == "loss" else max)(values)


def test_training_goes_on_while_the_loss_still_falls(data, tmp_path):
    patient = ["evaluation.every_steps=2", "evaluation.patience=2", "train.steps=12"]
    _, results = _trained(data, tmp_path / "m", "evaluation.best_metric=loss", *patient)
    assert results["step"] > 4


def test_a_metric_that_the_task_has_not_is_named_before_anything_is_built(data, tmp_path):
    with pytest.raises(InputError, match="best_metric is 'f3': this task has loss, accuracy, "):
        _run(data, tmp_path / "m", "evaluation.best_metric=f3")


def test_a_layer_decay_with_scaled_losses(data, tmp_path):
    settings = ["runtime.precision=mixed_float16", "optimizer.layer_decay=0.5", "train.steps=2"]
    try:
        _, results = _trained(data, tmp_path / "m", *settings)
    finally:
        tf_keras.mixed_precision.set_global_policy("float32")
    assert math.isfinite(results["loss"])


def test_a_trained_model_needs_the_checkpoint_it_came_from_no_more(data, tmp_path):
    _trained(data, tmp_path / "before", "train.steps=2")
    pretrained = f"model.pretrained={tmp_path / 'before'}"
    _, results = _trained(data, tmp_path / "m", pretrained, "train.steps=2")
    shutil.rmtree(tmp_path / "before")
    again = Run.of_trained(tmp_path / "m").evaluate()
    assert again["loss"] == pytest.approx(results["loss"], rel=1e-6)
    assert Run.of_trained(tmp_path / "m").predict("test", tmp_path / "out")


def test_a_run_does_not_change_its_callers_config(data, tmp_path):
    experiment = load_experiment([], [*SMALL, f"data.path={data}", "train.steps=1"])
    before = experiment.as_dict()
    Run(experiment, tmp_path / "m").train(evaluate=False, skip_nonfinite=False)
    assert experiment.as_dict() == before


@pytest.mark.parametrize("override", ["model.add_bilstm=true", "model.pretrained_step=5"])
def test_what_is_done_with_a_checkpoint_needs_one(data, tmp_path, override):
    with pytest.raises(InputError, match="say what to do with a checkpoint: set model.pretrained"):
        _run(data, tmp_path / "m", override)


def test_a_bilstm_on_the_checkpoint_of_a_step_is_trained_and_reloaded(data, tmp_path):
    _trained(data, tmp_path / "m", "train.steps=2", "train.checkpoint_every_steps=1")
    _, results = _trained(
        data,
        tmp_path / "n",
        f"model.pretrained={tmp_path / 'm'}",
        "model.pretrained_step=1",
        "model.add_bilstm=true",
        "train.steps=3",
    )
    assert json.loads((tmp_path / "n" / "bert_config.json").read_text())["bilstm"] is True
    again = Run(load_experiment([tmp_path / "n" / "config.yaml"]), str(tmp_path / "n")).evaluate()
    assert again["loss"] == pytest.approx(results["loss"], rel=1e-5)
    first = tf.train.load_variable(
        str(tmp_path / "m" / "checkpoints" / "ckpt-1"),
        "model/encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE",
    )
    pretrained = [f"model.pretrained={tmp_path / 'm'}", "model.pretrained_step=1"]
    _trained(data, tmp_path / "o", *pretrained, *STILL)
    started = load_pretrained(tmp_path / "o").encoder.embeddings.word_embeddings
    np.testing.assert_array_equal(started, first)
