"""Holds an export against the model it was made from, before it gets its final name."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from export import fresh_process
from export.serving import DEFAULT, ENCODED, EXAMPLES
from official_bert.inference.base import AnswerModule

PROBABILITY_TOLERANCE = 1e-5


class VerificationError(RuntimeError):
    """The export does not answer as the model does; a fault of ours, not of the user."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of a signature and what it must give."""

    signature: str
    inputs: dict[str, tf.Tensor]
    expected: dict[str, tf.Tensor]
    ranked: Mapping[str, str]

    @property
    def rows(self) -> int:
        """B of the inputs."""
        return int(next(iter(self.inputs.values())).shape[0])


def cases(modules: Mapping[str, AnswerModule]) -> list[Case]:
    """Calls of every signature, with the answers of the modules, run eagerly in this process.

    Args:
        modules: as `make_signatures` takes them.
    """
    result = []
    for number, module in enumerate(modules.values()):
        for sample in module.samples():
            texts = {name: tf.constant(values, tf.string) for name, values in sample.items()}
            answer = module.answer(texts)
            names = [module.name, DEFAULT] if number == 0 else [module.name]
            result += [Case(name, texts, answer, module.ranked) for name in names]
            if number == 0:
                encoded, _ = module.encode(texts)
                result += [
                    Case(EXAMPLES, {"examples": _examples(sample)}, answer, module.ranked),
                    Case(ENCODED, encoded, module.logits(encoded), {}),
                ]
    return result


def verify(export_dir: pathlib.Path, checks: Sequence[Case], tolerance: float) -> None:
    """Runs the cases on the export in a fresh process and compares.

    Args:
        export_dir: a SavedModel.
        checks: from `cases`.
        tolerance: largest difference of a probability; for logits and embeddings, a share of the
            largest value.

    Raises:
        VerificationError: the export cannot be loaded or run without this project, or an answer
            is another one.
    """
    with tempfile.TemporaryDirectory(prefix="bert_verify_") as folder:
        requests, answers = pathlib.Path(folder, "requests"), pathlib.Path(folder, "answers")
        requests.write_text(
            json.dumps(
                [
                    {
                        "signature": case.signature,
                        "inputs": {k: fresh_process.to_json(v) for k, v in case.inputs.items()},
                    }
                    for case in checks
                ]
            )
        )
        command = fresh_process.command(export_dir.absolute(), requests, answers)
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if process.returncode:
            raise VerificationError(
                f"the export fails in a fresh process:\n{process.stderr[-4000:]}"
            )
        given = json.loads(answers.read_text())
    for case, outputs in zip(checks, given, strict=True):
        compare(case, {k: fresh_process.from_json(v) for k, v in outputs.items()}, tolerance)


def compare(case: Case, given: Mapping[str, tf.Tensor], tolerance: float) -> None:
    """Raises VerificationError unless `given` is what the case expects."""
    if sorted(given) != sorted(case.expected):
        raise VerificationError(
            f"{case.signature} gives {sorted(given)}, not {sorted(case.expected)}"
        )
    for name, tensor in case.expected.items():
        wanted, got = tensor.numpy(), given[name].numpy()
        where = f"{case.signature}: {name}"
        if wanted.shape != got.shape or wanted.dtype != got.dtype:
            raise VerificationError(
                f"{where} is {got.dtype} {got.shape}, not {wanted.dtype} {wanted.shape}"
            )
        if wanted.dtype.kind == "f":
            difference = float(np.max(np.abs(wanted - got), initial=0.0))
            limit = tolerance * float(np.max(np.abs(wanted), initial=1.0))
            if not difference <= limit:  # Also when it is not a number.
                raise VerificationError(f"{where} differs by {difference:.2g}, above {limit:.2g}")
        else:
            differs = wanted != got
            if name in case.ranked:
                values = np.sort(case.expected[case.ranked[name]].numpy())[..., ::-1]
                tied = _tied(values, 2 * tolerance)
                # A single answer is the first of its candidates.
                differs &= ~(tied[..., 0] if differs.ndim < tied.ndim else tied)
            if differs.any():
                place = tuple(np.argwhere(differs)[0].tolist())
                raise VerificationError(
                    f"{where}{list(place)} is {got[place]!r}, not {wanted[place]!r}"
                )


def _tied(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Which of the descending values [..., K] are within `tolerance` of a neighbour.

    The last one may be tied with a candidate that is not listed.
    """
    close = values[..., :-1] - values[..., 1:] <= tolerance
    tied = np.zeros(values.shape, bool)
    tied[..., :-1] |= close
    tied[..., 1:] |= close
    if values.shape[-1]:
        tied[..., -1] = True
    return tied


def _examples(sample: Mapping[str, np.ndarray]) -> tf.Tensor:
    """The rows of a sample as serialized tf.Examples [B]."""
    size = len(next(iter(sample.values())))
    return tf.constant(
        [
            serialized_example({name: values[row] for name, values in sample.items()})
            for row in range(size)
        ]
    )


def serialized_example(texts: Mapping[str, Any]) -> bytes:
    """A tf.Example of one row: {"text": b"…"} or, for several strings, {"choices": [b"…", …]}."""
    example = tf.train.Example()
    for name, value in texts.items():
        values = [value] if isinstance(value, bytes) else list(value)
        example.features.feature[name].bytes_list.value.extend(values)
    return example.SerializeToString()
