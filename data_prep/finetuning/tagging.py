"""Named entities and other tags of words: CoNLL files -> examples -> records."""

from __future__ import annotations

import collections
import functools
import itertools
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from absl import logging

from data_prep.finetuning.base import DataSet, Example, Record
from data_prep.finetuning.settings import Settings
from data_prep.finetuning.tagging_files import read_tagged_file
from data_prep.finetuning.tagging_records import TaggingConverter
from data_prep.finetuning.tagging_schemes import iob2_labels, types_of
from official_bert.errors import InputError

# Names under which data sets have been published, beside train.txt and the like.
_FILE_NAMES = {
    "train": ("train.txt", "train.conll", "train.tsv", "eng.train", "wnut17train.conll"),
    "dev": (
        "dev.txt",
        "dev.conll",
        "dev.tsv",
        "valid.txt",
        "eng.testa",
        "testa.txt",
        "emerging.dev.conll",
    ),
    "test": (
        "test.txt",
        "test.conll",
        "test.tsv",
        "eng.testb",
        "testb.txt",
        "emerging.test.annotated",
    ),
}
_SENTENCES_AT_ONCE = 256


class TaggingDataSet(DataSet):
    """CoNLL files as published, or anyone's own.

    Args:
        settings: with the flags `document_context` and `tag_scheme` ("auto" or a convention).

    Raises:
        InputError: no file, or one that is not as it should be.
    """

    record_kind = "tagging"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._document_context = settings.flags.document_context
        read = {
            split: read_tagged_file(path, settings.flags.tag_scheme, self.bad_rows)
            for split, path in self.files.items()
        }
        self._sentences = {split: sentences for split, (sentences, _) in read.items()}
        self.labels = iob2_labels(self._types())
        self.options = {
            "document_context": self._document_context,
            "tag_schemes": {split: scheme for split, (_, scheme) in read.items()},
        }
        self._counts: dict[str, collections.Counter[str]] = {}

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """Those in the folder with a known name."""
        if data_dir is None:
            raise InputError("no data: give --data_dir, or --train_file, --dev_file, --test_file")
        found = {}
        for split, names in _FILE_NAMES.items():
            present = [data_dir / name for name in names if (data_dir / name).is_file()]
            if len(present) > 1:
                raise InputError(
                    f"{data_dir} has {' and '.join(path.name for path in present)}: "
                    f"say which by --{split}_file"
                )
            if present:
                found[split] = present[0]
        if not found:
            known = ", ".join(name for names in _FILE_NAMES.values() for name in names)
            raise InputError(
                f"--data_dir={data_dir} has none of {known}: give --train_file and so on"
            )
        return found

    def examples(self, split: str) -> Iterator[Example]:
        """{"sentence_id", "document", "words", "tags", "lines", "before", "after"}."""
        for number, sentence in enumerate(self._sentences[split]):
            yield {
                "sentence_id": number,
                "document": sentence.document,
                "words": sentence.words,
                "tags": sentence.tags,
                "lines": sentence.lines,
                "before": sentence.before,
                "after": sentence.after,
            }

    def records(self, split: str, examples: Iterable[Example]) -> Iterator[Record]:
        """The windows of each sentence, see `TaggingConverter`."""
        counts = self._counts[split] = collections.Counter()
        for group in self._groups(examples):
            words = [example["words"] for example in group]
            pieces = self._converter.pieces(words)
            windows = np.bincount(pieces.windows[:, 0], minlength=len(group))
            counts["sentences"] += len(group)
            counts["words"] += sum(map(len, words))
            counts["entities"] += sum(tag[0] == "B" for example in group for tag in example["tags"])
            counts["pieces"] += len(pieces.ids)
            counts["sentences_in_windows"] += int((windows > 1).sum())
            counts["words_without_pieces"] += pieces.unknown
            counts["words_cut"] += pieces.cut
            yield from self._converter.records(group, pieces)

    def statistics(self) -> dict[str, Any]:
        """What was counted, by split."""
        return {split: dict(counts) for split, counts in self._counts.items()}

    @functools.cached_property
    def _converter(self) -> TaggingConverter:
        settings = self.settings
        return TaggingConverter(
            settings.tokenizer,
            settings.vocab,
            self.labels,
            settings.max_seq_length,
            self._document_context,
        )

    def _groups(self, examples: Iterable[Example]) -> Iterator[list[Example]]:
        """What is tokenized at once: a document where it is the context, else some sentences."""
        if self._document_context:
            for _, document in itertools.groupby(examples, lambda example: example["document"]):
                yield list(document)
            return
        remaining = iter(examples)
        while group := list(itertools.islice(remaining, _SENTENCES_AT_ONCE)):
            yield group

    def _types(self) -> list[str]:
        """The entity types of all files."""
        by_split = {
            split: types_of([sentence.tags for sentence in sentences])
            for split, sentences in self._sentences.items()
        }
        found = sorted(set().union(*by_split.values()))
        if not found:
            raise InputError(f"no entity in {', '.join(map(str, self.sources))}: all tags are O")
        for split, types in by_split.items():
            if missing := sorted(set(types) - set(by_split.get("train", found))):
                logging.warning(
                    "%s has types that the training file has not, and that no model can learn: %s",
                    self.files[split],
                    ", ".join(missing),
                )
        return found
