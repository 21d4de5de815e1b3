"""A model folder that is gone on with."""

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
