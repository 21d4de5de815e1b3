"""Results that people look at."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import numpy as np

from official_bert.atomic import atomic_file


def draw_confusion(matrix: np.ndarray, labels: Sequence[str], path: pathlib.Path) -> None:
    """Draws a confusion matrix as a PNG.

    Args:
        matrix: int [C, C], rows are the true classes, columns the predicted ones.
        labels: their names.
        path: the file.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = 2.5 + 0.5 * len(labels)
    figure, axes = pyplot.subplots(figsize=(size + 1, size), layout="constrained")
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(matrix):
        shade = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, f"{count:,}", ha="center", va="center", color=shade)
    axes.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    with atomic_file(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
    pyplot.close(figure)
