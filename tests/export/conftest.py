"""One export for all tests: it was moved, and the model it came from deleted."""

from __future__ import annotations

import shutil

import pytest
import tensorflow as tf

from export import saving
from tests.inference.tiny import tiny_bundle, write_model_folder


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The folder of the versions."""
    folder = tmp_path_factory.mktemp("export")
    model_dir = write_model_folder(folder / "model", tiny_bundle())
    written = saving.export_savedmodel(
        model_dir, folder / "first", candidates=3, model_name="tiny", concat_last_four=True
    )
    assert written == folder / "first" / "1"
    shutil.rmtree(model_dir)
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="session")
def signatures(exported):
    """The signatures of the loaded export."""
    loaded = tf.saved_model.load(str(exported / "1"))
    functions = {name: loaded.signatures[name] for name in loaded.signatures}
    functions["keep alive"] = loaded  # the variables live as long as this does
    return functions
