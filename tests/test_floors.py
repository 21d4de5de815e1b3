"""Imports only point down: what each package may see is written here once, and held."""

from __future__ import annotations

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent

_FILES = {"errors", "fields", "file_errors", "regular_file", "json_file", "yaml_file"}
_BASE = _FILES | {
    "tensor_bundle",
    "atomic",
    "class_path",
    "cli",
    "config",
    "experiment",
    "text",
    "layers",
}
_MIDDLE = {"data", "models", "training", "evaluation", "decoding", "model_folder"}
_UPPER = {"checkpoints", "tasks", "runs", "inference", "ablation", "features"}

# Part of official_bert -> the parts that it may import. Parts that are not named are mains.
ALLOWED = {
    "errors": set(),
    "regular_file": {"errors"},
    "json_file": {"errors", "regular_file"},
    "yaml_file": {"errors", "regular_file"},
    "fields": {"errors"},
    "tensor_bundle": {"errors", "regular_file"},
    "atomic": {"errors"},
    "class_path": {"errors"},
    "file_errors": {"atomic"},
    "cli": {"errors", "file_errors"},
    "config": _FILES,
    "overrides": _FILES,
    "experiment": _FILES | {"atomic", "config", "overrides"},
    "text": _FILES | {"atomic", "cli"},
    "layers": {"errors", "config"},
    "data": _BASE,
    "models": _BASE,
    "training": _BASE,
    "evaluation": _BASE,
    "decoding": _BASE,
    "model_folder": _BASE | {"data"},
    "checkpoints": _BASE | _MIDDLE,
    "tasks": _BASE | _MIDDLE | {"checkpoints"},
    "features": _BASE | _MIDDLE | {"checkpoints"},
    "ablation": _FILES | {"atomic"},
    "runs": _BASE | _MIDDLE | {"checkpoints", "tasks"},
    "inference": _BASE | _MIDDLE | {"checkpoints", "tasks"},
}
_MAINS_SEE = _BASE | _MIDDLE | _UPPER
_DATA_PREP_SEES = {
    "official_bert",
    "official_bert.atomic",
    "official_bert.cli",
    "official_bert.config",
    "official_bert.errors",
    "official_bert.file_errors",
    "official_bert.json_file",
    "official_bert.regular_file",
    "official_bert.text",
    "official_bert.data.records",
    "official_bert.data.manifest",
}


def _imports(path: pathlib.Path) -> set[str]:
    """Modules of this project that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # `from official_bert.data import records` imports a module, not a name in one.
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                is_module = (ROOT / module.replace(".", "/")).with_suffix(".py").exists()
                names.add(module if is_module else str(node.module))
    return {
        name for name in names if name.split(".")[0] in ("official_bert", "data_prep", "export")
    }


def _files(package: str) -> list[pathlib.Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", _files("official_bert"), ids=lambda p: str(p.relative_to(ROOT)))
def test_official_bert_imports_point_down(path):
    parts = path.relative_to(ROOT / "official_bert").with_suffix("").parts
    part = parts[0]
    allowed = ALLOWED.get(part, _MAINS_SEE) | {part}
    for name in _imports(path):
        package, *rest = name.split(".")
        assert package == "official_bert", f"{path} imports {name}"
        assert not rest or rest[0] in allowed, f"{path} imports {name}"


@pytest.mark.parametrize("path", _files("data_prep"), ids=lambda p: str(p.relative_to(ROOT)))
def test_data_prep_sees_little(path):
    for name in _imports(path):
        seen = name.startswith("data_prep") or any(
            name == prefix or name.startswith(f"{prefix}.")
            for prefix in _DATA_PREP_SEES - {"official_bert"}
        )
        assert seen or name == "official_bert", f"{path} imports {name}"


@pytest.mark.parametrize("path", _files("export"), ids=lambda p: str(p.relative_to(ROOT)))
def test_export_does_not_import_data_prep(path):
    for name in _imports(path):
        assert not name.startswith("data_prep"), f"{path} imports {name}"


def test_mains_are_not_imported():
    mains = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("official_bert", "data_prep", "export")
        for path in _files(package)
        if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }
    assert {"official_bert.train", "data_prep.build_vocab", "export.export_savedmodel"} <= mains
    for package in ("official_bert", "data_prep", "export"):
        for path in _files(package):
            assert not _imports(path) & mains, f"{path} imports a main"


def test_keras_is_tf_keras():
    for package in ("official_bert", "data_prep", "export"):
        for path in _files(package):
            assert "tf.keras" not in path.read_text(encoding="utf-8"), path
