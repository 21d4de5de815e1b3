"""The scores of many runs as a table and as a picture."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import statistics
from collections.abc import Sequence

from matplotlib.figure import Figure

from official_bert.atomic import atomic_file

TABLE_NAME, PICTURE_NAME = "ablation.tsv", "ablation.png"
_LEGEND = "points: seeds; bar: mean and standard deviation"


@dataclasses.dataclass(frozen=True)
class Line:
    """One setting.

    Attributes:
        name: of the setting.
        scores: seed -> score.
        curve: the curve it is a point of, where the report has an axis.
        x: where it stands on that axis.
    """

    name: str
    scores: dict[int, float]
    curve: str = ""
    x: float = 0.0

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores.values())

    @property
    def spread(self) -> float:
        """Standard deviation over the seeds; 0 for one."""
        return statistics.stdev(self.scores.values()) if len(self.scores) > 1 else 0.0


def best(lines: Sequence[Line], *, lower: bool) -> Line:
    """The setting with the best mean."""
    return (min if lower else max)(lines, key=lambda line: line.mean)


def write_report(
    lines: Sequence[Line], metric: str, output_dir: pathlib.Path, axis: str | None = None
) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes the table and the picture; returns their paths.

    Args:
        lines: the settings, in the order of the table.
        metric: what the scores are.
        output_dir: has both files.
        axis: what `Line.x` counts: the picture has curves over it; None: a row a setting.
    """
    table, picture = output_dir / TABLE_NAME, output_dir / PICTURE_NAME
    seeds = sorted({seed for line in lines for seed in line.scores})
    with atomic_file(table) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["setting", f"mean_{metric}", "spread", *(f"seed_{s}" for s in seeds)])
        for line in lines:
            scores = [f"{line.scores[s]:.4f}" if s in line.scores else "" for s in seeds]
            writer.writerow([line.name, f"{line.mean:.4f}", f"{line.spread:.4f}", *scores])
    with atomic_file(picture, "wb") as file:
        draw(lines, metric, axis).savefig(file, format="png", dpi=120)
    return table, picture


def draw(lines: Sequence[Line], metric: str, axis: str | None = None) -> Figure:
    """The picture of the report; its arguments are those of `write_report`."""
    return _rows(lines, metric) if axis is None else _curves(lines, metric, axis)


def _rows(lines: Sequence[Line], metric: str) -> Figure:
    figure = Figure(figsize=(8, 1.2 + 0.4 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for y, line in enumerate(lines):
        axes.plot(list(line.scores.values()), [y] * len(line.scores), "o", alpha=0.5)
        axes.errorbar(line.mean, y, xerr=line.spread, fmt="k|", capsize=4)
    axes.set_yticks(range(len(lines)), [line.name for line in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)  # the first one on top
    axes.set_xlabel(f"{metric} ({_LEGEND})")
    axes.grid(axis="x", alpha=0.3)
    return figure


def _curves(lines: Sequence[Line], metric: str, axis: str) -> Figure:
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for index, curve in enumerate(dict.fromkeys(line.curve for line in lines)):
        points = sorted((a for a in lines if a.curve == curve), key=lambda line: line.x)
        xs, color = [line.x for line in points], f"C{index}"
        for line in points:
            axes.plot(
                [line.x] * len(line.scores), list(line.scores.values()), "o", c=color, alpha=0.4
            )
        means, spreads = [x.mean for x in points], [x.spread for x in points]
        axes.errorbar(xs, means, yerr=spreads, color=color, capsize=4, label=curve or None)
    axes.set_xlabel(axis)
    axes.set_ylabel(f"{metric} ({_LEGEND})")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        axes.legend()
    return figure
