"""The scores of many runs as a table and as a picture."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import statistics
from collections.abc import Sequence

from official_bert.atomic import atomic_file

TABLE_NAME, PICTURE_NAME = "ablation.tsv", "ablation.png"


@dataclasses.dataclass(frozen=True)
class Line:
    """One setting.

    Attributes:
        name: of the setting.
        scores: seed -> score.
    """

    name: str
    scores: dict[int, float]

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
    lines: Sequence[Line], metric: str, output_dir: pathlib.Path
) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes the table and the picture; returns their paths."""
    table, picture = output_dir / TABLE_NAME, output_dir / PICTURE_NAME
    seeds = sorted({seed for line in lines for seed in line.scores})
    with atomic_file(table) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["setting", f"mean_{metric}", "spread", *(f"seed_{s}" for s in seeds)])
        for line in lines:
            scores = [f"{line.scores[s]:.4f}" if s in line.scores else "" for s in seeds]
            writer.writerow([line.name, f"{line.mean:.4f}", f"{line.spread:.4f}", *scores])
    _draw(lines, metric, picture)
    return table, picture


def _draw(lines: Sequence[Line], metric: str, path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.4 * len(lines)), layout="constrained")
    for place, line in enumerate(lines):
        axes.plot(list(line.scores.values()), [place] * len(line.scores), "o", alpha=0.5)
        axes.errorbar(line.mean, place, xerr=line.spread, fmt="k|", capsize=4)
    axes.set_yticks(range(len(lines)), [line.name for line in lines])
    axes.invert_yaxis()
    axes.set_xlabel(f"{metric} (points: seeds; bar: mean and standard deviation)")
    axes.grid(axis="x", alpha=0.3)
    with atomic_file(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
    pyplot.close(figure)
