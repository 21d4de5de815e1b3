"""The model folder of a run, with the config and the data that it was started with."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.data.manifest import MANIFEST_NAME, Manifest, sha256_of_file
from official_bert.errors import InputError, shown
from official_bert.experiment import ExperimentConfig, load_experiment
from official_bert.json_file import read_json
from official_bert.model_folder import (
    BERT_CONFIG_NAME,
    CONFIG_NAME,
    PREPARED_DATA_NAME,
    SECOND_PHASE_DATA_NAME,
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
    "train.background_checkpoints",
    "train.callbacks",
    "train.profile_steps",
    # The batches that a run left out stand in its folder.
    "train.spike_factor",
    "train.spike_recoveries",
}
# What stands in a manifest but says nothing of the records.
_NOT_COMPARED = {"statistics", "version"}


class RunFolder(ModelFolder):
    """A model folder as a run starts it, or finds it and goes on."""

    def prepare(
        self,
        experiment: ExperimentConfig,
        encoder_config: BertConfig,
        manifest: Manifest,
        data_dir: pathlib.Path,
        *,
        second_dir: pathlib.Path | None = None,
    ) -> None:
        """Writes the files that explain the model: both configs, tokenizer, vocabulary, labels.

        Args:
            experiment: the resolved config.
            encoder_config: the shape of the encoder.
            manifest: of the prepared data.
            data_dir: the prepared data.
            second_dir: that of the second phase.

        Raises:
            InputError: the folder holds another run, one on other data, or one with another
                vocabulary; a label has a line break in it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / CONFIG_NAME).exists():
            moved = {
                field
                for field, name, folder in (
                    ("data.path", PREPARED_DATA_NAME, data_dir),
                    ("second_phase.path", SECOND_PHASE_DATA_NAME, second_dir),
                )
                if folder is not None and self._check_same_data(name, folder)
            }
            self._check_same_run(experiment.as_dict(), moved)
            self._check_vocabulary(manifest, data_dir)
        self._copy(data_dir / VOCAB_NAME, VOCAB_NAME)
        self._copy(data_dir / TOKENIZER_CONFIG_NAME, TOKENIZER_CONFIG_NAME)
        self._copy(data_dir / MANIFEST_NAME, PREPARED_DATA_NAME)
        if second_dir is not None:
            self._copy(second_dir / MANIFEST_NAME, SECOND_PHASE_DATA_NAME)
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

    def _copy(self, source: pathlib.Path, name: str) -> None:
        content = source.read_bytes()
        with atomic_file(self.path / name, "wb") as file:
            file.write(content)

    def _check_same_data(self, name: str, folder: pathlib.Path) -> bool:
        """Whether data is known to be what the run began with, wherever it lies now."""
        if not (self.path / name).exists():
            return False
        before, now = read_json(self.path / name), dataclasses.asdict(Manifest.load(folder))
        for field in now.keys() - _NOT_COMPARED:
            # A field that is newer than the run says nothing.
            if field in before and before[field] != now[field]:
                old, new = _first_difference(field, before[field], now[field])
                raise InputError(
                    f"{self.path} holds a run on other data: {old}, and {folder} has {new}: give "
                    "the data that it began with, or choose another --model_dir"
                )
        return True

    def _check_same_run(self, given: dict[str, Any], moved: set[str]) -> None:
        # Read as a config: a field that is newer than the run has its default there.
        before, now = (_fixed_fields(config) for config in (self.experiment().as_dict(), given))
        for name in now.keys() - moved:
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


def _first_difference(name: str, before: Any, now: Any) -> tuple[str, str]:
    """("splits", {"train": 1}, {"train": 2}) -> ("splits.train 1", "2")."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            if before.get(key) != now.get(key):
                return _first_difference(f"{name}.{key}", before.get(key), now.get(key))
    return f"{name} {shown(before)}", shown(now)
