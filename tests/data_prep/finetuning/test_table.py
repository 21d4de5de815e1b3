"""A table of one's own: CSV, TSV and JSON lines."""

import pytest

from data_prep.finetuning.datasets import make_data_set
from official_bert.errors import InputError
from tests.finetuning_data import prepare_table, read_records, settings, values, write_json_lines


def _data_set(path, **flags):
    return make_data_set(settings("csv", files={"train": path}, **flags))


def test_csv_with_quotes_tsv_without_and_json_lines_are_the_same_rows(tmp_path):
    (tmp_path / "a.csv").write_text('label,text,more\n2,"a ""good"", fine\nfilm",x\n10,bad,y\n')
    rows = [{"text": 'a "good", fine\nfilm', "label": 2}, {"text": "bad", "label": 10}]
    write_json_lines(tmp_path / "b.jsonl", rows)
    expected = [
        {"id": 0, "text_a": 'a "good", fine\nfilm', "label": "2", "label_id": 0},
        {"id": 1, "text_a": "bad", "label": "10", "label_id": 1},
    ]
    for name in ("a.csv", "b.jsonl"):
        data_set = _data_set(tmp_path / name)
        # Numbers in the order of numbers.
        assert data_set.labels == ["2", "10"]
        assert list(data_set.examples("train")) == expected
    (tmp_path / "c.tsv").write_text('text\tlabel\n"good"\t2\n')
    assert [row["text_a"] for row in _data_set(tmp_path / "c.tsv").examples("train")] == ['"good"']


def test_several_labels_a_row(tmp_path):
    rows = [
        {"text": "good film", "label": "film|good"},
        {"text": "bad", "label": ""},
        {"text": "a book", "label": "book"},
    ]
    data = prepare_table(tmp_path, {"train": rows}, problem="multi_label")
    labels = [values(record, "label_ids") for record in read_records(data, "train")]
    assert sorted(labels) == [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]


def test_numbers_as_labels(tmp_path):
    rows = [{"text": "good", "label": 1}, {"text": "bad", "label": "-0.5"}]
    data = prepare_table(tmp_path, {"train": rows}, problem="regression")
    labels = [values(record, "label_ids") for record in read_records(data, "train")]
    assert sorted(labels) == [[-0.5], [1.0]]


def test_a_test_file_may_lack_labels(tmp_path):
    rows = {"train": [{"text": "good", "label": "x"}], "test": [{"text": "bad"}]}
    data = prepare_table(tmp_path, rows)
    (record,) = read_records(data, "test")
    assert "label_ids" not in record.features.feature


BAD = {
    "no such column": ("a.csv", "text,x\na,1\n", {}, "line 2: no column 'label' among text, x"),
    "no such text": ("a.csv", "a,label\na,1\n", {}, "no column 'text' among a, label"),
    "too many columns": ("a.csv", "text,label\na,b,1\n", {}, "line 2: 3 columns, the first line"),
    "an empty label": ("a.csv", "text,label\na,\n", {}, "line 2: label is empty"),
    "a number that is none": (
        "a.csv",
        "text,label\na,nan\n",
        {"problem": "regression"},
        "line 2: label is 'nan': not a number",
    ),
    "an open quote": ("a.csv", 'text,label\n"a,1\n', {}, "unexpected end of data"),
    "not JSON": ("a.jsonl", '{"text": "a", "label": 1}\n{"text\n', {}, "line 2: not JSON"),
    "a list": ("a.jsonl", "[1]\n", {}, "line 1: must be an object"),
    "a number as text": (
        "a.jsonl",
        '{"text": 1, "label": 1}\n',
        {},
        "text is 1: it must be a text",
    ),
    "another ending": ("a.txt", "text,label\n", {}, "must end with .csv, .tsv, .jsonl"),
    "nothing": ("a.csv", "", {}, "a.csv is empty"),
    "two columns of one name": ("a.csv", "text,text\na,b\n", {}, "two columns have one name"),
    "three texts": ("a.csv", "text,label\n", {"text_columns": ["a", "b", "c"]}, "or two"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told(tmp_path, case):
    name, text, flags, message = BAD[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        list(_data_set(tmp_path / name, **flags).examples("train"))


def test_a_label_that_training_has_not_is_told(tmp_path):
    files = {
        "train": write_json_lines(tmp_path / "train.jsonl", [{"text": "a", "label": "x"}]),
        "dev": write_json_lines(tmp_path / "dev.jsonl", [{"text": "a", "label": "y"}]),
    }
    data_set = make_data_set(settings("csv", files=files))
    with pytest.raises(InputError, match="dev.jsonl, line 1: label 'y' is not one of the training"):
        list(data_set.examples("dev"))
