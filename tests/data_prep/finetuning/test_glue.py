"""The official files of GLUE and XNLI, and what is wrong with others."""

import pytest

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from tests.finetuning_data import read_records, settings, values
from tests.public_data import TESTDATA, public_data

FIXTURES = "fixtures/hf_datasets_dummy/glue"
# Task -> folder of the fixture, rows by split, a row.
PUBLISHED = {
    "cola": (
        "cola/dummy_data/CoLA",
        {"train": 3, "dev": 2, "test": 1},
        {"text_a": "The sailors rode the breeze clear of the rocks.", "label": "1", "label_id": 1},
    ),
    "sst2": (
        "sst2/dummy_data/SST-2",
        {"train": 3, "dev": 2, "test": 1},
        {"text_a": "it 's a charming and often affecting journey . ", "label": "1", "label_id": 1},
    ),
    "mrpc": ("mrpc/dummy_data/MRPC", {"train": 10, "dev": 8, "test": 15}, None),
    "stsb": (
        "stsb/dummy_data/SST-B",
        {"train": 3, "dev": 2, "test": 1},
        {
            "text_a": "A man with a hard hat is dancing.",
            "text_b": "A man wearing a hard hat is dancing.",
            "label": 5.0,
            "label_id": 5.0,
        },
    ),
    "qqp": (
        "qqp/dummy_data/QQP",
        {"train": 3, "dev": 2, "test": 1},
        {
            "text_a": "Why are African-Americans so beautiful?",
            "text_b": "Why are hispanics so beautiful?",
            "label": "0",
            "label_id": 0,
        },
    ),
    "qnli": ("qnli/dummy_data/QNLI", {"train": 3, "dev": 2, "test": 1}, None),
    "rte": ("rte/dummy_data/RTE", {"train": 3, "dev": 2, "test": 1}, None),
    "wnli": (
        "wnli/dummy_data/WNLI",
        {"train": 3, "dev": 2, "test": 1},
        {
            "text_a": "The drain is clogged with hair. It has to be cleaned.",
            "text_b": "The hair has to be cleaned.",
            "label": "0",
            "label_id": 0,
        },
    ),
}


# Task -> rows by split, a row; the folder of the test data has the name of the task.
OUR_OWN = {
    "cola": (
        {"train": 6, "dev": 2, "test": 3},
        {"text_a": "The train left late.", "label": "1", "label_id": 1},
    ),
    "sst2": (
        {"train": 32, "dev": 4},
        {"text_a": "warm and funny", "label": "1", "label_id": 1},
    ),
    "stsb": (
        {"train": 3, "dev": 2, "test": 1},
        {
            "text_a": "A girl is laughing.",
            "text_b": "A girl laughs.",
            "label": 5.0,
            "label_id": 5.0,
        },
    ),
}


@pytest.mark.parametrize("task", OUR_OWN)
def test_layout(task):
    _check_rows(task, TESTDATA / task, *OUR_OWN[task])


@pytest.mark.parametrize("task", PUBLISHED)
def test_published_layout(task):
    folder, counts, first_of_dev = PUBLISHED[task]
    _check_rows(task, public_data(FIXTURES) / folder, counts, first_of_dev)


def _check_rows(task, folder, counts, first_of_dev):
    data_set = make_data_set(settings(task, folder))
    rows = {split: list(data_set.examples(split)) for split in data_set.splits}
    assert {split: len(of_split) for split, of_split in rows.items()} == counts
    assert all("label" in row for split in ("train", "dev") for row in rows[split])
    assert not any("label" in row for row in rows.get("test", ()))
    if first_of_dev is not None:
        first = dict(rows["dev"][0])
        del first["id"]
        assert first == first_of_dev


def test_mnli_has_two_dev_sets_and_their_labels_are_in_the_last_column():
    folder = public_data(FIXTURES) / "mnli/dummy_data/MNLI"
    data_set = make_data_set(settings("mnli", folder))
    assert data_set.splits == [
        "train",
        "dev_matched",
        "dev_mismatched",
        "test_matched",
        "test_mismatched",
    ]
    row = next(data_set.examples("dev_matched"))
    assert row["text_a"] == "The new rights are nice enough"
    assert row["label"] == "neutral" and row["label_id"] == 2
    assert data_set.labels == ["contradiction", "entailment", "neutral"]


def test_diagnostic_rows_have_no_labels():
    data_set = make_data_set(settings("ax", public_data(FIXTURES) / "ax/dummy_data"))
    rows = list(data_set.examples("test"))
    assert len(rows) == 3
    assert rows[0] == {
        "id": "0",
        "text_a": "The cat sat on the mat.",
        "text_b": "The cat did not sit on the mat.",
    }


def test_xnli_rows_of_one_language():
    folder = public_data("fixtures/hf_datasets_dummy/xnli/dummy_data")
    dev = next(folder.rglob("xnli.dev*.tsv"))
    data_set = make_data_set(settings("xnli", files={"dev": dev}, language="ar"))
    rows = list(data_set.examples("dev"))
    assert rows and {row["label"] for row in rows} <= {"contradiction", "entailment", "neutral"}
    nothing = make_data_set(settings("xnli", files={"dev": dev}, language="xx"))
    assert list(nothing.examples("dev")) == []


# Counts of lines in the README files beside the data, without the lines of names.
WHOLE = {
    "cola": ("CoLA", {"train": 8551, "dev": 1043, "test": 1063}),
    "sst2": ("SST-2", {"train": 67349, "dev": 872, "test": 1821}),
    "rte": ("RTE", {"train": 2490, "dev": 277, "test": 3000}),
    "wnli": ("WNLI", {"train": 635, "dev": 71, "test": 146}),
}


@pytest.mark.parametrize("task", WHOLE)
def test_whole_files_have_their_rows(task):
    folder, counts = WHOLE[task]
    data_set = make_data_set(settings(task, public_data("glue") / folder))
    for split, count in counts.items():
        assert sum(1 for _ in data_set.examples(split)) == count


def test_single_files_of_other_names():
    glue = public_data("glue")
    files = {"train": glue / "QNLI/train.kshot.tsv", "dev": glue / "QNLI/dev.tsv"}
    data_set = make_data_set(settings("qnli", files=files))
    assert [sum(1 for _ in data_set.examples(split)) for split in data_set.splits] == [160, 5463]
    kshot = {"train": glue / "MNLI/train.kshot.tsv"}
    assert sum(1 for _ in make_data_set(settings("mnli", files=kshot)).examples("train")) == 240


def test_records_have_the_ids_of_the_joined_texts(tmp_path):
    (tmp_path / "rte").mkdir()
    (tmp_path / "rte" / "train.tsv").write_bytes(
        b"\xef\xbb\xbfindex\textra\tsentence1\tsentence2\tlabel\r\n"
        b'7\tx\tGood "film\ta book is bad\tnot_entailment\r\n\r\n'
    )
    given = settings("rte", tmp_path / "rte", max_seq_length=8)
    write_folder(make_data_set(given), given, tmp_path / "data", num_shards=1, overwrite=False)
    (record,) = read_records(tmp_path / "data", "train")
    # good [UNK] film / a book is bad: cut to five, from the longer one, from B in a tie.
    assert values(record, "input_ids") == [2, 5, 1, 9, 3, 12, 10, 3]
    assert values(record, "segment_ids") == [0, 0, 0, 0, 0, 1, 1, 1]
    assert values(record, "input_mask") == [1] * 8
    assert values(record, "label_ids") == [1]
    assert values(record, "example_id") == [0]
    manifest = Manifest.load(tmp_path / "data")
    assert manifest.labels == ["entailment", "not_entailment"]
    assert manifest.options == {
        "problem": "classification",
        "text_inputs": ["text_a", "text_b"],
    }
    assert manifest.statistics == {"truncated": 1, "skipped_rows": []}


COLA_HEADER = "index\tsentence\n"
BAD = {
    "too few columns": ("gj04\t1\n", "train.tsv, line 1: 2 columns, expected 4"),
    "a header where none belongs": (
        f"{COLA_HEADER}gj04\t1\t\tA film.\n",
        "line 1: 2 columns, expected 4",
    ),
    "a header of four": ("a\tb\tc\td\n", "line 1: label 'b' is not one of 0, 1"),
    "an unknown label": (
        "gj04\t1\t\tA film.\ngj04\t2\t\tA book.\n",
        "line 2: label '2' is not one of",
    ),
    "a tab in the text": ("gj04\t1\t\tA\tfilm.\n", "line 1: 5 columns, expected 4"),
    "a blank line within": ("gj04\t1\t\tA\n\ngj04\t1\t\tB\n", "line 2: a blank line between rows"),
    "bytes that are not UTF-8": ("gj04\t1\t\t\udcff\n", "not UTF-8"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_named(tmp_path, case):
    text, message = BAD[case]
    (tmp_path / "train.tsv").write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        list(make_data_set(settings("cola", tmp_path)).examples("train"))


def test_a_missing_line_of_names_is_told(tmp_path):
    (tmp_path / "train.tsv").write_text("a good film\t1\n")
    with pytest.raises(InputError, match="line 1: no column 'sentence' among a good film, 1"):
        list(make_data_set(settings("sst2", tmp_path)).examples("train"))


def test_an_empty_file_and_a_folder_without_files_are_told(tmp_path):
    with pytest.raises(InputError, match="has no file of cola: looked for train.tsv"):
        make_data_set(settings("cola", tmp_path))
    (tmp_path / "train.tsv").write_text("")
    given = settings("cola", tmp_path)
    with pytest.raises(InputError, match="the split train has no rows"):
        write_folder(make_data_set(given), given, tmp_path / "data", num_shards=1, overwrite=False)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("score", "message"), [("6", "not from 0 to 5"), ("x", "not a number")])
def test_scores_are_checked(tmp_path, score, message):
    (tmp_path / "dev.tsv").write_text(f"sentence1\tsentence2\tscore\na\tb\t{score}\n")
    with pytest.raises(InputError, match=message):
        list(make_data_set(settings("stsb", tmp_path)).examples("dev"))


def test_bad_rows_can_be_left_out_and_are_listed(tmp_path):
    (tmp_path / "train.tsv").write_text("gj04\t1\ngj04\t0\t\tA film.\n")
    data_set = make_data_set(settings("cola", tmp_path, skip_bad_rows=True))
    assert [row["text_a"] for row in data_set.examples("train")] == ["A film."]
    (skipped,) = data_set.statistics()["skipped_rows"]
    assert "line 1: 2 columns" in skipped
