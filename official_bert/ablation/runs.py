"""Runs the settings of a grid one after the other, each in a process of its own."""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from official_bert.ablation.child import run_child
from official_bert.ablation.grid import SEED, Grid, Setting
from official_bert.errors import InputError
from official_bert.model_folder import RESULTS_NAME, read_results

RUNS_NAME = "runs"


def run_folder(output_dir: pathlib.Path, setting: Setting, seed: int) -> pathlib.Path:
    """Where a run has its model folder."""
    name = re.sub(r"[^\w.=+-]+", "_", setting.name)
    return output_dir / RUNS_NAME / f"{name}_seed={seed}"


def run_all(
    grid: Grid, output_dir: pathlib.Path, config_files: Sequence[str], overrides: Sequence[str]
) -> Iterator[tuple[Setting, int, dict[str, Any]]]:
    """Trains each setting with each seed; what is finished already is not run again.

    Args:
        grid: see `load_grid`.
        output_dir: has a model folder for each run.
        config_files: of all runs.
        overrides: of all runs, as `--params_override` takes them.

    Yields:
        setting, seed and evaluation results, as each run ends.

    Raises:
        InputError: a run failed; its own message is on stderr.
        Stopped: this process was asked to stop; the run that was under way has ended.
    """
    output_dir.mkdir(parents=True, exist_ok=True)
    total = len(grid.settings) * len(grid.seeds)
    number = 0
    for setting in grid.settings:
        for seed in grid.seeds:
            number += 1
            folder = run_folder(output_dir, setting, seed)
            print(f"run {number} of {total}: {setting.name}, seed {seed}", file=sys.stderr)
            own = [f"{field}={json.dumps(value)}" for field, value in setting.overrides.items()]
            command = [sys.executable, "-m", "official_bert.train", f"--model_dir={folder}"]
            command += [f"--config_file={path}" for path in config_files]
            command += [f"--params_override={t}" for t in (*overrides, *own, f"{SEED}={seed}")]
            # Also for a run that is finished: it says so at once, or why it is another run.
            status = run_child(command)
            if status:
                raise InputError(
                    f"the run in {folder} ended with status {status}; what is finished stays, "
                    "and the same command goes on"
                )
            results = folder / RESULTS_NAME
            if not results.exists():
                raise InputError(f"{folder} has no {RESULTS_NAME}: the data has no dev split")
            yield setting, seed, read_results(results)
