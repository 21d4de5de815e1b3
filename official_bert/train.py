"""Trains a task on prepared data; started again with the same command, it goes on where it was.

  python -m official_bert.train --config_file=configs/pretraining/quickstart.yaml \\
      --params_override='data.path=DATA,train.seed=1' --model_dir=MODEL
"""

from __future__ import annotations

import signal
import sys

from absl import flags

from official_bert import cli

_CONFIG_FILES = flags.DEFINE_multi_string(
    "config_file", [], "YAML config, or several with commas; repeated: the later over the earlier."
)
_OVERRIDES = flags.DEFINE_multi_string(
    "params_override", [], "Fields over the configs: 'train.batch_size=16,data.path=DIR'."
)
_MODEL_DIR = flags.DEFINE_string("model_dir", None, "Model folder.", required=True)
_MODE = flags.DEFINE_enum(
    "mode",
    "train_and_eval",
    ["train", "eval", "train_and_eval"],
    "What to do; eval watches the folder of a training and evaluates its checkpoints.",
)
_EVAL_TIMEOUT = flags.DEFINE_float(
    "eval_timeout", 3600.0, "Seconds without a new checkpoint after which --mode=eval ends."
)
_TPU = flags.DEFINE_string(
    "tpu", None, "Train on the TPU of this name or address; 'local': on the machine's own."
)
_ON_NONFINITE = flags.DEFINE_enum(
    "on_nonfinite",
    "stop",
    ["stop", "skip"],
    "At a loss that is not finite: stop with a report, or leave that batch out.",
)

# EX_TEMPFAIL of sysexits.h: nothing is wrong, run the same command again.
PREEMPTED_STATUS = 75


def main() -> None:
    try:
        results = _run()
    except cli.Terminated:
        # Nothing was to be saved: during the start, or while results are written.
        print("terminated: the same command goes on", file=sys.stderr)
        sys.exit(PREEMPTED_STATUS)
    for name, value in results.items():
        print(f"{name}: {value}")


def _run() -> dict[str, float]:
    from official_bert.experiment import config_files, load_experiment
    from official_bert.path import to_path
    from official_bert.runs.run import Run
    from official_bert.training.stop_signal import Interrupted
    from official_bert.training.workers import WorkerLost

    experiment = load_experiment(config_files(_CONFIG_FILES.value), _OVERRIDES.value)
    run = Run(experiment, to_path(_MODEL_DIR.value), tpu=_TPU.value)
    if _MODE.value == "eval":
        return run.watch(timeout=_EVAL_TIMEOUT.value)
    try:
        return run.train(
            evaluate=_MODE.value == "train_and_eval", skip_nonfinite=_ON_NONFINITE.value == "skip"
        )
    except Interrupted as stop:
        print(f"{stop}: the same command goes on", file=sys.stderr)
        preempted = stop.signal_number == signal.SIGTERM
        sys.exit(PREEMPTED_STATUS if preempted else cli.INTERRUPTED_STATUS)
    except WorkerLost as lost:
        print(f"{lost}: the same command goes on, started on all workers", file=sys.stderr)
        sys.exit(PREEMPTED_STATUS)


if __name__ == "__main__":
    cli.run(main)
