"""The model folder of a run, with the config and the data that it was started with."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.data.manifest import MANIFEST_NAME, Manifest, sha256_of_file
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig, load_experiment
from official_bert.model_folder import (
    BERT_CONFIG_NAME,
    CONFIG_NAME,
    PREPARED_DATA_NAME,
    TOKENIZER_CONFIG_NAME,
    VOCAB_NAME,
    ModelFolder,
    write_labels,
)

# What may change between two starts of the same run: it does not touch the weights.
_FREE = {
    "evaluation",
    "runtime",
    "train.log_every_steps",
    "train.checkpoint_every_steps",
    "train.checkpoint_every_seconds",
    "train.keep_checkpoints",
}


class RunFolder(ModelFolder):
    """A model folder as a run starts it, or finds it and goes on."""

    def prepare(
        self,
        experiment: ExperimentConfig,
        encoder_config: BertConfig,
        manifest: Manifest,
        data_dir: pathlib.Path,
    ) -> None:
        """Writes the files that explain the model: both configs, tokenizer, vocabulary, labels.

        Raises:
            InputError: the folder holds another run, or one with another vocabulary; a label has a
                line break in it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / CONFIG_NAME).exists():
            self._check_same_run(experiment.as_dict())
            self._check_vocabulary(manifest, data_dir)
        for name, copy in (
            (VOCAB_NAME, VOCAB_NAME),
            (TOKENIZER_CONFIG_NAME, TOKENIZER_CONFIG_NAME),
            (MANIFEST_NAME, PREPARED_DATA_NAME),
        ):
            shutil.copyfile(data_dir / name, self.path / copy)
        with atomic_file(self.path / BERT_CONFIG_NAME) as file:
            file.write(encoder_config.to_json())
        if manifest.labels:
            write_labels(self.path, manifest.labels)
        experiment.save(self.path / CONFIG_NAME)

    def experiment(self) -> ExperimentConfig:
        """The resolved config of the run.

        Raises:
            InputError: there is none.
        """
        if not (self.path / CONFIG_NAME).exists():
            raise InputError(f"{self.path} has no {CONFIG_NAME}: it is not a model folder")
        return load_experiment([self.path / CONFIG_NAME])

    def _check_same_run(self, given: dict[str, Any]) -> None:
        # Read as a config: a field that is newer than the run has its default there.
        before, now = (_fixed_fields(config) for config in (self.experiment().as_dict(), given))
        for name in now:
            if now[name] != before[name]:
                raise InputError(
                    f"{self.path} holds a run with {name} {before[name]!r}, now it is "
                    f"{now[name]!r}: choose another --model_dir, or the same setting to go on"
                )

    def _check_vocabulary(self, manifest: Manifest, data_dir: pathlib.Path) -> None:
        sha256 = sha256_of_file(self.path / VOCAB_NAME)
        if sha256 != manifest.vocab_sha256:
            raise InputError(
                f"the vocabulary of {self.path} has sha256 {sha256}, that of {data_dir} "
                f"{manifest.vocab_sha256}: prepare the data with the model's vocab.txt"
            )


def _fixed_fields(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"train": {"seed": 1, "keep_checkpoints": 3}} -> {"train.seed": 1}."""
    fields: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if name in _FREE:
            continue
        fields |= _fixed_fields(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return fields
