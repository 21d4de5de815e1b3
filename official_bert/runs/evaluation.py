"""Evaluation and prediction with the model of a folder, finished or in training."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

import tensorflow as tf
import tf_keras
from absl import logging

from official_bert.checkpoints.load import load_pretrained
from official_bert.errors import InputError
from official_bert.model_folder import CHECKPOINTS_NAME, WATCHED_METRICS_NAME, ModelFolder
from official_bert.path import to_path
from official_bert.runs.setup import RunSetup
from official_bert.tasks.examples import examples_of
from official_bert.training.run_log import RunLog


def watch(run: RunSetup, *, timeout: float) -> dict[str, float]:
    """See `Run.watch`."""
    total_steps = run.total_steps()
    model = run.make_model()
    evaluation = run.make_evaluation(model)
    best = run.best_model(model)
    folder = run.folder.path / CHECKPOINTS_NAME
    logging.info("waiting for checkpoints in %s", folder)
    results: dict[str, float] = {}
    for _ in tf.train.checkpoints_iterator(str(folder), timeout=timeout):
        step = run.restore_weights(model)
        log = RunLog(
            run.folder.path,
            start_step=step - 1,
            total_steps=total_steps,
            metrics_name=WATCHED_METRICS_NAME,
        )
        metrics = evaluation(_to_the_end)
        log.evaluation(step, metrics)
        best.update(step, metrics)
        score = best.score()
        assert score is not None
        results = run.write_results(score["step"], score["metrics"], step)
        if step >= total_steps:
            break
    if not results:
        raise InputError(f"no checkpoint came into {folder} within {timeout:g} s")
    return results


def evaluate(run: RunSetup) -> dict[str, float]:
    """See `Run.evaluate`."""
    model, step = _restored(run)
    _use_results(run, run.folder)
    metrics = run.make_evaluation(model)(_to_the_end)
    return run.write_results(step, metrics, step)


def predict(
    run: RunSetup, split: str, output_dir: str | os.PathLike[str], *, others: Sequence[str] = ()
) -> list[pathlib.Path]:
    """See `Run.predict`."""
    if not run.task.prediction_files:
        raise InputError(f"the task {run.experiment.task} writes no prediction files")
    if others and not run.task.can_ensemble:
        raise InputError(f"the task {run.experiment.task} has no ensembles: give one --model_dir")
    model, _ = _restored(run)
    if others:
        model = _ensemble(run, model, others)
    _use_results(run, run.folder, *map(ModelFolder, others))
    with run.pipeline.bad_records_named(split):
        _, collected = run.evaluator(model, split, with_losses=False)()
    folder = to_path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return run.task.write_predictions(collected, examples_of(run.data.folder, split), folder)


def _to_the_end() -> bool:
    return False


def _restored(run: RunSetup) -> tuple[tf_keras.Model, int]:
    """The best model of the folder, or its newest one, and its step."""
    model = run.make_model()
    best = run.best_model(model)
    score = best.score()
    if score is not None:
        best.restore()
        return model, score["step"]
    step = run.restore_weights(model)
    if not step:
        raise InputError(f"{run.folder.path} has no trained model: train it first")
    return model, step


def _ensemble(run: RunSetup, model: tf_keras.Model, others: Sequence[str]) -> tf_keras.Model:
    """`model` and those of other folders, of the same vocabulary, as one."""
    with run.strategy.scope():
        bundles = [load_pretrained(path) for path in others]
    for path, bundle in zip(others, bundles, strict=True):
        if not bundle.vocab or bundle.vocab.sha256 != run.data.manifest.vocab_sha256:
            raise InputError(
                f"{path} has another vocabulary than {run.data.folder}: the models of an "
                "ensemble must read the same records"
            )
    return run.task.ensemble([model, *(bundle.model for bundle in bundles)])


def _use_results(run: RunSetup, *folders: ModelFolder) -> None:
    """Tells the task what earlier evaluations of these folders found."""
    run.task.use_results([folder.results() or {} for folder in folders])
