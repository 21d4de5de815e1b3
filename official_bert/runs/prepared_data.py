"""A folder of prepared data and the task that reads it."""

from __future__ import annotations

import os

from official_bert.config import BertConfig
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.model_folder import VOCAB_NAME
from official_bert.path import to_path
from official_bert.tasks import task_class
from official_bert.text import tokenizer_config
from official_bert.text.vocab import Vocab


class PreparedData:
    """What is read of the folder before the first record: manifest, vocabulary, task.

    Args:
        path: the folder.
        experiment: the run.

    Attributes:
        folder: the folder.
        manifest: its manifest.
        task: the task of the run, as it reads these records.
        lower_case: whether the text was lower-cased.

    Raises:
        InputError: no prepared data, those of another task, or with a changed vocabulary.
    """

    def __init__(self, path: str | os.PathLike[str], experiment: ExperimentConfig):
        self.folder = to_path(path)
        self.manifest = Manifest.load(self.folder)
        task = task_class(experiment.task)
        if self.manifest.task != task.record_kind:
            raise InputError(
                f"{self.folder} holds {self.manifest.task} records; the task "
                f"{experiment.task} reads {task.record_kind} records"
            )
        vocab = self._vocab()
        _, tokenizer = tokenizer_config.load(self.folder, vocab.tokens)
        self.lower_case = tokenizer.lower_case
        try:
            self.task = task(self.manifest, vocab, experiment)
        except InputError as error:
            raise InputError(f"{self.folder}: {error}") from error

    def _vocab(self) -> Vocab:
        vocab = Vocab.from_file(self.folder / VOCAB_NAME)
        if vocab.sha256 != self.manifest.vocab_sha256:
            raise InputError(
                f"{self.folder / VOCAB_NAME} has sha256 {vocab.sha256}, the manifest beside it "
                f"says {self.manifest.vocab_sha256}: prepare the data again"
            )
        return vocab

    def paths(self, split: str) -> list[str]:
        """The files of a split."""
        return self.manifest.shard_paths(self.folder, split)

    def num_records(self, split: str) -> int:
        """Records of a split to train on.

        Raises:
            InputError: there is no such split, or it is empty.
        """
        self.paths(split)
        count: int = self.manifest.splits[split]["num_records"]
        if not count:
            raise InputError(f"the split {split!r} of {self.folder} has no records")
        return count

    def check_fits(self, config: BertConfig) -> None:
        """Checks that an encoder can read these records.

        Raises:
            InputError: other vocabulary size, or sequences longer than the encoder's positions.
        """
        size = self.manifest.vocab_size
        if config.vocab_size != size:
            raise InputError(
                f"model.encoder.vocab_size is {config.vocab_size}, but the vocabulary of "
                f"{self.folder} has {size} entries: leave vocab_size out to take that"
            )
        if self.manifest.max_seq_length > config.max_position_embeddings:
            raise InputError(
                f"{self.folder} has sequences of {self.manifest.max_seq_length} tokens, above "
                f"model.encoder.max_position_embeddings {config.max_position_embeddings}"
            )
