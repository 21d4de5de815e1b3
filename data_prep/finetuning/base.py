"""The contract of a data set for fine-tuning: files -> examples -> records.

`create_finetuning_data` does everything else: it finds the class, makes the tokenizer, writes the
shards, the raw rows and the manifest. A class of one's own needs no change of this package:
`--task=my_package.my_module:MyDataSet`.
"""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from numpy.typing import NDArray

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.settings import Settings

# A row of a data set as a JSON object: {"id": 7, "text_a": "fine", "label": "good", …}.
Example = dict[str, Any]
# The features of one record without padding, by the names in `official_bert/data/records.py`.
Record = dict[str, NDArray[Any]]


class DataSet(abc.ABC):
    """A data set: which files it has, the examples in them, and the records made of these.

    A whole one, for files of lines `grade<TAB>text`:

        class Reviews(DataSet):
            record_kind = "sentence_prediction"

            def __init__(self, settings):
                super().__init__(settings)
                self.labels = ["bad", "good"]
                self.options = {"problem": "classification", "text_inputs": ["text"]}

            def find_files(self, data_dir):
                found = {split: data_dir / f"{split}.tsv" for split in ("train", "dev")}
                return {split: path for split, path in found.items() if path.is_file()}

            def examples(self, split):
                path = self.files[split]

                def example(row):
                    line, (grade, text) = row
                    if grade not in self.labels:
                        raise InputError(f"{path}, line {line}: grade {grade!r} is unknown")
                    return {"id": line, "text_a": text, "label": grade}

                yield from self.bad_rows.keep_good(read_tsv(path), example)

            def records(self, split, examples):
                for number, example in enumerate(examples):
                    ids = self.settings.tokenizer.tokenize([example["text_a"]]).numpy()[0]
                    ids = ids[: self.settings.max_seq_length - 2]
                    ids = [self.settings.vocab.cls_id, *ids, self.settings.vocab.sep_id]
                    yield {
                        "input_ids": np.array(ids),
                        "input_mask": np.ones(len(ids), np.int64),
                        "segment_ids": np.zeros(len(ids), np.int64),
                        "label_ids": np.array([self.labels.index(example["label"])]),
                        "example_id": np.array([number]),
                    }

    For the line "good<TAB>a film" the example is {"id": 1, "text_a": "a film", "label": "good"},
    and the record has input_ids [CLS] a film [SEP] and label_ids [1]. A data set of texts with
    labels is shorter on `data_prep.finetuning.sentences.SentenceDataSet`, which has `records`.

    Args:
        settings: of the run.

    Attributes:
        record_kind: which records it makes, a key of `official_bert.data.records.RECORD_KINDS`;
            training takes the task of the same name.
        default_max_seq_length: the longest record in tokens, unless --max_seq_length says it.
        settings: of the run.
        files: split ("train", "dev", "test" and so on) -> file, in the order of writing.
        labels: label names in id order; empty where there are none.
        options: what training and serving must know, as JSON values; for the manifest.
        bad_rows: what to do with a row that is not as it should be.

    `labels` and `options` are read after the last record was made.

    Raises:
        InputError: there is no file, a file is not as it should be, or a flag is out of range.
    """

    record_kind: ClassVar[str] = ""
    default_max_seq_length: ClassVar[int] = 128

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.files = dict(settings.files) or self.find_files(settings.data_dir)
        self.labels: list[str] = []
        self.options: dict[str, Any] = {}
        self.bad_rows = BadRows(skip=settings.flags.skip_bad_rows)

    @abc.abstractmethod
    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """Split -> file in the folder of --data_dir; asked where no single file was given.

        Raises:
            InputError: no folder was given, or none of the files is there; names them.
        """

    @property
    def splits(self) -> list[str]:
        """Names of the splits, in the order of writing."""
        return list(self.files)

    @property
    def sources(self) -> list[pathlib.Path]:
        """The files that are read, each once; their hashes go into the manifest."""
        return list(dict.fromkeys(self.files.values()))

    @abc.abstractmethod
    def examples(self, split: str) -> Iterator[Example]:
        """The rows of a split as JSON objects, in the order of the file.

        They are written to `<split>.examples.jsonl`, from which scores and predictions are made.

        Raises:
            InputError: a row is not as it should be; names file and line. With `bad_rows` such rows
                are left out where the user asked for it.
        """

    @abc.abstractmethod
    def records(self, split: str, examples: Iterable[Example]) -> Iterator[Record]:
        """The features of each record, without padding; one or several records an example."""

    def why_no_records(self, split: str) -> str:
        """Why a split gave no record, for the message; asked where that happened."""
        return "it has no rows"

    def statistics(self) -> dict[str, Any]:
        """What was counted, as JSON values; asked after the last split, for the manifest."""
        return {}
