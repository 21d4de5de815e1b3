"""Trains a grid of settings and seeds; one table, one picture, the best by development score.

  python -m official_bert.ablate --config_file=configs/finetuning/cola_minilm.yaml \\
      --params_override=data.path=data/cola,model.pretrained=MINILM \\
      --grid_file=configs/grids/paper_search.yaml --output_dir=ablation/cola

A run that was stopped goes on with the same command, run by run; SIGTERM and Ctrl-C reach the run
that is under way, which saves what it has. Where the grid is a single field
of numbers, the picture has curves over it, one for each variant.
"""

from __future__ import annotations

import sys

from absl import flags

from official_bert import cli
from official_bert.errors import InputError
from official_bert.path import to_path

_CONFIG_FILES = flags.DEFINE_multi_string("config_file", [], "YAML config of all runs.")
_OVERRIDES = flags.DEFINE_multi_string("params_override", [], "Fields of all runs.")
_GRID_FILE = flags.DEFINE_string("grid_file", None, "The grid: YAML.", required=True)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Has a model folder for each run, the table and the picture.", required=True
)
_METRIC = flags.DEFINE_string(
    "metric", None, "Of eval_results.json; without it, the one that chooses the best checkpoint."
)


def main() -> None:
    from official_bert.ablation.child import Stopped

    try:
        _ablate()
    except Stopped as stop:
        print(f"stopped by {stop}: the same command goes on", file=sys.stderr)
        sys.exit(stop.status)


def _ablate() -> None:
    from official_bert.ablation import report
    from official_bert.ablation.grid import load_grid
    from official_bert.ablation.runs import run_all
    from official_bert.evaluation.metric_direction import lower_is_better

    grid = load_grid(_GRID_FILE.value)
    output_dir = to_path(_OUTPUT_DIR.value)
    by_name: dict[str, report.Line] = {}
    metric = _METRIC.value
    for setting, seed, results in run_all(grid, output_dir, _CONFIG_FILES.value, _OVERRIDES.value):
        metric = metric or results["best_metric"]
        if metric not in results:
            raise InputError(f"--metric={metric}: the results have {', '.join(results)}")
        x = setting.overrides[grid.axis] if grid.axis else 0.0
        line = report.Line(setting.name, {}, setting.variant, x)
        by_name.setdefault(setting.name, line).scores[seed] = results[metric]
        lines = list(by_name.values())
        table, picture = report.write_report(lines, metric, output_dir, grid.axis)
    print(table.read_text(encoding="utf-8"), end="")
    chosen = report.best(lines, lower=lower_is_better(metric))
    print(f"best: {chosen.name}: {metric} {chosen.mean:.4f}; {picture}")


if __name__ == "__main__":
    cli.run(main)
