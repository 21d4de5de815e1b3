"""The parts of a run that read different prepared data, one after the other.

Short sequences first: attention costs S^2 a sequence, and only the position embeddings of the end
need the long ones (Devlin et al. 2019, A.2).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import tf_keras

from official_bert.experiment import ExperimentConfig
from official_bert.runs.input_pipeline import InputPipeline
from official_bert.training.optimization import PhasedSchedule, warm_up_and_decay


@dataclasses.dataclass(frozen=True)
class Phase:
    """Steps [start, stop) of a run, and where their batches come from."""

    pipeline: InputPipeline
    start: int
    stop: int


def learning_rate_schedule(
    experiment: ExperimentConfig, phases: Sequence[Phase]
) -> tf_keras.optimizers.schedules.LearningRateSchedule:
    """One schedule over all phases; or one for each, where the second has a rate of its own."""
    optimizer, second = experiment.optimizer, experiment.second_phase
    own_rate = second.learning_rate if len(phases) > 1 else None
    total_steps = phases[-1 if own_rate is None else 0].stop
    warmup_steps = optimizer.warmup_steps
    if warmup_steps is None:
        warmup_steps = round(total_steps * optimizer.warmup_proportion)
    schedule = functools.partial(
        warm_up_and_decay,
        schedule=optimizer.schedule,
        end_learning_rate=optimizer.end_learning_rate,
        power=optimizer.power,
    )
    first = schedule(optimizer.learning_rate, warmup_steps, total_steps)
    if own_rate is None:
        return first
    steps = phases[1].stop - phases[1].start
    again = schedule(own_rate, round(steps * second.warmup_proportion), steps)
    return PhasedSchedule(first, again, switch_step=phases[1].start)
