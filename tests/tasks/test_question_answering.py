"""Training, evaluation, prediction files and ensembles, on data that a small model can learn."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.checkpoints.load import load_pretrained
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.evaluation import squad
from official_bert.experiment import ExperimentConfig, load_experiment
from official_bert.inference.load import open_model
from official_bert.models.span_ensemble import SpanEnsemble
from official_bert.models.span_labeler import SpanLogits
from official_bert.runs.run import Run
from official_bert.runs.run_folder import RunFolder
from official_bert.tasks.question_answering import QuestionAnsweringTask
from official_bert.text import Vocab
from tests import finetuning_data
from tests.data_prep.finetuning.squad_json import question, write_squad
from tests.inference.spans import span_bundle
from tests.public_data import ROOT

COLOURS = [f"c{i}" for i in range(4)]
THINGS = [f"t{i}" for i in range(8)]
VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *COLOURS, *THINGS, "which", "?"])
LENGTH = 24


def _paragraph(rng, number):
    """ "t3 t0 c1 t5", of which "which?" asks for the colour; or no colour and no answer."""
    words = rng.choices(THINGS, k=rng.randrange(4, 40))
    if number % 2:
        return " ".join(words), [question(f"q{number}", "which?", impossible=True)]
    place = rng.randrange(len(words))
    colour = words[place] = rng.choice(COLOURS)
    start = sum(len(word) + 1 for word in words[:place])
    return " ".join(words), [question(f"q{number}", "which?", (colour, start), impossible=False)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Prepared data; contexts of up to three windows."""
    folder = tmp_path_factory.mktemp("squad")
    rng = random.Random(0)
    files = {
        split: write_squad(
            folder / f"{split}.json", *(_paragraph(rng, number) for number in range(count))
        )
        for split, count in (("train", 200), ("dev", 40))
    }
    settings = finetuning_data.settings(
        "squad_v2", files=files, max_seq_length=LENGTH, vocab=VOCAB,
        doc_stride=8, max_query_length=4, version_2_with_negative=None,
    )  # fmt: skip
    write_folder(make_data_set(settings), settings, folder / "data", num_shards=1, overwrite=False)
    return folder / "data"


def _train(data, folder, seed):
    experiment = load_experiment(
        [],
        [
            "task=question_answering",
            f"data.path={data}",
            "model.encoder.hidden_size=16",
            "model.encoder.num_hidden_layers=1",
            "model.encoder.num_attention_heads=2",
            "model.encoder.intermediate_size=32",
            f"model.encoder.max_position_embeddings={LENGTH}",
            "model.encoder.initializer_range=0.1",
            "model.encoder.hidden_dropout_prob=0.0",
            "model.encoder.attention_probs_dropout_prob=0.0",
            "optimizer.learning_rate=1e-2",
            "train.steps=60",
            "train.log_every_steps=60",
            f"train.seed={seed}",
        ],
    )
    Run(experiment, str(folder)).train(evaluate=True, skip_nonfinite=False)
    return folder


@pytest.fixture(scope="module")
def models(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [_train(data, folder / str(seed), seed) for seed in range(2)]


def _golds(data):
    rows = map(json.loads, (data / "dev.examples.jsonl").read_text().splitlines())
    return {row["id"]: [answer["text"] for answer in row["answers"]] for row in rows}


def test_a_model_learns_to_find_answers_and_to_give_none(data, models):
    results = RunFolder(models[0]).results()
    assert results["f1"] > 80 and results["HasAns_f1"] > 80
    assert results["f1"] == pytest.approx(results["best_f1"])
    assert results["null_threshold"] > results["best_f1_thresh"]
    assert {"exact_match", "NoAns_exact", "best_exact_thresh"} <= set(results)
    assert RunFolder(models[0]).task_options()["doc_stride"] == 8


def test_prediction_files_score_as_evaluation_says(data, models, tmp_path):
    experiment = RunFolder(models[0]).experiment()
    paths = Run(experiment, str(models[0])).predict("dev", str(tmp_path / "out"))
    assert [path.name for path in paths] == [
        "predictions.json", "nbest_predictions.json", "null_odds.json"
    ]  # fmt: skip
    predictions, nbest, odds = (json.loads(path.read_text()) for path in paths)
    golds, results = _golds(data), RunFolder(models[0]).results()
    assert list(predictions) == list(golds)
    scores = squad.evaluate_v2(golds, predictions)
    assert scores["f1"] == pytest.approx(results["f1"])
    best = {q: next((e["text"] for e in nbest[q] if e["text"]), "") for q in golds}
    assert squad.evaluate_v2(golds, best, odds)["best_f1"] == pytest.approx(results["best_f1"])
    for entries in nbest.values():
        assert sum(entry["probability"] for entry in entries) == pytest.approx(1.0)
        assert set(entries[0]) == {"text", "probability", "start_logit", "end_logit"}


def test_serving_gives_the_predictions_of_evaluation(data, models, tmp_path):
    paths = Run(RunFolder(models[0]).experiment(), str(models[0])).predict("dev", str(tmp_path))
    predictions = json.loads(paths[0].read_text())
    opened = open_model(models[0])
    assert opened.options.max_seq_length == LENGTH
    rows = [json.loads(line) for line in (data / "dev.examples.jsonl").open()]
    answers = opened.modules["question_answering"].answer(
        {name: tf.constant([row[name] for row in rows]) for name in ("question", "context")}
    )
    given = [text.decode() for text in answers["answer"].numpy()]
    assert given == [predictions[row["id"]] for row in rows]


def test_two_models_answer_together(data, models, tmp_path):
    run = Run(RunFolder(models[0]).experiment(), str(models[0]))
    paths = run.predict("dev", str(tmp_path), others=[str(models[1])])
    nbest = json.loads(paths[1].read_text())
    logits = [bundle.model for bundle in map(load_pretrained, models)]
    ensemble = SpanEnsemble(logits)
    inputs = {name: np.ones((1, 5), np.int32) for name in QuestionAnsweringTask.model_inputs}
    for mean, *parts in zip(ensemble(inputs), *(model(inputs) for model in logits), strict=True):
        np.testing.assert_allclose(mean, (parts[0] + parts[1]) / 2, atol=1e-6)
    opened = open_model(models[0], others=[models[1]])
    thresholds = [RunFolder(folder).results()["null_threshold"] for folder in models]
    assert opened.options.task_options["null_threshold"] == pytest.approx(np.mean(thresholds))
    row = json.loads((data / "dev.examples.jsonl").open().readline())
    answer = opened.modules["question_answering"].answer(
        {name: tf.constant([row[name]]) for name in ("question", "context")}
    )
    best = next(entry for entry in nbest[row["id"]] if entry["text"])
    assert answer["nbest_answer"].numpy()[0, 0].decode() == best["text"]
    assert answer["nbest_score"].numpy()[0, 0] == pytest.approx(best["probability"], abs=1e-4)


def test_evaluation_of_another_split_keeps_the_threshold(data, models, tmp_path):
    threshold = RunFolder(models[1]).results()["null_threshold"]
    experiment = RunFolder(models[1]).experiment()
    results = Run(experiment, str(models[1])).evaluate()
    assert results["null_threshold"] == threshold
    assert results["f1"] == pytest.approx(results["best_f1"])


def _predict(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "official_bert.predict", *arguments],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip


def test_the_command_answers_a_question_on_a_file(models, tmp_path):
    (tmp_path / "text.txt").write_text("t1 t2 t3\n" * 50 + "t1 c3 t2\n" + "t1 t2\n" * 50)
    process = _predict(
        f"--model_dir={models[0]},{models[1]}",
        "--question=which?",
        f"--context_file={tmp_path / 'text.txt'}",
        "--top_k=1",
    )
    assert process.returncode == 0, process.stderr
    asked, answer = process.stdout.splitlines()
    assert asked == "which?"
    assert re.fullmatch(r"  0\.\d{4}  c3  \(characters 453-455\)", answer)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--question=who?"], "--question and --context_file go together"),
        (
            ["--question=?", "--context_file=nowhere.txt"],
            "cannot read nowhere.txt: No such file",
        ),
    ],
)
def test_mistakes_of_the_command(flags, message, tmp_path):
    process = _predict(f"--model_dir={tmp_path}", *flags)
    assert process.returncode == 2 and message in process.stderr


def _task(v2=False, **options):
    manifest = Manifest(
        task="question_answering", dataset="squad_v1", splits={}, max_seq_length=8, vocab_size=9,
        vocab_sha256="", sources={}, seed=0, options={"version_2_with_negative": v2, **options},
    )  # fmt: skip
    return QuestionAnsweringTask(manifest, VOCAB, ExperimentConfig())


def test_the_loss_written_out():
    """The mean of both log-likelihoods, among [CLS] and the context."""
    start, end = [[0.0, 9.0, 1.0, 2.0, 9.0]], [[1.0, 9.0, 0.0, 0.5, 9.0]]
    batch = {
        "input_mask": tf.constant([[1, 1, 1, 1, 0]]),
        "paragraph_mask": tf.constant([[1, 0, 1, 1, 0]]),
        "start_positions": tf.constant([[2]]),
        "end_positions": tf.constant([[3]]),
    }
    outputs = SpanLogits(tf.constant(start), tf.constant(end))
    task = _task()
    by_hand = -0.5 * (
        (1.0 - math.log(sum(map(math.exp, (0.0, 1.0, 2.0)))))
        + (0.5 - math.log(sum(map(math.exp, (1.0, 0.0, 0.5)))))
    )
    assert task.sums(outputs, batch)["loss"].numpy() == pytest.approx(by_hand, rel=1e-6)
    assert task.weights(batch)["loss"].numpy() == 1.0
    # Records of google-research/bert: among all tokens that are no padding.
    del batch["paragraph_mask"]
    by_hand = -0.5 * (
        (1.0 - math.log(sum(map(math.exp, (0.0, 9.0, 1.0, 2.0)))))
        + (0.5 - math.log(sum(map(math.exp, (1.0, 9.0, 0.0, 0.5)))))
    )
    assert task.sums(outputs, batch)["loss"].numpy() == pytest.approx(by_hand, rel=1e-6)
    with pytest.raises(InputError, match="do not say where their tokens stand"):
        task.collect(outputs, batch)


def test_a_span_head_goes_on_from_its_checkpoint():
    bundle = span_bundle()
    task = _task()
    assert task.make_model(bundle.config, bundle) is bundle.model
    encoder = dataclasses.replace(bundle, kind="encoder", model=bundle.encoder)
    assert task.make_model(bundle.config, encoder).encoder is bundle.encoder
    with pytest.raises(InputError, match="cannot be one of an ensemble"):
        task.ensemble([bundle.model, bundle.encoder])


def test_questions_without_gold_answers_are_not_scored():
    window = {
        "unique_id": np.int32(0), "example_index": np.int32(0),
        "starts": np.zeros(40, np.int32), "ends": np.full(40, 2, np.int32),
        "start_logits": np.ones(40, np.float32), "end_logits": np.ones(40, np.float32),
        "null_start_logits": np.float32(0), "null_end_logits": np.float32(0),
    }  # fmt: skip
    row = {"id": "q", "context": "c1", "answers": [], "is_impossible": False}
    assert _task().results({}, [window], lambda: iter([row])) == {}
    row["answers"] = [{"text": "c1", "answer_start": 0}]
    scores = _task().results({"loss": 1.0}, [window], lambda: iter([row]))
    assert scores == {"loss": 1.0, "exact_match": 100.0, "f1": 100.0}
