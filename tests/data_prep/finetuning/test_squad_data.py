"""Question-answering data through the command's own path: files to a folder that training reads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tensorflow as tf

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.data import pipeline
from official_bert.errors import InputError
from official_bert.text import Vocab
from tests import finetuning_data
from tests.data_prep.finetuning.squad_json import question, write_squad
from tests.public_data import ROOT, TESTDATA

VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "paris", "where", "?", "big"])
FLAGS = {"doc_stride": 4, "max_query_length": 6, "version_2_with_negative": None}


def _settings(task, data_dir=None, files=None, **flags):
    return finetuning_data.settings(
        task, data_dir, files, max_seq_length=12, vocab=VOCAB, **{**FLAGS, **flags}
    )


def _write(folder, task, **arguments):
    settings = _settings(task, **arguments)
    return write_folder(make_data_set(settings), settings, folder, num_shards=2, overwrite=False)


def test_a_folder_of_squad_v2(tmp_path):
    context = "big " * 8 + "in Paris"
    rows = [
        question("q1", "where?", ("Paris", 35), impossible=False),
        question("q2", "where?", impossible=True),
        question("q3", "where?", ("London", 35), impossible=False),
        question("q4", "where?", ("ari", 36), impossible=False),
    ]
    write_squad(tmp_path / "train-v2.0.json", (context, rows))
    write_squad(tmp_path / "dev-v2.0.json", (context, rows[:2]))
    write_squad(tmp_path / "test-v2.0.json", (context, [question("t1", "where?")]))
    manifest = _write(tmp_path / "data", "squad_v2", data_dir=tmp_path)
    assert manifest.task == "question_answering" and manifest.dataset == "squad_v2"
    assert manifest.options == {
        "doc_stride": 4, "max_query_length": 6, "version_2_with_negative": True
    }  # fmt: skip
    # Ten tokens of context, seven of them in a window: two windows a question.
    counts = {split: numbers["num_records"] for split, numbers in manifest.splits.items()}
    assert counts == {"train": 6, "dev": 4, "test": 2}
    assert manifest.splits["train"]["num_examples"] == 4
    found = {name: ids for name, ids in manifest.statistics.items() if ids}
    assert found == {"train_answers_not_found": ["q3"], "train_answers_within_a_word": ["q4"]}
    lines = (tmp_path / "data" / "dev.examples.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["q1", "q2"]


def test_records_are_read_as_they_were_made(tmp_path):
    context = "in big big big big big big Paris"
    qas = [question("q", "where?", ("Paris", 27))]
    files = {"train": write_squad(tmp_path / "f.json", (context, qas))}
    manifest = _write(tmp_path / "data", "squad_v1", files=files)
    paths = manifest.shard_paths(tmp_path / "data", "train")
    present = pipeline.present_features("question_answering", paths)
    parse = pipeline.make_parser(
        present, sizes={"S": 12, "vocab_size": 10, "type_vocab_size": 2}, pad_to_max=False
    )
    batch = parse(next(iter(pipeline.evaluation_batches(paths, batch_size=8))))
    by_number = tf.argsort(batch["unique_ids"][:, 0])
    batch = {name: tf.gather(tensor, by_number).numpy().tolist() for name, tensor in batch.items()}
    cls, sep, where, mark, inside, big, paris = 2, 3, 7, 8, 5, 9, 6
    assert batch["input_word_ids"] == [
        [cls, where, mark, sep, inside, big, big, big, big, big, big, sep],
        [cls, where, mark, sep, big, big, big, paris, sep, 0, 0, 0],
    ]
    assert batch["start_positions"] == batch["end_positions"] == [[0], [7]]
    assert batch["token_starts"][1][:9] == [-1, -1, -1, -1, 15, 19, 23, 27, -1]
    assert batch["token_limits"][1][:9] == [-1, -1, -1, -1, 18, 22, 26, 32, -1]
    assert batch["is_impossible"] == [[1], [0]]
    assert sum(map(sum, batch["max_context_mask"])) == 8


def test_the_default_names_depend_on_the_version(tmp_path):
    with pytest.raises(InputError, match="has none of train-v1.1.json, dev-v1.1.json"):
        make_data_set(_settings("squad_v1", data_dir=tmp_path))
    with pytest.raises(InputError, match="has none of train-v2.0.json"):
        make_data_set(_settings("squad_v1", data_dir=tmp_path, version_2_with_negative=True))
    with pytest.raises(InputError, match="leaves no room for the context"):
        make_data_set(_settings("squad_v1", data_dir=tmp_path, max_query_length=64))


def test_triviaqa_beside_its_evidence(tmp_path):
    (tmp_path / "qa").mkdir()
    (tmp_path / "evidence" / "wikipedia").mkdir(parents=True)
    (tmp_path / "evidence" / "wikipedia" / "a.txt").write_text("big in PARIS")
    (tmp_path / "evidence" / "wikipedia" / "b.txt").write_text("big")
    pages = [{"Filename": "a.txt"}, {"Filename": "b.txt"}]
    rows = [
        {
            "QuestionId": "q1",
            "Question": "where?",
            "Answer": {"Value": "Paris", "Aliases": ["Paris"]},
            "EntityPages": pages,
        }
    ]
    (tmp_path / "qa" / "wikipedia-train.json").write_text(json.dumps({"Data": rows}))
    manifest = _write(tmp_path / "data", "triviaqa", data_dir=tmp_path)
    assert manifest.splits["train"]["num_examples"] == 2
    assert manifest.splits["train"]["num_records"] == 1
    assert manifest.statistics["train_answers_not_found"] == ["q1--b.txt"]
    assert manifest.options["version_2_with_negative"] is False
    with pytest.raises(InputError, match="every question of TriviaQA has an answer"):
        make_data_set(_settings("triviaqa", data_dir=tmp_path, version_2_with_negative=True))
    with pytest.raises(InputError, match="has none of wikipedia-train.json"):
        make_data_set(_settings("triviaqa", data_dir=tmp_path / "qa"))


def test_the_command_refuses_a_v2_file_without_the_switch(tmp_path):
    process = subprocess.run(
        [
            sys.executable, "-m", "data_prep.create_finetuning_data", "--task=squad_v1",
            f"--dev_file={TESTDATA / 'squad.json'}",
            f"--vocab_file={TESTDATA / 'vocab.txt'}",
            f"--output_dir={tmp_path / 'data'}",
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 2
    assert "is impossible: give --task=squad_v2" in process.stderr
    assert "Traceback" not in process.stderr and not list(tmp_path.iterdir())
