"""Training: from where the model folder stands to the last step."""

from __future__ import annotations

import os
import pathlib
import time
import zlib
from collections.abc import Sequence
from contextlib import nullcontext

import tf_keras
from absl import logging

from official_bert.atomic import folder_lock
from official_bert.class_path import load_class
from official_bert.errors import InputError
from official_bert.model_folder import CONFIG_NAME, TENSORBOARD_NAME
from official_bert.path import absolute, to_path
from official_bert.runs.input_pipeline import InputPipeline
from official_bert.runs.phases import Phase, learning_rate_schedule
from official_bert.runs.prepared_data import PreparedData
from official_bert.runs.setup import RunSetup
from official_bert.training import loop
from official_bert.training.checkpointing import Checkpoints
from official_bert.training.layer_rates import layer_rate_shares
from official_bert.training.optimization import CountedSchedule, make_optimizer
from official_bert.training.profile import StepProfile
from official_bert.training.recoveries import Recoveries
from official_bert.training.run_log import RunLog
from official_bert.training.step import TrainingModel

# Until what one worker wrote is seen by the others.
_NETWORK_DRIVE_SECONDS = 30.0


def train(run: RunSetup, *, evaluate: bool, skip_nonfinite: bool) -> dict[str, float]:
    """See `Run.train`."""
    _check_name(run.folder.path)
    # Of several workers one alone writes.
    lock = folder_lock(run.folder.path, "training") if run.workers.is_chief else nullcontext()
    with lock, run.workers.losses_named():
        return _train(run, evaluate=evaluate, skip_nonfinite=skip_nonfinite)


def _train(run: RunSetup, *, evaluate: bool, skip_nonfinite: bool) -> dict[str, float]:
    config = run.experiment.train
    total_steps = run.total_steps()
    phases = _phases(run, total_steps)
    _prepare_folder(run)
    finished = run.folder.results()
    if finished is not None and finished["total_steps"] == total_steps:
        logging.info("%s is finished: %d steps", run.folder.path, total_steps)
        return finished
    with run.strategy.scope():
        training_model = _make_training_model(run, phases)
    checkpoints = Checkpoints(
        run.folder.path,
        training_model,
        keep=config.keep_checkpoints,
        every_steps=config.checkpoint_every_steps,
        every_seconds=config.checkpoint_every_seconds,
        # Of several workers one would make the variables of the copy, which all must do together.
        in_background=config.background_checkpoints and run.workers.count == 1,
        writes=run.workers.is_chief,
    )
    start_step = checkpoints.restore()
    _check_same_start(run, training_model, start_step)
    if start_step:
        logging.info("going on from step %d of %s", start_step, run.folder.path)
    best = run.best_model(training_model.model)
    eval_split, splits = run.experiment.data.eval_split, run.data.manifest.splits
    evaluated = evaluate and eval_split in splits
    if evaluate and not evaluated:
        logging.warning(
            "no evaluation: %s has no split %r, only %s (data.eval_split chooses one)",
            run.data.folder,
            eval_split,
            ", ".join(splits),
        )
    log = RunLog(
        run.folder.path,
        start_step=start_step,
        total_steps=total_steps,
        writes=run.workers.is_chief,
    )
    recoveries = Recoveries(
        run.folder.path,
        most=config.spike_recoveries,
        factor=config.spike_factor,
        losses=log.losses,
    )
    training = loop.TrainingLoop(
        training_model,
        checkpoints,
        log,
        workers=run.workers,
        evaluate=run.make_evaluation(training_model.model) if evaluated else None,
        best=best,
        log_every_steps=config.log_every_steps,
        evaluate_every_steps=_steps_between_evaluations(run),
        patience=run.experiment.evaluation.patience if evaluated else 0,
        skip_nonfinite=skip_nonfinite,
        recoveries=recoveries,
        callbacks=_callbacks(run),
    )
    for phase in phases:
        if start_step < phase.stop or phase is phases[-1]:
            _train_phase(run, training, phase, max(start_step, phase.start), recoveries)
    score = best.score() if evaluated and run.workers.is_chief else None
    if score is None:
        return {}
    return run.write_results(score["step"], score["metrics"], total_steps)


def _prepare_folder(run: RunSetup) -> None:
    """The chief writes the files that explain the model; all see whether they have the same folder.

    Raises:
        InputError: the chief cannot use the folder, or another worker does not see it.
    """
    workers = run.workers
    failure: InputError | OSError | None = None
    if workers.is_chief:
        try:
            second = run.experiment.second_phase.path
            run.folder.prepare(
                run.experiment,
                run.encoder_config,
                run.data.manifest,
                run.data.folder,
                second_dir=to_path(second) if second else None,
            )
        except (InputError, OSError) as error:
            failure = error
    if workers.any(failure is not None):
        raise failure or InputError("the chief cannot start this run: its last line says why")
    if workers.count == 1:
        return
    config = run.folder.path / CONFIG_NAME
    chiefs = workers.from_chief([zlib.crc32(config.read_bytes()) if workers.is_chief else 0])[0]
    deadline = time.monotonic() + _NETWORK_DRIVE_SECONDS
    while not (same := config.exists() and zlib.crc32(config.read_bytes()) == chiefs):
        if time.monotonic() > deadline:
            break
        time.sleep(1.0)
    if workers.any(not same):
        raise InputError(
            f"--model_dir={run.folder.path}: not all workers see the {CONFIG_NAME} that the chief "
            "has written there: name a folder on a drive that all of them share"
        )


def _check_same_start(run: RunSetup, training_model: TrainingModel, start_step: int) -> None:
    """Whether all workers start from the same step and the same weights."""
    if run.workers.count == 1:
        return
    checksum = 0
    for variable in (*training_model.model.variables, *training_model.optimizer.variables):
        checksum = zlib.crc32(variable.numpy().tobytes(), checksum)
    step, chiefs = run.workers.from_chief([start_step, checksum])
    if run.workers.any((step, chiefs) != (start_step, checksum)):
        raise InputError(
            f"the workers start from different checkpoints (the chief from step {step:.0f}, this "
            f"one from step {start_step}): --model_dir={run.folder.path} must be one folder that "
            "all of them share"
        )


def _callbacks(run: RunSetup) -> list[tf_keras.callbacks.Callback]:
    config = run.experiment.train
    callbacks = [load_class(name, tf_keras.callbacks.Callback)() for name in config.callbacks]
    if config.profile_steps and run.workers.is_chief:
        first, last = config.profile_steps
        callbacks.append(StepProfile(run.folder.path / TENSORBOARD_NAME, first, last))
    return callbacks


def _train_phase(
    run: RunSetup,
    training: loop.TrainingLoop,
    phase: Phase,
    start_step: int,
    recoveries: Recoveries,
) -> None:
    def batch_number(step: int) -> int:
        return step - phase.start + recoveries.offset(step, since=phase.start)

    split = run.experiment.data.train_split
    with phase.pipeline.bad_records_named(split), run.workers.losses_named():
        try:
            training.run(
                lambda step: phase.pipeline.training_dataset(batch_number(step)),
                start_step=start_step,
                stop_step=phase.stop,
            )
        except loop.NonFiniteLossError as error:
            _report_nonfinite(run, error, phase, batch_number(error.step))


def _phases(run: RunSetup, total_steps: int) -> list[Phase]:
    second = run.experiment.second_phase
    if not second.path:
        return [Phase(run.pipeline, 0, total_steps)]
    data = PreparedData(second.path, run.experiment)
    for name in ("vocab_sha256", "labels"):
        if getattr(data.manifest, name) != getattr(run.data.manifest, name):
            raise InputError(
                f"{second.path} has another {name} than {run.data.folder}: both phases "
                "train one model"
            )
    pipeline = InputPipeline(
        data,
        run.encoder_config,
        run.experiment,
        batch_size=second.batch_size or run.experiment.train.batch_size,
        num_replicas=run.strategy.num_replicas_in_sync,
    )
    switch = round(total_steps * second.start)
    return [Phase(run.pipeline, 0, switch), Phase(pipeline, switch, total_steps)]


def _make_training_model(run: RunSetup, phases: Sequence[Phase]) -> TrainingModel:
    experiment = run.experiment
    model = run.make_model()
    training_model = TrainingModel(
        model,
        run.task,
        seed=experiment.train.seed,
        accumulate_steps=experiment.train.accumulate_steps,
        max_grad_norm=experiment.optimizer.max_grad_norm,
    )
    config = experiment.optimizer
    optimizer = make_optimizer(
        config.kind,
        learning_rate=CountedSchedule(
            learning_rate_schedule(experiment, phases), training_model.global_step
        ),
        weight_decay=config.weight_decay,
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.epsilon,
        bias_correction=config.bias_correction,
    )
    if config.layer_decay < 1.0:
        # Before `compile`, which wraps the optimizer where losses are scaled.
        optimizer.set_rate_shares(layer_rate_shares(model.encoder, config.layer_decay))
    training_model.compile(
        optimizer=optimizer,
        steps_per_execution=experiment.train.steps_per_execution,
        jit_compile=experiment.runtime.jit_compile,
    )
    training_model.optimizer.build(training_model.trainable_variables)
    return training_model


def _steps_between_evaluations(run: RunSetup) -> float:
    config = run.experiment.evaluation
    if config.every_steps or not config.every_epochs:
        return config.every_steps
    records = run.num_records() * config.every_epochs
    return max(1.0, records / run.pipeline.records_per_batch)


def _report_nonfinite(
    run: RunSetup, error: loop.NonFiniteLossError, phase: Phase, batch_number: int
) -> None:
    """Writes nonfinite.json and raises an InputError that names it."""
    if not run.workers.is_chief:
        raise InputError(f"{error}; the chief has written a report") from error
    records = [
        {"file": os.path.basename(file), "record": number}
        for file, number in phase.pipeline.record_locations(batch_number)
    ]
    path = run.folder.write_nonfinite({"step": error.step, "logs": error.logs, "records": records})
    raise InputError(
        f"{error}; the last checkpoint is good; {path} has the records and gradient norms "
        "(a lower learning rate helps, or --on_nonfinite=skip to leave such batches out)"
    ) from error


def _check_name(model_dir: pathlib.Path) -> None:
    """TensorFlow removes old checkpoints by pattern: in m[1] it would remove those of m1."""
    full = str(absolute(model_dir))
    if any(letter in full for letter in "*?[]\\"):
        raise InputError(
            f"--model_dir={model_dir}: TensorFlow takes *, ?, [, ] and \\ in the path of a "
            f"checkpoint for patterns, here in {full}: choose a path without them"
        )
