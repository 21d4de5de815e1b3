"""A run from its config to its model folder: what `official_bert.train` and `evaluate` do."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

from official_bert.experiment import ExperimentConfig
from official_bert.runs import evaluation, training
from official_bert.runs.run_folder import RunFolder
from official_bert.runs.setup import RunSetup


class Run:
    """One training or evaluation: the config, the data and the model that belong together.

    Args:
        experiment: see `load_experiment`; it is not changed.
        model_dir: the model folder; made if it is not there.
        tpu: address of the TPU to train on.
        trained: the experiment is that of a model folder whose own weights are used: the checkpoint
            that it started from is not read, and may be gone.

    Raises:
        InputError: config, prepared data and model folder do not go together.
    """

    def __init__(
        self,
        experiment: ExperimentConfig,
        model_dir: str | os.PathLike[str],
        *,
        tpu: str | None = None,
        trained: bool = False,
    ):
        self._setup = RunSetup(experiment, model_dir, tpu=tpu, trained=trained)

    @classmethod
    def of_trained(
        cls,
        model_dir: str | os.PathLike[str],
        *,
        data_path: str | None = None,
        eval_split: str | None = None,
    ) -> Run:
        """The run of a model folder, to evaluate or to predict with.

        Args:
            model_dir: the folder.
            data_path: prepared data; None: what the model was trained on.
            eval_split: the split to evaluate on; None: the run's.

        Raises:
            InputError: it is no model folder, or the data does not go with it.
        """
        experiment = RunFolder(model_dir).experiment()
        # The devices of this machine, whatever the training ran on.
        experiment.runtime.strategy, experiment.runtime.num_gpus = "auto", None
        if data_path is not None:
            experiment.data.path = data_path
        if eval_split is not None:
            experiment.data.eval_split = eval_split
        return cls(experiment, model_dir, trained=True)

    def train(self, *, evaluate: bool, skip_nonfinite: bool) -> dict[str, float]:
        """Trains to the end, from where the model folder stands.

        Args:
            evaluate: on the evaluation split, during and after training, if the data has it.
            skip_nonfinite: go on after steps whose loss is not finite.

        Returns:
            The metrics in `eval_results.json`; {} without evaluation.

        Raises:
            InputError: also for a record that cannot be used.
            Interrupted: asked to stop; the same command goes on.
        """
        return training.train(self._setup, evaluate=evaluate, skip_nonfinite=skip_nonfinite)

    def watch(self, *, timeout: float) -> dict[str, float]:
        """Evaluates each checkpoint that a training, in another process, writes into the folder.

        Keeps `best/` and the results as `train` does, and ends with the checkpoint of the last
        step; a checkpoint that is replaced while another is evaluated is passed over.

        Args:
            timeout: end, too, when nothing new came for so many seconds.

        Returns:
            The metrics in `eval_results.json`.

        Raises:
            InputError: no checkpoint came, or a record cannot be used.
        """
        return evaluation.watch(self._setup, timeout=timeout)

    def evaluate(self) -> dict[str, float]:
        """Evaluates the best model of the folder, or its newest checkpoint; writes the results.

        Raises:
            InputError: the folder has no model, or a record cannot be used.
        """
        return evaluation.evaluate(self._setup)

    def predict(
        self, split: str, output_dir: str | os.PathLike[str], *, others: Sequence[str] = ()
    ) -> list[pathlib.Path]:
        """Writes the task's prediction files for a split of the prepared data, labelled or not.

        Args:
            split: the split.
            output_dir: a folder; made if it is not there.
            others: further model folders, which answer together with this one.

        Returns:
            the files.

        Raises:
            InputError: the folder has no model, the task writes no predictions, or a record cannot
                be used.
        """
        return evaluation.predict(self._setup, split, output_dir, others=others)
