"""SQuAD 1.1 and 2.0 as a data set, and anyone's own files of that layout."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from data_prep.finetuning.base import DataSet, Example, Record
from data_prep.finetuning.settings import Settings
from data_prep.finetuning.squad_files import read_squad
from data_prep.finetuning.squad_records import WindowMaker
from official_bert.errors import InputError, shown
from official_bert.text.windows import WindowRule

# Whether questions may have no answer -> the names that the files were published under.
_FILES = {
    False: {"train": "train-v1.1.json", "dev": "dev-v1.1.json"},
    True: {"train": "train-v2.0.json", "dev": "dev-v2.0.json", "test": "test-v2.0.json"},
}


class SquadDataSet(DataSet):
    """Questions on contexts, cut into windows.

    Args:
        settings: with the flags doc_stride, max_query_length and version_2_with_negative (None: the
            name of the data set says it).

    Raises:
        InputError: there is no file, or a flag is out of range.
    """

    record_kind = "question_answering"
    default_max_seq_length = 384

    def __init__(self, settings: Settings) -> None:
        flags = settings.flags
        v2 = flags.version_2_with_negative
        self._v2 = settings.dataset == "squad_v2" if v2 is None else v2
        self._rule = WindowRule(
            max_seq_length=settings.max_seq_length,
            doc_stride=flags.doc_stride,
            max_query_length=flags.max_query_length,
        )
        super().__init__(settings)
        self.options = {
            "doc_stride": self._rule.doc_stride,
            "max_query_length": self._rule.max_query_length,
            "version_2_with_negative": self._v2,
        }
        self._makers: dict[str, WindowMaker] = {}

    def examples(self, split: str) -> Iterator[Example]:
        """The questions of a split, see `squad_files`."""
        return read_squad(
            self.files[split],
            allow_impossible=self._v2,
            with_answers=split != "test",
            bad_rows=self.bad_rows,
        )

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[Record]:
        """The windows of a split, see `squad_records`."""
        settings = self.settings
        self._makers[split] = WindowMaker(
            settings.tokenizer, settings.vocab, self._rule, for_training=split == "train"
        )
        return self._makers[split].records(examples)

    def statistics(self) -> dict[str, Any]:
        """For each split the ids of the questions whose answers are at fault."""
        return {
            f"{split}_answers_{what}": ids
            for split, maker in self._makers.items()
            for what, ids in maker.listed.items()
        }

    def why_no_records(self, split: str) -> str:
        """What to do where no answer was found."""
        maker = self._makers.get(split)
        if maker is None or not maker.listed["not_found"]:
            return super().why_no_records(split)
        reason = (
            f"none of the {len(maker.listed['not_found'])} answers is in its context near "
            f"answer_start; the first is that of question {shown(maker.listed['not_found'][0])}"
        )
        if maker.found_if_normalized:
            reason += (
                f"; {maker.found_if_normalized} are there once both are normalised: one is in NFD "
                "and one in NFC: write the file anew in NFC (unicodedata.normalize)"
            )
        return reason

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """The published names."""
        names = _FILES[self._v2]
        if data_dir is None:
            raise InputError("name files with --train_file, --dev_file and --test_file")
        found = {split: data_dir / name for split, name in names.items()}
        found = {split: path for split, path in found.items() if path.exists()}
        if not found:
            raise InputError(
                f"--data_dir={data_dir} has none of {', '.join(names.values())}: name the files "
                "with --train_file, --dev_file and --test_file"
            )
        return found
