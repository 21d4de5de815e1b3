"""What a model folder says about itself, wrong in each way: one line, or read rightly."""

import json
import math

import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.inference.base import AnswerOptions
from official_bert.model_folder import ModelFolder
from official_bert.training.checkpointing import BestModel
from official_bert.training.run_log import read_metrics

BIG = "9" * 5000
NOT_OBJECTS = ["", "{", "[]", "null", "7", '"text"', "\ufeff{}", "[" * 100_000]


@pytest.mark.parametrize("text", [*NOT_OBJECTS, f'{{"step": {BIG}}}', '{"f1": 1, "f1": 2}'])
@pytest.mark.parametrize("name", ["eval_results.json", "prepared_data.json"])
def test_a_file_that_is_no_json_object(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    folder = ModelFolder(tmp_path)
    with pytest.raises(InputError, match=name):
        folder.results() if name == "eval_results.json" else folder.task_options()


@pytest.mark.parametrize(
    "values",
    [
        {"f1": []},
        {"f1": {}},
        {"f1": True},
        {"step": "7", "f1": 1.0},
        {"step": -1, "f1": 1.0},
        {"step": 1.5, "f1": 1.0},
        {"step": None, "f1": 1.0},
        {"total_steps": [3]},
        {"total_steps": True},
        {"total_steps": "many"},
    ],
)
def test_results_that_are_no_metrics(tmp_path, values):
    (tmp_path / "eval_results.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="eval_results.json: .* it must be a"):
        ModelFolder(tmp_path).results()


def test_what_is_no_number_is_null_in_the_file_and_nan_when_read(tmp_path):
    folder = ModelFolder(tmp_path)
    folder.write_results({"loss": math.nan, "best_metric": "loss", "step": 3})
    assert json.loads((tmp_path / "eval_results.json").read_text())["loss"] is None
    results = folder.results()
    assert math.isnan(results["loss"]) and results["step"] == 3


def test_results_of_an_earlier_version_may_have_nan_in_them(tmp_path):
    (tmp_path / "eval_results.json").write_text('{"pearson": NaN, "loss": Infinity}')
    results = ModelFolder(tmp_path).results()
    assert math.isnan(results["pearson"]) and results["loss"] == math.inf


@pytest.mark.parametrize("options", [None, [], "x", 3, True])
def test_options_that_are_no_object(tmp_path, options):
    (tmp_path / "prepared_data.json").write_text(json.dumps({"options": options}))
    with pytest.raises(InputError, match="prepared_data.json: options is .* it must be an object"):
        ModelFolder(tmp_path).task_options()


GOOD = {"metric": "f1", "value": 0.5, "step": 3, "metrics": {"f1": 0.5}}


@pytest.mark.parametrize(
    "change",
    [
        {"metric": None},
        {"metric": 3},
        {"step": "3"},
        {"step": 3.5},
        {"step": True},
        {"step": None},
        {"metrics": None},
        {"metrics": []},
        {"metrics": {"f1": "high"}},
        {"metrics": {"f1": [1.0]}},
    ],
)
def test_a_score_that_is_none(tmp_path, change):
    folder = tmp_path / "best"
    folder.mkdir()
    (folder / "score.json").write_text(json.dumps({**GOOD, **change}))
    best = BestModel(tmp_path, tf.Module(), metric="f1", is_better=lambda a, b: a > b)
    with pytest.raises(InputError, match="score.json is .* it must have metric, value, step"):
        best.score()


@pytest.mark.parametrize("text", NOT_OBJECTS)
def test_a_score_that_is_no_json_object(tmp_path, text):
    folder = tmp_path / "best"
    folder.mkdir()
    (folder / "score.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="score.json"):
        BestModel(tmp_path, tf.Module(), metric="f1", is_better=lambda a, b: a > b).score()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        '"step"',
        "{}",
        '{"step": 1}',
        '{"split": "eval"}',
        '{"step": "1", "split": "eval"}',
        '{"step": 1, "split": 2}',
        '{"step": 1, "split": "eval", "f1": "high"}',
        '{"step": 1, "split": "eval", "f1": []}',
        "[" * 100_000,
        "\xff",
    ],
)
def test_a_broken_line_of_metrics_is_named(tmp_path, line):
    good = b'{"step": 1, "split": "eval", "f1": 0.5}\n'
    (tmp_path / "metrics.jsonl").write_bytes(good + line.encode("latin-1") + b"\n" + good)
    with pytest.raises(InputError, match="metrics.jsonl, line 2: this is no line of metrics"):
        read_metrics(tmp_path)


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "split": "eval", "f1": null}\n{"st')
    (line,) = read_metrics(tmp_path)
    assert line["step"] == 1 and math.isnan(line["f1"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("problem", "guessing"),
        ("problem", ["classification"]),
        ("text_inputs", "text"),
        ("text_inputs", []),
        ("text_inputs", ["text", "text"]),
        ("text_inputs", ["a", "b", "c"]),
        ("text_inputs", [["a"]]),
        ("text_inputs", ["a b"]),
        ("doc_stride", 0),
        ("doc_stride", 2.5),
        ("doc_stride", 10**30),
        ("max_query_length", "64"),
        ("version_2_with_negative", 1),
        ("null_threshold", "0.5"),
        ("null_threshold", None),
    ],
)
def test_an_option_of_the_data_that_answers_cannot_use(name, value):
    with pytest.raises(InputError, match=f"the model's option {name} is .* it must be"):
        AnswerOptions(max_seq_length=16, task_options={name: value})
