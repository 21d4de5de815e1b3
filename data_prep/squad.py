"""SQuAD 1.1 and 2.0 as a data set, and anyone's own files of that layout."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from absl import logging

from data_prep.squad_files import Row, read_squad
from data_prep.squad_records import Record, WindowMaker
from official_bert.errors import InputError
from official_bert.text.windows import WindowRule

if TYPE_CHECKING:
    from data_prep.finetuning_settings import Settings

# With and without --version_2_with_negative: the names that the files were published under.
_FILES = {
    False: {"train": "train-v1.1.json", "dev": "dev-v1.1.json"},
    True: {"train": "train-v2.0.json", "dev": "dev-v2.0.json", "test": "test-v2.0.json"},
}
_SHOWN = 10
_LISTED = {
    "moved": "answers found near the place that the file says",
    "within_a_word": "answers that begin or end within a token; the whole token is taken",
    "not_found": "answers that are not in their context; in training such questions are left out",
}


class SquadDataSet:
    """Questions on contexts, cut into windows; see contract in `datasets.py`.

    Args:
        settings: with the flags doc_stride, max_query_length and version_2_with_negative.

    Raises:
        InputError: there is no file, or a flag is out of range.
    """

    record_kind = "question_answering"
    labels: list[str] = []

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._v2 = bool(settings.flags["version_2_with_negative"])
        self._rule = WindowRule(
            max_seq_length=settings.max_seq_length,
            doc_stride=settings.flags["doc_stride"],
            max_query_length=settings.flags["max_query_length"],
        )
        self._files = self.find_files(settings, self._v2)
        self.splits = list(self._files)
        self.sources = list(self._files.values())
        self.options: dict[str, Any] = {
            "doc_stride": self._rule.doc_stride,
            "max_query_length": self._rule.max_query_length,
            "version_2_with_negative": self._v2,
        }
        self._makers: dict[str, WindowMaker] = {}

    def find_files(self, settings: Settings, v2: bool) -> dict[str, pathlib.Path]:
        """The file of each split: those that were named, then the published names in the folder."""
        found = dict(settings.files)
        if settings.data_dir is not None:
            for split, name in _FILES[v2].items():
                if split not in found and (settings.data_dir / name).exists():
                    found[split] = settings.data_dir / name
        if not found:
            names = ", ".join(_FILES[v2].values())
            raise InputError(
                f"--data_dir={settings.data_dir} has none of {names}: name files with "
                "--train_file, --dev_file and --test_file"
            )
        return {split: found[split] for split in ("train", "dev", "test") if split in found}

    def examples(self, split: str) -> Iterator[Row]:
        """The questions of a split, see `squad_files`."""
        return read_squad(
            self._files[split], allow_impossible=self._v2, with_answers=split != "test"
        )

    def records(self, split: str, examples: Iterable[Row]) -> Iterator[Record]:
        """The windows of a split."""
        settings = self._settings
        maker = WindowMaker(
            settings.tokenizer, settings.vocab, self._rule, for_training=split == "train"
        )
        self._makers[split] = maker
        yield from maker.records(examples)
        for what, meaning in _LISTED.items():
            if listed := maker.listed[what]:
                more = " …" if len(listed) > _SHOWN else ""
                shown = ", ".join(listed[:_SHOWN]) + more
                logging.warning("%s: %d %s: %s", split, len(listed), meaning, shown)

    def statistics(self) -> dict[str, Any]:
        """Split -> the counts of `WindowMaker` and, in full, the ids of the answers at fault."""
        return {
            split: {**maker.counts, **{f"{k}_ids": ids for k, ids in maker.listed.items() if ids}}
            for split, maker in self._makers.items()
        }
