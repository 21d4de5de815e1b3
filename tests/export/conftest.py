"""What the tests of exports share: processes to verify in, and one export.

The export was moved, and the model it came from deleted.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest
import tensorflow as tf

from export import fresh_process, saving
from official_bert.data.manifest import Manifest
from tests.small_models import MAX_POSITIONS, TOKENS, tiny_bundle, write_model_folder


@pytest.fixture(scope="package", autouse=True)
def warm_processes():
    """Exports are verified in forks of one process; the strangers of test_task_exports are new."""
    script = pathlib.Path(__file__).with_name("warm_process.py")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = pathlib.Path(folder, "socket")
        server = subprocess.Popen([sys.executable, "-I", script, "serve", path])
        while not path.exists() and server.poll() is None:
            time.sleep(0.1)

        def command(*arguments):
            return [sys.executable, "-I", "-S", script, "ask", path, *map(str, arguments)]

        patch.setattr(fresh_process, "command", command)
        yield
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The folder of the versions."""
    folder = tmp_path_factory.mktemp("export")
    model_dir = write_model_folder(folder / "model", tiny_bundle())
    prepared = Manifest(
        task="pretraining",
        dataset="",
        splits={},
        max_seq_length=MAX_POSITIONS,
        vocab_size=len(TOKENS),
        vocab_sha256=tiny_bundle().vocab.sha256,
        sources={str(folder / "corpus.txt"): ""},
        seed=1,
        options={"vocab_file": str(folder / "vocab.txt"), "objective": "bert"},
    )
    prepared.save(model_dir)
    (model_dir / "manifest.json").rename(model_dir / "prepared_data.json")
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
