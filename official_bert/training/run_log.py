"""What a run says while it goes: a line, metrics.jsonl, TensorBoard, a picture of the curves."""

from __future__ import annotations

import json
import math
import os
import pathlib
import time
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from absl import logging
from matplotlib.figure import Figure

from official_bert.atomic import atomic_file
from official_bert.errors import InputError
from official_bert.file_errors import explain
from official_bert.json_file import dumps
from official_bert.model_folder import (
    METRICS_NAME,
    PICTURE_NAME,
    TENSORBOARD_NAME,
    WATCHED_METRICS_NAME,
)
from official_bert.path import is_url, to_path
from official_bert.regular_file import read_bytes

_MOST_BYTES = 1 << 30
# Between two pictures: drawing takes half a second, and more with every report.
_PICTURE_SECONDS = 60
# The line of progress, in this order.
_SHOWN = {
    "loss": "loss {:.4f}",
    "learning_rate": "learning rate {:.2e}",
    "gradient_norm": "gradient norm {:.2f}",
    "tokens_per_second": "{:,.0f} tokens/s",
    "skipped_steps": "{} steps skipped",
}


class RunLog:
    """Writes metrics of one model folder, and goes on with those of an interrupted run.

    Args:
        model_dir: the folder.
        start_step: the step that the run starts at; metrics of later steps, from a run that was
            killed after its last checkpoint, are dropped.
        total_steps: for the time left.
        writes: false for all but one of several workers: lines on stderr, no files.
        metrics_name: name of the file of metrics.

    Attributes:
        losses: of the reports of training that are in the file.
        evaluated_step: of the last evaluation that is in the file; -1 without one.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        *,
        start_step: int,
        total_steps: int,
        writes: bool = True,
        metrics_name: str = METRICS_NAME,
    ):
        self._writes = writes
        self._model_dir = to_path(model_dir)
        self._metrics_path = self._model_dir / metrics_name
        self._total_steps = total_steps
        self._last_step, self._last_time = start_step, time.monotonic()
        self._drawn_time, self._is_drawn = -math.inf, False
        self._metrics_name = metrics_name
        self.evaluated_step = -1
        self.losses: list[float] = []
        if not writes:
            return
        self.go_back(start_step)
        self._writer = self._make_writer()

    def go_back(self, step: int) -> None:
        """Drops what was reported behind `step`."""
        self._last_step, self._last_time = step, time.monotonic()
        self.evaluated_step = min(self.evaluated_step, step)
        if not self._writes:
            return
        lines = read_metrics(self._model_dir, self._metrics_name)
        kept = [line for line in lines if line["step"] <= step]
        with atomic_file(self._metrics_path) as file:
            file.writelines(dumps(line) + "\n" for line in kept)
        self.evaluated_step = max((x["step"] for x in kept if x["split"] == "eval"), default=-1)
        self.losses = [x["loss"] for x in kept if x["split"] == "train" and "loss" in x]

    def training(self, step: int, metrics: Mapping[str, float], *, skipped_steps: int = 0) -> None:
        """Reports the mean metrics of the steps since the last report.

        `tokens` and `positions` are those of one step; they become tokens a second and the share
        of padding.

        Args:
            step: steps that are done.
            metrics: without losses and counts where no step since the last report was finite.
            skipped_steps: steps that were left out since the start of the run.
        """
        seconds = time.monotonic() - self._last_time
        steps = step - self._last_step
        values = {k: v for k, v in metrics.items() if k not in ("tokens", "positions")}
        if "tokens" in metrics:
            values["tokens_per_second"] = metrics["tokens"] * steps / seconds
            values["padding"] = 1.0 - metrics["tokens"] / metrics["positions"]
        if skipped_steps:
            values["skipped_steps"] = skipped_steps
        left = (self._total_steps - step) * seconds / steps
        shown = [text.format(values[name]) for name, text in _SHOWN.items() if name in values]
        shown.append(f"{_duration(left)} left")
        logging.info("step %d/%d  %s", step, self._total_steps, "  ".join(shown))
        self._write(step, "train", values)
        self._last_step, self._last_time = step, time.monotonic()

    def evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Reports metrics of the evaluation split; the time they took is no training time."""
        text = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        logging.info("step %d/%d  evaluation: %s", step, self._total_steps, text)
        self._write(step, "eval", metrics)
        if time.monotonic() - self._drawn_time > _PICTURE_SECONDS:
            self.picture()
        self._last_time = time.monotonic()

    def picture(self) -> None:
        """Draws training.png anew, if there is more to see; warns where it cannot be written."""
        if not self._writes or self._is_drawn:
            return
        self._drawn_time, self._is_drawn = time.monotonic(), True
        try:
            draw_curves(self._model_dir)
        except OSError as error:
            logging.warning("no picture of the curves: %s", explain(error) or error)

    def _write(self, step: int, split: str, values: Mapping[str, float]) -> None:
        if not self._writes:
            return
        self._is_drawn = False
        try:
            self._append(dumps({"step": step, "split": split, **values}) + "\n")
        except OSError as error:
            error.filename = str(self._metrics_path)
            raise
        if self._writer is None:
            return
        try:
            with self._writer.as_default(step):
                for name, value in values.items():
                    tf.summary.scalar(f"{split}/{name}", value)
            self._writer.flush()
        except (OSError, tf.errors.OpError) as error:
            self._no_tensorboard(error)

    def _append(self, line: str) -> None:
        if not is_url(self._metrics_path):
            with open(self._metrics_path, "a", encoding="utf-8") as file:
                file.write(line)
            return
        # Object stores append to no file: it is written as a whole.
        with atomic_file(self._metrics_path, "wb") as file:
            file.write(self._metrics_path.read_bytes() + line.encode())

    def _make_writer(self) -> Any:
        try:
            return tf.summary.create_file_writer(str(self._model_dir / TENSORBOARD_NAME))
        except (OSError, tf.errors.OpError) as error:
            self._no_tensorboard(error)
        return None

    def _no_tensorboard(self, error: Exception) -> None:
        """Metrics stand in the other file too: the run goes on without TensorBoard's."""
        logging.warning("no more events for TensorBoard: %s", explain(error) or error)
        self._writer = None


def read_metrics(
    model_dir: str | os.PathLike[str], name: str = METRICS_NAME
) -> list[dict[str, Any]]:
    """The lines of a file of metrics; a last line that was cut off by a kill is left out.

    Raises:
        InputError: another line is no object with `step`, `split` and numbers.
    """
    path = to_path(model_dir) / name
    if not path.exists():
        return []
    lines = read_bytes(path, limit=_MOST_BYTES).split(b"\n")[:-1]
    return [_read_line(path, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(path: pathlib.Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
        step, split = values["step"], values["split"]
        others = [value for name, value in values.items() if name != "split"]
        if not isinstance(step, int) or not isinstance(split, str):
            raise TypeError
        if not all(value is None or isinstance(value, int | float) for value in others):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{path}, line {number}: this is no line of metrics; remove it, or the file"
        ) from error
    return {name: math.nan if value is None else value for name, value in values.items()}


def draw_curves(model_dir: str | os.PathLike[str]) -> None:
    """Writes training.png: a panel for the loss, for each share (accuracy, F1, …) and the rate."""
    lines = [*read_metrics(model_dir), *read_metrics(model_dir, WATCHED_METRICS_NAME)]
    names = {name for line in lines for name in line} - {"step", "split"}
    shares = sorted(n for n in names if n.endswith(("accuracy", "f1", "correlation", "match")))
    panels = [["loss", *sorted(n for n in names if n.endswith("_loss"))], shares, ["learning_rate"]]
    panels = [panel for panel in panels if panel]
    figure = Figure(figsize=(5 * len(panels), 3.8), layout="constrained")
    for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for index, name in enumerate(panel):
            for split, style in (("train", "-"), ("eval", "o--")):
                points = [
                    (line["step"], line[name])
                    for line in lines
                    if line["split"] == split and name in line
                ]
                if points:
                    label = f"{name.replace('_', ' ')} ({split})"
                    axis.plot(*zip(*points, strict=True), style, color=f"C{index}", label=label)
        axis.set_xlabel("step")
        axis.grid(alpha=0.3)
        if axis.lines:
            axis.legend(fontsize="small")
    with atomic_file(to_path(model_dir) / PICTURE_NAME, "wb") as file:
        figure.savefig(file, format="png", dpi=120)


def _duration(seconds: float) -> str:
    """3725.4 -> "1:02:05"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
