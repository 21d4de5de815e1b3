"""Grids, their report, and a small one run for real, stopped and gone on with."""

import subprocess
import sys

import numpy as np
import pytest

from official_bert.ablation import report
from official_bert.ablation.grid import load_grid
from official_bert.ablation.runs import run_folder
from official_bert.errors import InputError
from tests.finetuning_data import opinions, prepare_table
from tests.public_data import ROOT
from tests.tasks.test_sentence_prediction import SMALL


def _grid(tmp_path, text):
    path = tmp_path / "grid.yaml"
    path.write_text(text)
    return load_grid(path)


def test_every_variant_with_every_value(tmp_path):
    grid = _grid(
        tmp_path,
        "variants:\n  all: {}\n  top: {model.frozen_layers: 1}\n"
        "grid:\n  optimizer.learning_rate: [0.1, 0.2]\n  train.batch_size: [8]\nseeds: [3, 4]\n",
    )
    assert grid.seeds == (3, 4)
    assert [setting.name for setting in grid.settings] == [
        "all, learning_rate=0.1, batch_size=8",
        "all, learning_rate=0.2, batch_size=8",
        "top, learning_rate=0.1, batch_size=8",
        "top, learning_rate=0.2, batch_size=8",
    ]
    assert grid.settings[3].overrides == {
        "model.frozen_layers": 1,
        "optimizer.learning_rate": 0.2,
        "train.batch_size": 8,
    }
    folder = run_folder(tmp_path, grid.settings[0], 3)
    assert folder.name == "all_learning_rate=0.1_batch_size=8_seed=3"


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        (
            "variants: {a: {}, b: {}}\ngrid: {model.pretrained_step: [1, 2]}",
            "model.pretrained_step",
        ),
        ("grid: {optimizer.learning_rate: [1.0e-5, 2.0e-5]}", "optimizer.learning_rate"),
        ("grid: {train.epochs: [2.0, 3.0], train.batch_size: [8, 16]}", None),  # two numbers
        ("grid: {data.path: [a, b]}", None),
        ("grid: {train.batch_size: [8]}", None),
        ("grid: {optimizer.bias_correction: [true, false]}", None),
        ("seeds: [1, 2]", None),
    ],
)
def test_scores_are_drawn_over_the_only_field_of_numbers(tmp_path, text, axis):
    assert _grid(tmp_path, text).axis == axis


def test_nothing_but_seeds(tmp_path):
    grid = _grid(tmp_path, "seeds: [1]\n")
    assert [(setting.name, setting.overrides) for setting in grid.settings] == [("base", {})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "must hold variants, grid and seeds"),
        ("grid: {train.batch_size: 8}", "a field and a list of values"),
        ("variants: {a: 1}", "a name and"),
        ("seeds: [x]", "list of whole numbers"),
        ("grid: {train.seed: [1]}", "under seeds"),
        ("a: [", "is not YAML"),
        ("", "grid.yaml is empty"),
        ("[1]", "must hold sections with keys"),
        ("variants: [a]", "each of variants is a name and"),
        ("variants: {a: {1: 2}}", "1 is no field: write section.key"),
        ("grid: 5", "each of grid is a field and a list of values"),
        ("grid: {train: [{seed: 1}]}", "'train' is no field: write section.key"),
        ("grid: {train.batch_size: []}", "a field and a list of values"),
        ("seeds: 3", "list of whole numbers"),
        ("seeds: [true]", "list of whole numbers"),
        ("seeds: [1]\nseeds: [2]", "line 2: the key 'seeds' stands twice, first in line 1"),
        ("seeds: !!python/object:os.system {}", "line 1: the tag"),
        (
            "grid: {"
            + ", ".join(f"a.b{i}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" for i in range(12))
            + "}",
            "makes 1,000,000,000,000 runs, above 10,000: leave values out",
        ),
    ],
)
def test_a_wrong_grid_is_told(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        _grid(tmp_path, text)


def test_the_report_has_means_and_spreads(tmp_path):
    lines = [report.Line("a", {1: 0.5, 2: 0.7}), report.Line("b", {1: 0.65})]
    table, picture = report.write_report(lines, "f1", tmp_path)
    assert table.read_text() == (
        "setting\tmean_f1\tspread\tseed_1\tseed_2\n"
        "a\t0.6000\t0.1414\t0.5000\t0.7000\n"
        "b\t0.6500\t0.0000\t0.6500\t\n"
    )
    assert picture.read_bytes()[1:4] == b"PNG"
    assert report.best(lines, lower=False).name == "b"
    assert report.best(lines, lower=True).name == "a"


def test_curves_over_an_axis_join_the_means_in_its_order():
    lines = [
        report.Line("a, step=20", {1: 0.5, 2: 0.7}, "a", 20),
        report.Line("b, step=10", {1: 0.4}, "b", 10),
        report.Line("a, step=10", {1: 0.3, 2: 0.5}, "a", 10),
    ]
    (axes,) = report.draw(lines, "f1", "model.pretrained_step").axes
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["a", "b"]
    curves = [handle.lines[0].get_xydata().tolist() for handle in handles]
    np.testing.assert_allclose(curves[0], [[10, 0.4], [20, 0.6]])
    np.testing.assert_allclose(curves[1], [[10, 0.4]])
    assert axes.get_xlabel() == "model.pretrained_step"


def test_a_grid_is_run_and_gone_on_with(tmp_path):
    data = prepare_table(tmp_path, {"train": opinions(16), "dev": opinions(4)})
    (tmp_path / "grid.yaml").write_text("grid: {train.batch_size: [4, 8]}\n")
    command = (
        sys.executable,
        "-m",
        "official_bert.ablate",
        f"--params_override={','.join(SMALL)}",
        f"--params_override=data.path={data},train.steps=2",
        f"--grid_file={tmp_path / 'grid.yaml'}",
        f"--output_dir={tmp_path / 'out'}",
    )
    first = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("setting\tmean_accuracy\tspread\tseed_0\nbatch_size=4\t")
    checkpoints = sorted((tmp_path / "out" / "runs").rglob("*.index"))
    times = [path.stat().st_mtime_ns for path in checkpoints]
    second = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert second.stdout == first.stdout
    assert [path.stat().st_mtime_ns for path in checkpoints] == times
