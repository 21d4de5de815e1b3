"""The command as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.public_data import ROOT
from tests.small_models import tiny_bundle, write_model_folder


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    return write_model_folder(tmp_path_factory.mktemp("model") / "m", tiny_bundle())


def run(*arguments, stdin=b""):
    command = [sys.executable, "-m", "official_bert.predict", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT)


def test_lines_of_text_get_readable_answers(model_dir):
    lines = "w1 [MASK] of [MASK]\n\n\x00w2 😀\n".encode()
    process = run(f"--model_dir={model_dir}", "--top_k=2", "--batch_size=2", stdin=lines)
    assert process.returncode == 0, process.stderr.decode()
    output = process.stdout.decode().split("\n")
    assert output[:2] == ["w1 [MASK] of [MASK]", "  mask 1"]
    assert [line.split()[0][:2] for line in output[2:4]] == ["0.", "0."]
    assert output[4] == "  mask 2"
    assert output[7:9] == ["", "  (no [MASK] in it)"]
    assert output[10] == "  (no [MASK] in it)"


def test_text_in_another_encoding_is_named_with_the_remedy(model_dir):
    process = run(f"--model_dir={model_dir}", stdin=b"w1 [MASK]\n\nw1 \xff [MASK]\n")
    assert process.returncode == 2
    message = process.stderr.decode()
    assert "error: standard input, line 3: b'w1 " in message
    assert "iconv -f WINDOWS-1252 -t UTF-8" in message


def test_pairs_from_a_file_to_json_lines(model_dir, tmp_path):
    (tmp_path / "in").write_text("the capital ||| of france\nw1\tw2\n")
    process = run(
        f"--model_dir={model_dir}",
        "--task=next_sentence",
        "--output_format=jsonl",
        f"--input_file={tmp_path / 'in'}",
        f"--output_file={tmp_path / 'out'}",
    )
    assert process.returncode == 0, process.stderr.decode()
    rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(row["text_a"], row["text_b"]) for row in rows] == [
        ("the capital", "of france"),
        ("w1", "w2"),
    ]
    assert all(0 < row["is_next_probability"] < 1 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of --model_dir, --saved_model and --litert"),
        (["--model_dir=a", "--saved_model=b"], "give one of --model_dir"),
        (["--model_dir=a", "--input_file=/no/such"], "/no/such"),
        (["--model_dir=a", "--output_file=/no/such/file"], "/no/such/file"),
        (["--model_dir=a", "--top_k=0"], "top_k"),
        (["--saved_model=/no/such"], "/no/such has no SavedModel"),
        (["--saved_model=/no/such", "--max_seq_length=8"], "--max_seq_length"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(arguments, message):
    process = run(*arguments)
    assert process.returncode == 2
    assert process.stderr.decode().startswith("error: ") and message in process.stderr.decode()
    assert process.stderr.decode().count("\n") == 1
