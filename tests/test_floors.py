"""Imports only point down: the floors of docs/architecture.md, held by walking the imports."""

from __future__ import annotations

import ast
import functools
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("official_bert", "data_prep", "export")

# Modules at the bottom of official_bert; each may import those before it.
GROUND = (
    "errors",
    "fields",
    "path",
    "regular_file",
    "text_file",
    "json_file",
    "yaml_file",
    "tensor_bundle",
    "atomic",
) + ("file_errors", "class_path", "cli", "overrides", "config", "model_folder")
# Parts of official_bert by floor; its mains and export stand above them all. A part may import
# itself and everything on lower floors, and beside it only what SIDEWAYS says.
FLOORS: tuple[set[str], ...] = (
    {*GROUND, "text", "layers"},
    {"data", "models", "training", "evaluation", "decoding", "experiment"},
    {"checkpoints"},
    {"tasks", "features", "ablation"},
    {"runs", "inference"},
)
SIDEWAYS: dict[str, set[str]] = {
    **{part: set(GROUND[:number]) for number, part in enumerate(GROUND)},
    "text": set(GROUND) - {"config"},
    "layers": {"errors", "config"},
}
# What data_prep sees of official_bert.
FOR_DATA_PREP = {
    "atomic",
    "class_path",
    "cli",
    "config",
    "data.manifest",
    "data.records",
    "errors",
    "file_errors",
    "json_file",
    "model_folder",
    "path",
    "regular_file",
    "text",
    "text_file",
}


def may_import(module: str, imported: str) -> bool:
    """Whether a module of this project may import another one, by their dotted names."""
    package, _, inside = module.partition(".")
    other_package, _, other_inside = imported.partition(".")
    if package == other_package != "official_bert":
        return True
    if other_package != "official_bert":
        return False
    if not other_inside:  # The package itself: its version, and its models, found lazily.
        return True
    if package == "export":
        return True
    if package == "data_prep":
        return any(f"{other_inside}.".startswith(f"{part}.") for part in FOR_DATA_PREP)
    part, other = inside.split(".")[0], other_inside.split(".")[0]
    return other == part or _floor(other) < _floor(part) or other in SIDEWAYS.get(part, set())


def _floor(part: str) -> int:
    return next((floor for floor, parts in enumerate(FLOORS) if part in parts), len(FLOORS))


def _files(package: str) -> list[pathlib.Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _module(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
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
    return {name for name in names if name.split(".")[0] in PACKAGES}


def _mains() -> set[str]:
    return {
        _module(path)
        for package in PACKAGES
        for path in _files(package)
        if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8")
    }


@pytest.mark.parametrize(
    ("module", "imported", "allowed"),
    [
        ("official_bert.text.vocab", "official_bert.errors", True),
        ("official_bert.text.vocab", "official_bert.text.offsets", True),
        ("official_bert.text.vocab", "official_bert.layers.dense", False),
        ("official_bert.text.vocab", "official_bert.data.records", False),
        ("official_bert.models.encoder", "official_bert.layers.dense", True),
        ("official_bert.training.loop", "official_bert.models.encoder", False),
        ("official_bert.evaluation.squad", "official_bert.decoding.span_ranking", False),
        ("official_bert.tasks.tagging", "official_bert.checkpoints.load", True),
        ("official_bert.tasks.tagging", "official_bert.inference.tagging", False),
        ("official_bert.inference.load", "official_bert.runs.run", False),
        ("official_bert.train", "official_bert.runs.run", True),
        ("official_bert.train", "export.saving", False),
        ("official_bert.train", "data_prep.text.corpus", False),
        ("data_prep.build_vocab", "official_bert.text.vocab", True),
        ("data_prep.build_vocab", "official_bert.data.records", True),
        ("data_prep.build_vocab", "official_bert.data.pipeline", False),
        ("data_prep.build_vocab", "official_bert.textual", False),
        ("data_prep.build_vocab", "export.saving", False),
        ("export.saving", "official_bert.inference.load", True),
        ("export.saving", "data_prep.text.corpus", False),
    ],
)
def test_the_rule(module, imported, allowed):
    assert may_import(module, imported) is allowed


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_down(package):
    assert not [
        f"{_module(path)} imports {name}"
        for path in _files(package)
        for name in sorted(_imports(path))
        if not may_import(_module(path), name)
    ]


def test_every_part_of_official_bert_has_a_floor_or_is_a_main():
    modules = [_module(path) for path in _files("official_bert")]
    parts = {module.split(".")[1] for module in modules if module != "official_bert"}
    mains = {name.split(".")[1] for name in _mains() if name.count(".") == 1}
    assert parts - mains == set.union(*FLOORS)


def test_mains_are_not_imported():
    mains = _mains()
    assert {"official_bert.train", "data_prep.build_vocab", "export.export_savedmodel"} <= mains
    for package in PACKAGES:
        for path in _files(package):
            assert not _imports(path) & mains, f"{path} imports a main"


def test_keras_is_tf_keras():
    for package in PACKAGES:
        for path in _files(package):
            assert "tf.keras" not in path.read_text(encoding="utf-8"), path
