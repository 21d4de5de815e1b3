"""A grid file: named variants and values of config fields -> the runs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Mapping
from typing import Any

from official_bert.errors import InputError, shown
from official_bert.yaml_file import read_yaml

SEED = "train.seed"
_MAX_RUNS = 10_000


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
        InputError: not readable, of another form, or of more than 10,000 runs.
    """
    fields = read_yaml(path)
    if set(fields) - {"variants", "grid", "seeds"}:
        raise InputError(f"{path}: must hold variants, grid and seeds, and nothing else")
    variants = fields.get("variants") or {"": {}}
    values = fields.get("grid") or {}
    seeds = fields.get("seeds") or [0]
    if not isinstance(variants, dict) or not all(isinstance(v, dict) for v in variants.values()):
        raise InputError(f"{path}: each of variants is a name and {{field: value}}")
    if not isinstance(values, dict) or not all(
        isinstance(choices, list) and choices for choices in values.values()
    ):
        raise InputError(f"{path}: each of grid is a field and a list of values")
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        raise InputError(f"{path}: seeds is a list of whole numbers")
    for field in (*values, *(field for overrides in variants.values() for field in overrides)):
        if not isinstance(field, str) or "." not in field and field != "task":
            raise InputError(f"{path}: {shown(field)} is no field: write section.key")
    if SEED in values:
        raise InputError(f"{path}: list the values of {SEED} under seeds")
    runs = len(variants) * math.prod(map(len, values.values())) * len(seeds)
    if runs > _MAX_RUNS:
        raise InputError(f"{path}: makes {runs:,} runs, above {_MAX_RUNS:,}: leave values out")
    settings = [
        _setting(str(name), overrides, dict(zip(values, choice, strict=True)))
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
