"""docs/add_a_task.md is run as it stands there: its files are written and its commands run."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

import pytest
import tensorflow as tf

from official_bert.training.optimization import make_optimizer
from tests.docs.pages import ROOT, blocks


class Outcome(NamedTuple):
    folder: pathlib.Path
    last_output: str


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> Outcome:
    """The folder that a reader has at the end, and what the last command printed."""
    folder = tmp_path_factory.mktemp("reader")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
    }
    output = ""
    for block in blocks((ROOT / "docs" / "add_a_task.md").read_text(encoding="utf-8")):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "shell":
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", block.text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr[-3000:]}"
            output = done.stdout
    return Outcome(folder, output)


def test_prepared_data_names_the_class_that_made_it(outcome):
    manifest = json.loads((outcome.folder / "data" / "manifest.json").read_text())
    assert manifest["task"] == "sentence_prediction"
    assert manifest["dataset"] == "my_package.reviews:Reviews"
    assert manifest["labels"] == ["1", "2", "3", "4", "5"]
    assert manifest["splits"]["train"]["num_records"] == 800
    assert manifest["splits"]["dev"]["num_records"] == 200
    assert manifest["statistics"] == {"truncated": 0}


def test_the_model_learned_and_the_one_with_the_smallest_error_was_kept(outcome):
    results = json.loads((outcome.folder / "model" / "eval_results.json").read_text())
    lines = (outcome.folder / "model" / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    errors = [row["mean_absolute_error"] for row in rows if row["split"] == "eval"]
    assert len(errors) == 4
    assert results["best_metric"] == "mean_absolute_error"
    assert results["mean_absolute_error"] == pytest.approx(min(errors), abs=1e-6)
    # Always three stars: 1.2.
    assert results["mean_absolute_error"] < 0.5
    assert results["accuracy"] > 0.5


def test_predictions_are_in_the_order_of_the_file(outcome):
    rows = (outcome.folder / "predicted" / "ratings.tsv").read_text().splitlines()
    given = (outcome.folder / "rows" / "dev.txt").read_text().splitlines()
    numbers, stars, texts = zip(*(row.split("\t") for row in rows), strict=True)
    assert numbers == tuple(str(number) for number in range(1, 201))
    assert [f"/5 {text}" for text in texts] == [line[1:] for line in given]
    results = json.loads((outcome.folder / "model" / "eval_results.json").read_text())
    wrong = [abs(int(a) - int(line[0])) for a, line in zip(stars, given, strict=True)]
    assert sum(wrong) / 200 == pytest.approx(results["mean_absolute_error"], abs=1e-6)


def test_the_export_answers_strings(outcome):
    answer = json.loads(outcome.last_output.splitlines()[-1])
    assert answer["text"] == "the case is superb. the sound is perfect. the cable is good."
    assert answer["label"] == "5"
    assert len(answer["probabilities"]) == 5
    assert sum(answer["probabilities"]) == pytest.approx(1.0, abs=1e-5)


def test_the_optimizer_steps_by_the_sign(outcome, monkeypatch):
    monkeypatch.syspath_prepend(outcome.folder)
    optimizer = make_optimizer(
        "my_package.lion:Lion",
        learning_rate=0.1,
        weight_decay=0.5,
        beta_1=0.9,
        beta_2=0.99,
        epsilon=1e-6,
        bias_correction=True,
    )
    kernel = tf.Variable([1.0, -1.0], name="kernel")
    bias = tf.Variable([1.0], name="bias")
    gradients = [tf.constant([0.3, 0.2]), tf.constant([-4.0])]
    optimizer.apply_gradients(zip(gradients, [kernel, bias], strict=True))
    # kernel - 0.1 * (1 + 0.5 * kernel); a bias does not decay.
    assert kernel.numpy() == pytest.approx([0.85, -1.05])
    assert bias.numpy() == pytest.approx([1.1])
