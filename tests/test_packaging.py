"""What is installed is all that the packages need beside their modules."""

from __future__ import annotations

import pathlib

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10, where pytest brings it along.
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("package", ["official_bert", "data_prep", "export"])
def test_data_files_are_installed(package):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"][package]
    installed = {path for pattern in patterns for path in (ROOT / package).glob(pattern)}
    files = {path for path in (ROOT / package).rglob("*") if path.is_file()}
    data = {path for path in files if path.suffix not in (".py", ".pyc", ".md")}
    assert ROOT / package / "py.typed" in installed
    assert data == installed


def test_the_gpu_extra_is_the_same_tensorflow():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (gpu,) = project["project"]["optional-dependencies"]["gpu"]
    required = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    assert gpu.replace("[and-cuda]", "") in required
