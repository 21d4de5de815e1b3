"""The files of a model folder: labels, and that nobody else knows their names."""

from __future__ import annotations

import ast
import pathlib

import pytest

from official_bert import model_folder
from official_bert.errors import InputError
from official_bert.model_folder import read_labels, write_labels

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {value for name, value in vars(model_folder).items() if name.endswith("_NAME")}


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        ("",),
        ("", "", "x"),
        (" a ", "\ta", "a"),
        ("U+2028\u2028inside", "U+2029\u2029", "\u0085NEL"),
        ("VT\x0binside", "FF\x0cinside", "FS\x1c GS\x1d RS\x1e"),
        ("\ufeffmarked", "日本語", "e\u0301", "🙂"),
    ],
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    write_labels(tmp_path, labels)
    assert read_labels(tmp_path, expected=len(labels)) == labels


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        (b"no\nyes\n", ("no", "yes")),
        (b"no\nyes", ("no", "yes")),
        (b"no\r\nyes\r\n", ("no", "yes")),
        (b"no\n\nyes\n\n", ("no", "", "yes", "")),
        (b"", ()),
    ],
)
def test_labels_of_a_file(content, labels, tmp_path):
    (tmp_path / "labels.txt").write_bytes(content)
    assert read_labels(tmp_path) == labels


def test_a_folder_without_labels(tmp_path):
    assert read_labels(tmp_path, expected=3) == ()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ("no", "y\nes"),
            r"label 1, 'y\nes', has a line break in it, and labels.txt has a label a",
        ),
        (("no\r", "yes"), r"label 0, 'no\r', has a line break in it"),
        (("\n",), r"label 0, '\n', has a line break in it"),
    ],
)
def test_a_label_with_a_line_break_is_refused(labels, message, tmp_path):
    with pytest.raises(InputError) as caught:
        write_labels(tmp_path, labels)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "expected", "message"),
    [
        (
            b"a\nb\n",
            3,
            "labels.txt names 2 labels, and the model has 3 classes: write one",
        ),
        (b"a\n\n", 1, "labels.txt names 2 labels, and the model has 1 classes"),
        (b"", 2, "labels.txt names 0 labels, and the model has 2 classes"),
        (b"a\nb\xff\n", 2, "labels.txt is not UTF-8 at byte 3"),
    ],
)
def test_a_labels_file_that_does_not_fit(content, expected, message, tmp_path):
    (tmp_path / "labels.txt").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_labels(tmp_path, expected)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def _written_down(source: str) -> list[str]:
    """File names of a model folder that are string constants in a source; docstrings may be."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    files = {name for name in NAMES if "." in name}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and node.value.rpartition("/")[2] in files
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"""vocab.txt"""', []),
        ('def f():\n    """labels.txt"""\n    return "labels.txt"', ["labels.txt"]),
        ('x = folder / "best/score.json"', ["best/score.json"]),
        ('x = f"{folder}/eval_results.json"', ["/eval_results.json"]),
        ('raise InputError(f"{folder} has no vocabulary: put its vocab.txt into it")', []),
        ('NAME = "bert_model.ckpt"', []),
    ],
)
def test_what_counts_as_written_down(source, found):
    assert _written_down(source) == found


def test_the_names_are_in_one_module():
    assert {"config.yaml", "bert_config.json", "vocab.txt", "labels.txt", "score.json"} <= NAMES
    paths = [
        p for part in ("official_bert", "data_prep", "export") for p in (ROOT / part).rglob("*.py")
    ]
    own = ROOT / "official_bert" / "model_folder.py"
    assert not {
        str(path.relative_to(ROOT)): names
        for path in paths
        if path != own and (names := _written_down(path.read_text(encoding="utf-8")))
    }
