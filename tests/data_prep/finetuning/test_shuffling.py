"""A training file that is sorted comes out mixed."""

import collections

import numpy as np

from data_prep.finetuning.shuffling import shuffled
from official_bert.data.manifest import Manifest
from tests.finetuning_data import prepare_table, read_records, values

RECORDS = [b"%05d" % number for number in range(3000)]


def test_all_records_come_in_an_order_of_the_seed(tmp_path):
    order = list(shuffled(RECORDS, seed=1, folder=tmp_path))
    assert order != RECORDS
    assert sorted(order) == RECORDS
    assert list(shuffled(RECORDS, seed=1, folder=tmp_path)) == order
    assert list(shuffled(RECORDS, seed=2, folder=tmp_path)) != order
    # As many of the first half in each tenth as by chance: 150, standard deviation 8.
    for tenth in np.split(np.array(order), 10):
        assert 110 < (tenth < b"01500").sum() < 190


def test_little_memory_gives_the_same_order_and_leaves_no_file(tmp_path):
    order = list(shuffled(RECORDS, seed=1, folder=tmp_path))
    assert list(shuffled(RECORDS, seed=1, folder=tmp_path, max_bytes=1000)) == order
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_sorted_by_label_is_mixed_and_the_dev_split_stays(tmp_path):
    rows = [
        {"text": "good" if i < 200 else "bad", "label": "pos" if i < 200 else "neg"}
        for i in range(400)
    ]
    data = prepare_table(tmp_path, {"train": rows, "dev": rows[150:250]}, num_shards=2)
    train = [values(record, "label_ids")[0] for record in read_records(data, "train")]
    assert collections.Counter(train) == {0: 200, 1: 200}
    assert all(70 < sum(part) < 130 for part in np.split(np.array(train), 2))
    splits = Manifest.load(data).splits
    assert splits["train"]["shuffled"] is True
    assert "shuffled" not in splits["dev"]
    first = read_records(data, "dev")[:50]  # Of the first shard: every second example.
    assert [values(record, "example_id") for record in first] == [[2 * i] for i in range(50)]
    ids = [values(record, "example_id")[0] for record in read_records(data, "train")]
    assert sorted(ids) == list(range(400))
