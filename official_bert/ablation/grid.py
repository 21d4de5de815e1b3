"""A grid file: named variants and values of config fields -> the runs."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Mapping
from typing import Any

import yaml

from official_bert.errors import InputError

SEED = "train.seed"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One point of the grid, without its seed.

    Attributes:
        name: for tables: "learning_rate=5e-05, batch_size=16".
        overrides: config field -> value.
        variant: name of the variant; "" where the grid has none.
    """

    name: str
    overrides: Mapping[str, Any]
    variant: str = ""


@dataclasses.dataclass(frozen=True)
class Grid:
    """What is to be run.

    Attributes:
        settings: all variants with all values of the fields.
        seeds: each setting runs once with each.
        axis: the field over which scores are drawn as curves, one a variant: the grid's only field,
            where its values are several numbers; else None.
    """

    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    axis: str | None = None


def load_grid(path: str | os.PathLike[str]) -> Grid:
    """Reads a grid.

        variants:                  # optional; the name is free
          whole: {}
          frozen: {model.frozen_layers: 3}
        grid:                      # optional; every combination
          optimizer.learning_rate: [5.0e-5, 3.0e-5]
        seeds: [1, 2, 3]           # optional; default [0]

    Raises:
        InputError: not readable, or of another form.
    """
    try:
        with open(path, encoding="utf-8") as file:
            fields = yaml.safe_load(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML: {error}") from error
    if not isinstance(fields, dict) or set(fields) - {"variants", "grid", "seeds"}:
        raise InputError(f"{path}: must hold variants, grid and seeds, and nothing else")
    variants = fields.get("variants") or {"": {}}
    values = fields.get("grid") or {}
    seeds = fields.get("seeds") or [0]
    if not all(isinstance(overrides, dict) for overrides in variants.values()):
        raise InputError(f"{path}: each of variants is a name and {{field: value}}")
    if not all(isinstance(choices, list) and choices for choices in values.values()):
        raise InputError(f"{path}: each of grid is a field and a list of values")
    if not isinstance(seeds, list) or not all(isinstance(seed, int) for seed in seeds):
        raise InputError(f"{path}: seeds is a list of whole numbers")
    if SEED in values:
        raise InputError(f"{path}: list the values of {SEED} under seeds")
    settings = [
        _setting(name, overrides, dict(zip(values, choice, strict=True)))
        for name, overrides in variants.items()
        for choice in itertools.product(*values.values())
    ]
    return Grid(tuple(settings), tuple(seeds), _axis(values))


def _axis(values: Mapping[str, list[Any]]) -> str | None:
    if len(values) != 1:
        return None
    ((field, choices),) = values.items()
    numbers = all(type(choice) in (int, float) for choice in choices)
    return field if numbers and len(choices) > 1 else None


def _setting(variant: str, overrides: Mapping[str, Any], choice: Mapping[str, Any]) -> Setting:
    shown = [f"{field.rpartition('.')[2]}={value}" for field, value in choice.items()]
    name = ", ".join(filter(None, [variant, *shown])) or "base"
    return Setting(name, {**overrides, **choice}, variant)
