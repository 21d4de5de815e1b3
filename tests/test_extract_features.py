"""The command, from a file of lines to a file of features."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.public_data import ROOT
from tests.small_models import tiny_bundle, write_model_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    write_model_folder(folder / "model", tiny_bundle())
    write_model_folder(folder / "causal", tiny_bundle(attention="causal"))
    (folder / "text.txt").write_bytes(b"the capital\n\n  w1 ||| w2 \n" + b"w3 " * 100)
    (folder / "empty.txt").write_text("")
    (folder / "latin1.txt").write_bytes(b"the capital\n\nw1 \xff w2\n")
    return folder


def _run(folder, *flags):
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "official_bert.extract_features",
            f"--model_dir={folder}/model",
            f"--input_file={folder}/text.txt",
            *flags,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_lines_pairs_and_long_texts(folder):
    process = _run(folder, f"--output_file={folder}/a.jsonl", "--layers=-1,0", "--vectors=tokens")
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert [row["linex_index"] for row in rows] == [0, 1, 2, 3]
    tokens = [[feature["token"] for feature in row["features"]] for row in rows]
    assert tokens == [
        ["[CLS]", "the", "capital", "[SEP]"],
        ["[CLS]", "[SEP]"],
        ["[CLS]", "w1", "[SEP]", "w2", "[SEP]"],
        ["[CLS]", *["w3"] * 100, "[SEP]"],
    ]
    assert [layer["index"] for layer in rows[0]["features"][0]["layers"]] == [-1, 0]


def test_words_of_the_whole_file_in_arrays(folder):
    process = _run(
        folder,
        f"--output_file={folder}/a.npz",
        "--output_format=npz",
        "--layers=sum_all",
        "--vectors=words,mean",
    )
    assert process.returncode == 0, process.stderr
    arrays = np.load(folder / "a.npz")
    assert arrays["words_splits"].tolist() == [0, 2, 2, 4, 104]
    assert arrays["words_sum_all"].shape == (104, 16)
    assert arrays["mean_sum_all"].shape == (4, 16)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--input_file={folder}/nowhere"], "/nowhere: No such file or directory"),
        (["--input_file={folder}/empty.txt"], "empty.txt is empty: give a text a line"),
        (["--input_file={folder}/latin1.txt", "--layers=-1"], "latin1.txt, line 3: b'w1 "),
        (["--output_file={folder}/no/a"], "no such folder"),
        (["--layers=7"], "layer 7 is not there: the encoder has 2"),
        (["--layers="], "--layers=: give some, each once"),
        (["--layers=-1,-1"], "--layers=-1,-1: give some, each once"),
        (["--model_dir={folder}/causal", "--vectors=cls"], "its [CLS] sees nothing else and is"),
        (["--vectors=pieces"], "--vectors=pieces: it must be of tokens, words, cls, mean"),
    ],
)
def test_mistakes(folder, flags, message):
    before = sorted(folder.rglob("*"))
    flags = [flag.format(folder=folder) for flag in flags]
    process = _run(folder, f"--output_file={folder}/new.jsonl", *flags)
    assert process.returncode == 2, process.stderr
    assert message in process.stderr
    assert sorted(folder.rglob("*")) == before
