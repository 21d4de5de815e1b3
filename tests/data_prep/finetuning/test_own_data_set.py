"""A data set of one's own: a class outside of the package, named on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from data_prep.finetuning.datasets import find_class, make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from tests.finetuning_data import TOKENS, read_records, settings, values
from tests.public_data import ROOT

REVIEWS = """
import numpy as np

from data_prep.finetuning.base import DataSet
from data_prep.finetuning.delimited import read_tsv
from data_prep.finetuning.sentences import SentenceDataSet
from official_bert.errors import InputError


class Short(SentenceDataSet):
    def find_files(self, data_dir):
        return {split: data_dir / f"{split}.tsv" for split in ("train", "dev")}

    def find_labels(self):
        return ["bad", "good"]

    def examples(self, split):
        for line, (grade, text) in read_tsv(self.files[split]):
            yield {
                "id": line,
                "text_a": text,
                "label": grade,
                "label_id": self.labels.index(grade),
            }


class Whole(DataSet):
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


class NoFiles(SentenceDataSet):
    def find_labels(self):
        return []


class OtherKind(Whole):
    record_kind = "sentences"


class NoMask(Whole):
    def records(self, split, examples):
        for record in super().records(split, examples):
            del record["input_mask"]
            yield record


class Misspelt(Whole):
    def records(self, split, examples):
        for record in super().records(split, examples):
            yield {**record, "labels_ids": record["label_ids"]}


class NoDataSet:
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own_reviews.py").write_text(REVIEWS)
    (tmp_path / "train.tsv").write_text("good\ta film\nbad\tthe book was bad\nfair\ta book\n")
    (tmp_path / "dev.tsv").write_text("bad\tnot good\n")
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return tmp_path


def _prepare(folder, *arguments):
    return subprocess.run(
        [
            sys.executable, "-m", "data_prep.create_finetuning_data", f"--data_dir={folder}",
            f"--vocab_file={folder / 'vocab.txt'}", f"--output_dir={folder / 'data'}", *arguments,
        ],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip


def _write(folder, name):
    given = settings(name, folder)
    write_folder(make_data_set(given), given, folder / "data", num_shards=1, overwrite=False)


def test_a_class_of_ones_own_on_the_command_line(folder):
    process = _prepare(folder, "--task=own_reviews:Whole", "--skip_bad_rows", "--max_seq_length=5")
    assert process.returncode == 0, process.stderr
    manifest = Manifest.load(folder / "data")
    assert (manifest.task, manifest.dataset) == ("sentence_prediction", "own_reviews:Whole")
    assert manifest.labels == ["bad", "good"]
    assert manifest.statistics == {
        "skipped_rows": [f"{folder / 'train.tsv'}, line 3: grade 'fair' is unknown"]
    }
    bad, good = sorted(
        read_records(folder / "data", "train"), key=lambda record: values(record, "label_ids")
    )
    cls, sep, a, the, film, book, was = 2, 3, 12, 11, 9, 10, 14
    assert values(good, "input_ids") == [cls, a, film, sep]
    assert values(good, "label_ids") == [1]
    assert values(bad, "input_ids") == [cls, the, book, was, sep]
    assert values(bad, "label_ids") == [0]
    rows = (folder / "data" / "dev.examples.jsonl").read_text().splitlines()
    assert [json.loads(row) for row in rows] == [{"id": 1, "text_a": "not good", "label": "bad"}]


def test_texts_with_labels_need_files_labels_and_examples_only(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "train.tsv").write_text("good\ta film\n")
    _write(folder, "own_reviews:Short")
    (record,) = read_records(folder / "data", "train")
    assert values(record, "input_ids") == [2, 12, 9, 3]
    assert values(record, "label_ids") == [1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_reviews:NoFiles", "the class lacks examples, find_files: see data_prep.finetuning.b"),
        ("own_reviews:OtherKind", "record_kind of the class is 'sentences': it must be one of pre"),
        ("own_reviews:NoDataSet", "is no subclass of data_prep.finetuning.base.DataSet"),
        ("own_reviews:Absent", "own_reviews has no class Absent"),
        ("own_reviews", "give one of cola, sst2, .*, or a class: package.module:Class"),
        ("cola2", "--task=cola2: give one of cola"),
        ("own_revues:Whole", "there is no module own_revues"),
        ("own_reviews:", "names no class: write package.module:Class"),
        (":Whole", "names no class: write package.module:Class"),
        ("own reviews:Whole", "names no class: write package.module:Class"),
    ],
)
def test_a_name_that_is_no_data_set(folder, monkeypatch, name, message):
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(InputError, match=message):
        find_class(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoMask", "lacks the feature 'input_mask'"),
        ("Misspelt", "labels_ids: a sentence_prediction record has no such feature"),
    ],
)
def test_records_that_are_not_of_their_kind(folder, monkeypatch, name, message):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "train.tsv").write_text("good\ta film\n")
    with pytest.raises(InputError, match=message):
        _write(folder, f"own_reviews:{name}")
    assert not (folder / "data").exists()
