"""A model folder that is gone on with."""

import json
import shutil

import pytest

from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import load_experiment
from official_bert.model_folder import CONFIG_NAME
from official_bert.runs.run_folder import RunFolder
from tests.prepared_data import write_pretraining_data
from tests.small_models import TINY


def test_a_run_that_is_older_than_a_field_goes_on(tmp_path):
    data = write_pretraining_data(tmp_path / "data", train=1, dev=1, shards=1)
    folder, manifest = RunFolder(tmp_path / "model"), Manifest.load(data)
    folder.prepare(load_experiment([]), TINY, manifest, data)
    path = folder.path / CONFIG_NAME
    older = path.read_text().replace("  add_bilstm: false\n", "")
    assert older != path.read_text()
    path.write_text(older)
    folder.prepare(load_experiment([]), TINY, manifest, data)
    assert "add_bilstm: false" in path.read_text()
    with pytest.raises(InputError, match="holds a run with train.seed 0, now it is 5"):
        folder.prepare(load_experiment([], ["train.seed=5"]), TINY, manifest, data)


def _change(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_data_may_move_but_not_change(tmp_path):
    first = write_pretraining_data(tmp_path / "first", train=2, dev=1, shards=1)
    second = shutil.copytree(first, tmp_path / "second")
    folder = RunFolder(tmp_path / "model")

    def prepare(first, second, *overrides):
        paths = [f"data.path={first}", f"second_phase.path={second}", "train.steps=9", *overrides]
        experiment = load_experiment([], paths)
        folder.prepare(experiment, TINY, Manifest.load(first), first, second_dir=second)

    prepare(first, second)
    moved = [path.rename(tmp_path / f"{path.name}-moved") for path in (first, second)]
    _change(moved[0], lambda manifest: manifest.update(version="later", statistics={"padding": 0}))
    prepare(*moved)
    assert f"path: {moved[1]}" in (folder.path / CONFIG_NAME).read_text()
    with pytest.raises(InputError, match="holds a run with train.seed 0, now it is 5"):
        prepare(*moved, "train.seed=5")

    _change(moved[1], lambda manifest: manifest["splits"]["train"].update(num_records=3))
    with pytest.raises(
        InputError,
        match="holds a run on other data: splits.train.num_records 2, and .*second-moved has 3: ",
    ):
        prepare(*moved)
    _change(moved[1], lambda manifest: manifest["splits"]["train"].update(num_records=2))
    _change(moved[0], lambda manifest: manifest.update(seed=99))
    with pytest.raises(InputError, match="other data: seed .*, and .*first-moved has 99: "):
        prepare(*moved)
