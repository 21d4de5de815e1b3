"""What every command has in common: help at once, one clear line for a user's mistake."""

import subprocess
import sys

import pytest

from tests.prepared_data import write_pretraining_data
from tests.public_data import ROOT

COMMANDS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("official_bert", "data_prep", "export")
    for path in (ROOT / package).rglob("*.py")
    if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
)

_HELP = """
import runpy, sys
sys.argv = [sys.argv[1], "--help"]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as end:
    assert end.code == 0, end.code
slow = {"tensorflow", "tf_keras", "torch", "matplotlib", "scipy"} & set(sys.modules)
assert not slow, f"--help loads {slow}"
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_comes_before_tensorflow(command):
    process = subprocess.run(
        [sys.executable, "-c", _HELP, command], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    assert "flags" in process.stdout
    # The module's own text, which says what the command does and shows one that works.
    assert f"python -m {command}" in process.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A vocabulary, texts, a config and prepared data, good ones and bad ones."""
    folder = tmp_path_factory.mktemp("bad_input")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    (folder / "no_mask.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n")
    (folder / "text.txt").write_text("a b\na a b\n\nb a\nb b a\n")
    (folder / "empty.txt").write_text("\n\n")
    (folder / "unknown_key.yaml").write_text("train: {batchsize: 8}\n")
    write_pretraining_data(folder / "data")
    return folder


_PREPARE = (
    "data_prep.create_pretraining_data",
    "--input_file={folder}/text.txt",
    "--vocab_file={folder}/vocab.txt",
    "--output_dir={folder}/new",
)
_TRAIN = (
    "official_bert.train",
    "--params_override=data.path={folder}/data",
    "--model_dir={folder}/model",
)

BAD_INPUT = {
    "a missing file": (
        (*_PREPARE, "--input_file={folder}/nowhere.txt"),
        "nowhere.txt",
    ),
    "an empty corpus": ((*_PREPARE, "--input_file={folder}/empty.txt"), "empty.txt has no text"),
    "an output folder that is there": (
        (*_PREPARE, "--output_dir={folder}/data"),
        "--overwrite",
    ),
    "a vocabulary without [MASK]": (
        (*_PREPARE, "--vocab_file={folder}/no_mask.txt"),
        "no_mask.txt: the vocabulary lacks [MASK]",
    ),
    "an unknown config key": (
        (*_TRAIN, "--config_file={folder}/unknown_key.yaml"),
        "unknown key train.batchsize; did you mean train.batch_size?",
    ),
    "several config files in a flag": (
        (*_TRAIN, "--config_file={folder}/unknown_key.yaml,{folder}/nowhere.yaml"),
        "unknown_key.yaml: unknown key train.batchsize",
    ),
    "a sequence above max_position_embeddings": (
        (*_TRAIN, "--params_override=model.encoder.max_position_embeddings=8"),
        "sequences of 16 tokens, above model.encoder.max_position_embeddings 8",
    ),
    "prepared data that is not there": (
        (*_TRAIN, "--params_override=data.path={folder}/nowhere"),
        "nowhere is not prepared data",
    ),
    "an unknown flag": ((*_TRAIN, "--modeldir=x"), "modeldir"),
    "a missing flag": (("official_bert.train",), "--model_dir"),
    "a word without dashes": ((*_TRAIN, "now"), "unexpected argument 'now'"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_a_mistake_gives_one_line_and_status_2(folder, case):
    before = sorted(folder.rglob("*"))
    (module, *flags), expected = BAD_INPUT[case]
    process = subprocess.run(
        [sys.executable, "-m", module, *(flag.format(folder=folder) for flag in flags)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2, process.stderr
    lines = [line for line in process.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, process.stderr
    assert expected in lines[0]
    assert "Traceback" not in process.stderr
    assert sorted(folder.rglob("*")) == before, "something was left behind"
