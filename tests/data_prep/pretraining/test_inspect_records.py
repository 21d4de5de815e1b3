"""Looking into pretraining records: text with masks, statistics, broken files."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining.record_encoding import Column, encode_examples
from data_prep.pretraining.record_statistics import (
    Statistics,
    expand,
    read_records,
    to_text,
)
from official_bert.errors import InputError
from official_bert.text import Vocab

VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "man", "went", "##s"])
PAD, UNK, CLS, SEP, MASK, THE, MAN, WENT, S = range(9)


def _write(path: pathlib.Path, *records: dict[str, list]) -> None:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            columns = [
                Column(name, np.array(values), np.array([len(values)]))
                for name, values in record.items()
            ]
            for serialized in encode_examples(columns):
                writer.write(serialized)


PADDED = {
    "input_ids": [CLS, THE, MASK, S, SEP, UNK, MAN, SEP, PAD, PAD],
    "input_mask": [1] * 8 + [0] * 2,
    "segment_ids": [0] * 5 + [1] * 3 + [0] * 2,
    "masked_lm_positions": [2, 6, 0],
    "masked_lm_ids": [MAN, WENT, 0],
    "masked_lm_weights": [1.0, 1.0, 0.0],
    "next_sentence_labels": [1],
}
PACKED = {
    "input_word_ids": [CLS, THE, SEP, MAN, SEP, CLS, WENT, SEP, THE, SEP],
    "input_mask": [1] * 10,
    "input_type_ids": [0, 0, 0, 1, 1, 0, 0, 0, 1, 1],
    "masked_lm_positions": [1, 8],
    "masked_lm_ids": [THE, MAN],
    "masked_lm_weights": [1.0, 1.0],
    "next_sentence_labels": [0, 1],
    "cls_positions": [0, 5],
}


def test_text_and_statistics(tmp_path):
    _write(tmp_path / "a.tfrecord", PADDED)
    _write(tmp_path / "b.tfrecord", PACKED)
    found = list(read_records(expand([str(tmp_path)])))
    assert [to_text(record, VOCAB) for record in found] == [
        ["random: [CLS] the (man > [MASK]) ##s [SEP] [UNK] (went > man) [SEP]"],
        ["next: [CLS] (the > the) [SEP] man [SEP]", "random: [CLS] went [SEP] (man > the) [SEP]"],
    ]
    statistics = Statistics(VOCAB)
    for record in found:
        statistics.add(record)
    assert statistics.counts == {
        "records": 2,
        "instances": 3,
        "tokens": 18,
        "padding": 2,
        "unknown": 1,
        "predictions": 4,
        "masked": 1,
        "random": 2,
        "kept": 1,
        "special": 0,
        "pairs": 3,
        "random_next": 2,
    }
    assert statistics.lines(20) == [
        "2 records, 3 instances, 18 tokens",
        "length: 8 to 10, mean 9.0, median 9",
        "padding: 10.00 % in the files, 55.00 % at length 20",
        "[UNK]: 5.56 %",
        "random next: 66.67 %",
        "predicted: 22.22 % of the tokens; of these 25.00 % [MASK], 50.00 % random, 25.00 % kept; "
        "0 special tokens",
    ]
    statistics.plot(str(tmp_path / "lengths.png"))
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")


def test_records_without_masks_and_pairs(tmp_path):
    unmasked = {name: PADDED[name] for name in ("input_ids", "input_mask", "segment_ids")}
    _write(tmp_path / "a.tfrecord", unmasked)
    (record,) = read_records([str(tmp_path / "a.tfrecord")])
    assert to_text(record, VOCAB) == ["[CLS] the [MASK] ##s [SEP] [UNK] man [SEP]"]


def test_broken_files(tmp_path):
    path = tmp_path / "a.tfrecord"
    _write(path, *[PADDED] * 50)
    content = path.read_bytes()
    size = len(content) // 50
    path.write_bytes(content[: 7 * size + 20])
    read = read_records([str(path)])
    assert len([next(read) for _ in range(7)]) == 7
    with pytest.raises(InputError, match=r"a\.tfrecord is broken behind record 7: truncated"):
        next(read)
    path.write_bytes(content[:100] + b"x" + content[101:])
    with pytest.raises(InputError, match="is broken behind record 0: corrupted"):
        next(read_records([str(path)]))
    _write(path, {"input_ids": [1]})
    with pytest.raises(InputError, match=r"a\.tfrecord: .*lacks the feature 'input_mask'"):
        next(read_records([str(path)]))
    with pytest.raises(InputError, match="no.tfrecord does not exist"):
        expand([str(tmp_path / "no.tfrecord")])


def test_the_command(tmp_path):
    _write(tmp_path / "a.tfrecord", PADDED, PADDED)
    VOCAB.save(tmp_path / "vocab.txt")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "data_prep.inspect_records", f"{tmp_path}/a.tfrecord"),
            "--num_examples=1",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "record 0, 8 tokens"
    assert lines[1] == "  random: [CLS] the (man > [MASK]) ##s [SEP] [UNK] (went > man) [SEP]"
    assert lines[2].startswith("2 records, 2 instances")
