"""The commands in the headers of configs and in documentation: they can be pasted as they are."""

import functools
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from official_bert.ablation.grid import load_grid
from official_bert.experiment import config_files, load_experiment
from tests.public_data import ROOT

CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
PAGES = [
    ROOT / "README.md",
    ROOT / "data_prep" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
_TAKES_CONFIGS = ("official_bert.train", "official_bert.ablate")


def commands(path: pathlib.Path) -> list[tuple[str, list[str]]]:
    """(module, arguments) of each `python -m` of this project."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        text = "\n".join(line[1:] for line in text.splitlines() if line.startswith("#"))
    text = re.sub(r"\\\n\s*", "", text)
    found = re.findall(r"python -m ((?:official_bert|data_prep|export)[\w.]*)([^|\n`]*)", text)
    return [(module, shlex.split(rest, comments=True)) for module, rest in found]


@functools.cache
def flags_of(module: str) -> set[str]:
    """The flags that `--help` of a command lists; there is such a command."""
    text = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {"help", *re.findall(r"^ +--(?:\[no\])?(\w+):", text, re.MULTILINE)}


def values(arguments: list[str], flag: str) -> list[str]:
    return [a.split("=", 1)[1] for a in arguments if a.startswith(f"--{flag}=")]


def test_a_command_is_found_with_all_of_its_lines():
    path = ROOT / "configs" / "encoders" / "base.yaml"
    assert commands(path) == [
        (
            "official_bert.train",
            [
                "--config_file=configs/pretraining/base.yaml",
                "--config_file=configs/encoders/base.yaml",
                "--params_override=data.path=DATA",
                "--model_dir=MODEL",
            ],
        )
    ]
    assert len(commands(ROOT / "README.md")) > 30


@pytest.mark.parametrize("path", [*CONFIGS, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_has_its_module_its_flags_and_configs_that_load_together(path):
    found = commands(path)
    assert found or path.name == "quickstart.yaml" or path in PAGES
    for module, arguments in found:
        known = flags_of(module)
        for argument in arguments:
            if argument.startswith("--"):
                name = argument[2:].split("=")[0]
                assert name in known or name.removeprefix("no") in known, (module, argument)
        if module in _TAKES_CONFIGS:
            _check_configs(arguments)


def _check_configs(arguments: list[str]) -> None:
    overrides = values(arguments, "params_override")
    # Of other names, such as my.yaml, the reader has the file.
    files = [
        ROOT / name
        for name in config_files(values(arguments, "config_file"))
        if name.startswith("configs/")
    ]
    load_experiment(files, overrides)
    for grid in values(arguments, "grid_file"):
        for setting in load_grid(ROOT / grid).settings:
            own = [f"{field}={value}" for field, value in setting.overrides.items()]
            load_experiment(files, [*overrides, *own])


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_config_names_itself_in_its_first_training_command(path):
    if path.parent.name == "grids":
        flag = "grid_file"
    elif path.name == "quickstart.yaml":  # `make quickstart`
        return
    else:
        flag = "config_file"
    named = [name for _, arguments in commands(path) for name in values(arguments, flag)]
    assert str(path.relative_to(ROOT)) in named
