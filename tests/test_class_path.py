"""Classes by name."""

from __future__ import annotations

import fractions
import numbers

import pytest

from official_bert.class_path import load_class
from official_bert.errors import InputError


@pytest.mark.parametrize("base", [None, numbers.Number, fractions.Fraction])
def test_a_class_is_found(base):
    assert load_class("fractions:Fraction", base) is fractions.Fraction


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "'' names no class: write package.module:Class"),
        ("Fraction", "'Fraction' names no class: write package.module:Class"),
        ("fractions.Fraction", "'fractions.Fraction' names no class: write package.module:Class"),
        ("fractions:", "'fractions:' names no class: write package.module:Class"),
        (":Fraction", "':Fraction' names no class: write package.module:Class"),
        (".fractions:Fraction", "'.fractions:Fraction' names no class: write package.mod"),
        ("a:b:c", "'a:b:c' names no class: write package.module:Class"),
        ("my/file.py:Mine", "'my/file.py:Mine' names no class: write package.module:Class"),
        ("no_such_package.x:Mine", "'no_such_package.x:Mine': there is no module no_such_package;"),
        ("fractions.x:Mine", "'fractions.x:Mine': there is no module fractions.x;"),
        ("fractions:Mine", "'fractions:Mine': fractions has no class Mine"),
        ("fractions:gcd", "'fractions:gcd': fractions has no class gcd"),
        ("fractions:Fraction", "'fractions:Fraction' is no subclass of builtins.int, which it mu"),
    ],
)
def test_what_names_no_class_is_one_line(path, message):
    with pytest.raises(InputError) as caught:
        load_class(path, int)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_module_that_lacks_a_module_of_its_own_is_not_said_to_be_missing(tmp_path, monkeypatch):
    (tmp_path / "imports_what_is_not_there.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        load_class("imports_what_is_not_there:Mine")
