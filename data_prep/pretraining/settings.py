"""Everything that decides what prepared pretraining data holds."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from data_prep.pretraining.records import RecordRule
from data_prep.text.segmenters import check_segmenter
from official_bert.data.manifest import sha256_of_file
from official_bert.errors import InputError
from official_bert.path import is_url

HELD_OUT_SPLIT = "dev"


@dataclasses.dataclass(frozen=True)
class PretrainingSettings:
    """What to make of which files; two runs with equal settings write equal records.

    Attributes:
        inputs: text files, in the order in which their documents are numbered.
        vocab_file: vocab.txt.
        lower_case: lower-case the text and strip accents.
        records: what the records hold.
        dupe_factor: passes over each document of `split`, with new cuts and masks each time. The
            held-out documents get one.
        seed: of every random choice.
        split: name of the split of the documents that are not held out.
        dev_fraction: share of documents that are held out as the split "dev".
        num_shards: files of `split`.
        gzip: compress them.
        word_segmenter: "jieba" finds the words of Chinese text for whole-word masking; "" leaves
            that to the "##" of the vocabulary.
    """

    inputs: tuple[str, ...]
    vocab_file: str
    lower_case: bool
    records: RecordRule
    dupe_factor: int = 10
    seed: int = 12345
    split: str = "train"
    dev_fraction: float = 0.0
    num_shards: int = 8
    gzip: bool = False
    word_segmenter: str = ""

    def __post_init__(self) -> None:
        """Raises InputError naming the flag, its value and what it may be."""
        rule, masking = self.records.instances, self.records.masking
        if self.records.masks != "none" and masking.max_predictions_per_seq > rule.room:
            raise InputError(
                f"max_predictions_per_seq={masking.max_predictions_per_seq} is above "
                f"{rule.room}, the tokens of text in max_seq_length={rule.max_seq_length}: "
                "give about 0.15 * max_seq_length"
            )
        for name in ("dupe_factor", "num_shards"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} is below 1")
        if self.seed < 0:
            raise InputError(f"random_seed={self.seed} is below 0")
        if not 0 <= self.dev_fraction < 1:
            raise InputError(f"dev_fraction={self.dev_fraction} is outside [0, 1): give a share")
        if self.dev_fraction and self.split == HELD_OUT_SPLIT:
            raise InputError(
                f"split={self.split} is the name of the held-out documents: "
                "give another one, or leave dev_fraction out"
            )
        if self.word_segmenter:
            check_segmenter(self.word_segmenter)
            if not masking.whole_word or self.records.masks != "static":
                raise InputError(
                    f"word_segmenter={self.word_segmenter} is for whole words that are masked in "
                    "the records: set do_whole_word_mask and masking=static"
                )
        if not self.split.isidentifier():
            raise InputError(f"split={self.split!r} is not a name, such as train")

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that are written."""
        return (self.split, HELD_OUT_SPLIT) if self.dev_fraction else (self.split,)

    def passes(self, split: str) -> int:
        """How often the documents of a split are cut."""
        return 1 if self.dev_fraction and split == HELD_OUT_SPLIT else self.dupe_factor

    def shards(self, split: str) -> int:
        """Files of a split; the held-out one has its share of them, but one at least."""
        if self.dev_fraction and split == HELD_OUT_SPLIT:
            return max(1, round(self.num_shards * self.dev_fraction))
        return self.num_shards

    def options(self) -> dict[str, Any]:
        """All settings by name, flat and fit for JSON."""
        flat: dict[str, Any] = {}

        def flatten(values: dict[str, Any]) -> None:
            for name, value in values.items():
                if isinstance(value, dict):
                    flatten(value)
                else:
                    flat[name] = list(value) if isinstance(value, tuple) else value

        flatten(dataclasses.asdict(self))
        return flat

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a run to be taken up again."""
        flat = self.options()
        for path in (*self.inputs, self.vocab_file):
            if is_url(path):
                flat[f"content of {path}"] = sha256_of_file(path)
                continue
            status = os.stat(path)
            flat[f"size and time of {path}"] = [status.st_size, status.st_mtime_ns]
        return flat
