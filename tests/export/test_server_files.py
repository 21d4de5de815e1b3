"""What stands beside the versions: configs of the server, and the command that starts it."""

from __future__ import annotations

import csv
import os
import subprocess

import pytest

from export.server_files import write_server_files
from official_bert.inference.export_info import ExportInfo

TEXT, CHOICES = ["string", [None]], ["string", [None, None]]


def _info(**inputs):
    return ExportInfo(
        task="",
        answers=["answer"],
        options={},
        precision="float32",
        config_sha256="",
        vocab_sha256="",
        metrics={},
        signatures={"serving_default": {"inputs": inputs, "outputs": {}}},
        versions={},
        least_tensorflow_serving="2.10",
    )


@pytest.mark.parametrize(
    "name",
    ["plain", "with space", "a,b", "a'b", 'a"b', "a$HOME`b`", "a\\b", "-n", "a:b", "é", "a=b,c=d"],
)
def test_any_folder_is_mounted(tmp_path, name):
    folder = tmp_path / name / "served"
    folder.mkdir(parents=True)
    write_server_files(folder, "tiny", _info(text=TEXT))
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    docker.chmod(0o755)
    environment = {**os.environ, "PATH": f"{docker.parent}:{os.environ['PATH']}", "CDPATH": "/"}
    output = subprocess.run(
        ["sh", "served/serve.sh"],
        cwd=folder.parent,
        env=environment,
        capture_output=True,
        check=True,
    ).stdout
    arguments = output.decode().split("\0")
    (fields,) = csv.reader([arguments[arguments.index("--mount") + 1]])  # As Docker reads it.
    assert fields == ["type=bind", f"source={folder}", "target=/models/tiny", "readonly"]
    assert "--batching_parameters_file=/models/tiny/batching.config" in arguments


def test_rows_of_choices_are_not_joined(tmp_path):
    """A server lets all of a batch fail in which rows have other numbers of choices."""
    write_server_files(tmp_path, "tiny", _info(prompt=TEXT, choices=CHOICES))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.config", "serve.sh"]
    command = (tmp_path / "serve.sh").read_text()
    assert "batching" not in command
    assert '"instances": [{"prompt": "some text", "choices": ["some text", "another"]}]' in command
    subprocess.run(["sh", "-n", tmp_path / "serve.sh"], check=True)


def test_files_that_are_there_stay(tmp_path):
    (tmp_path / "batching.config").write_text("mine")
    write_server_files(tmp_path, "tiny", _info(text=TEXT))
    assert (tmp_path / "batching.config").read_text() == "mine"
    assert (tmp_path / "serve.sh").stat().st_mode & 0o111
