"""Tables as other programs write them: read as they are meant, or refused in one line."""

from __future__ import annotations

import json
import os

import pytest

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.table import read_table
from official_bert.errors import InputError
from tests.finetuning_data import settings, write_json_lines
from tests.limits import limits
from tests.public_data import public_data


def _data_set(path, **flags):
    return make_data_set(settings("csv", files={"train": path}, **flags))


def _examples(path, **flags):
    data_set = _data_set(path, **flags)
    rows = list(data_set.examples("train"))
    return data_set.labels, [(row["text_a"], row["label_id"]) for row in rows]


ROWS = [("fine", 0), ("bad", 1)]
GOOD_TABLES = {
    "semicolons": "text;label\nfine;a\nbad;b\n",
    "semicolons, CRLF and quotes": 'text;label\r\n"fine";a\r\n"bad";b\r\n',
    "semicolons, with a comma in a text": "text;label;note\nfine;a;x, y\nbad;b;z\n",
    "TABs in a .csv": "text\tlabel\nfine\ta\nbad\tb\n",
    "a line that names the separator": "sep=;\ntext;label\nfine;a\nbad;b\n",
    "the same with a comma": "sep=,\r\ntext,label\r\nfine,a\r\nbad,b\r\n",
    "the same with a bar, in quotes": '"sep=|"\ntext|label\nfine|a\nbad|b\n',
    "spaces behind the commas": "text, label\nfine, a\nbad, b\n",
    "spaces in front of quotes": 'text, label\n"fine", "a"\n"bad", "b"\n',
    "spaces around the names": " text ,label \nfine,a\nbad,b\n",
    "columns without names": "text,label,,\nfine,a,,\nbad,b,,\n",
    "a column without a name at first": ",text,label\n0,fine,a\n1,bad,b\n",
    "CR": "text,label\rfine,a\rbad,b\r",
    "a byte-order mark": "\ufefftext,label\nfine,a\nbad,b\n",
    "blank lines": "\ntext,label\n\nfine,a\n\n\nbad,b\n\n",
    "a line feed within quotes": 'label,text\n"a",fine\n"b",bad\n',
}


@pytest.mark.parametrize("case", GOOD_TABLES)
def test_tables_that_are_read(tmp_path, case):
    (tmp_path / "a.csv").write_bytes(GOOD_TABLES[case].encode())
    assert _examples(tmp_path / "a.csv") == (["a", "b"], ROWS)


LABELS = {
    "floats of whole numbers": (["1.0", "0.0", "2.0", "10.0"], ["0", "1", "2", "10"]),
    "whole numbers": (["10", "2", "1"], ["1", "2", "10"]),
    "both": (["1", "1.0", "0", "0."], ["0", "1"]),
    "negative ones": (["-1", "1.0", "-10"], ["-10", "-1", "1"]),
    "fractions": (["0.5", "10", "2.25"], ["0.5", "2.25", "10"]),
    "with a word": (["1.0", "1", "none"], ["1", "1.0", "none"]),
    "codes": (["01", "10", "02"], ["01", "02", "10"]),
    "not a number, by name": (["nan", "2", "10"], ["10", "2", "nan"]),
    "underscores": (["1_0", "2"], ["1_0", "2"]),
    "many digits": (["9" * 5000, "1"], ["1", "9" * 5000]),
    "spaces around": ([" a", "b "], ["a", "b"]),
    "breaks that are none": (["a\u2028b", "a\x85b", "a\x0bb", "a\x1cb"], None),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels(tmp_path, case):
    given, expected = LABELS[case]
    (tmp_path / "a.csv").write_text(
        "text,label\n" + "".join(f"x,{label}\n" for label in given), encoding="utf-8"
    )
    labels, rows = _examples(tmp_path / "a.csv")
    assert labels == (sorted(given) if expected is None else expected)
    assert len(rows) == len(given)


JSON_LABELS = {
    "1 and 1.0": ([1, 1.0, 0], ["0", "1"]),
    "a number and its text": ([1, "1", "1.0"], ["1"]),
    "true": ([True, False], ["False", "True"]),
    "numbers by size": ([10, 2, 1.0], ["1", "2", "10"]),
    "a large float": ([1e20, 1.5], ["1.5", "1e+20"]),
}


@pytest.mark.parametrize("case", JSON_LABELS)
def test_labels_of_json_lines(tmp_path, case):
    given, expected = JSON_LABELS[case]
    rows = [{"text": "x", "label": label} for label in given]
    assert _examples(write_json_lines(tmp_path / "a.jsonl", rows))[0] == expected


BAD_LABELS = {
    "an object": ({"a": 1}, {}, "line 2: label is {'a': 1}: a text or a number is expected"),
    "a list": (["a"], {}, r"label is \['a'\]: one label is expected; .*--problem=multi_label"),
    "an empty list": ([], {}, r"label is \[\]: one label"),
    "not a number": (float("nan"), {}, "label is nan: a text or a number"),
    "infinite": (float("-inf"), {}, "label is -inf: a text or a number"),
    "null": (None, {}, "label is empty"),
    "blank": (" \u2028", {}, "label is empty"),
    "a line feed": ("after\nsales", {}, r"label is 'after\\nsales': a label must not have a line"),
    "a carriage return": ("a\rb", {}, "must not have a line break"),
    "an object among several": ([{}], {"problem": "multi_label"}, r"label\[0\] is {}: a text or"),
    "not a number among several": (["a", float("nan")], {"problem": "multi_label"}, r"label\[1\]"),
    "a list as number": ([1], {"problem": "regression"}, r"label is \[1\]: not a number"),
    "true as number": (True, {"problem": "regression"}, "label is True: not a number"),
    "an underscore": ("1_000", {"problem": "regression"}, "label is '1_000': not a number"),
    "too large": (10**400, {"problem": "regression"}, "not a number"),
    "infinity as number": ("inf", {"problem": "regression"}, "label is 'inf': not a number"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_labels_that_are_none(tmp_path, case):
    label, flags, message = BAD_LABELS[case]
    good = 1 if flags.get("problem") == "regression" else "a"
    rows = [{"text": "x", "label": good}, {"text": "y", "label": label}]
    path = write_json_lines(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError, match=message):
        _examples(path, **flags)
    if "regression" not in flags.values():
        data_set = _data_set(path, skip_bad_rows=True, **flags)
        assert [row["text_a"] for row in data_set.examples("train")] == ["x"]
        (listed,) = data_set.bad_rows.statistics()["skipped_rows"]
        assert "a.jsonl, line 2: " in listed


QUOTED = 'text,label\n"never closed,a\n' + "x,y\n" * 50
BAD_TABLES = {
    "an open quote": ("a.csv", QUOTED, 'line 2: .*a quote \\("\\) .* is not closed before line 52'),
    "an open quote at the end": ("a.csv", 'text,label\nx,y\nx,"y\n', "line 3: unexpected end of"),
    "a quote within quotes": ("a.csv", 'text,label\n"a "b" c",y\n', 'line 2: .* has "" for each'),
    "one name twice": ("a.csv", "text,label, text\nx,y,z\n", "one name: 'text': rename one"),
    "three columns of two": ("a.csv", "text,label\na,b,c\n", "line 2: 3 columns, the first line"),
    "another delimiter": ("a.csv", "text|label\nfine|a\n", "no column 'label' among text|label"),
    "UTF-16": ("a.csv", "text,label\nfine,a\n".encode("utf-16"), "is UTF-16, .*iconv -f UTF-16"),
    "Latin-1": ("a.tsv", "text\tlabel\nschön\ta\n".encode("latin-1"), "line 2: .*WINDOWS-1252"),
    "a workbook": ("a.csv", b"PK\x03\x04\x14\0\x06\0", "is a zip archive, as .xlsx"),
    "a blank line in a .tsv": ("a.tsv", "text\tlabel\nx\ty\n\nx\ty\n", "line 3: a blank line"),
    "only a separator": ("a.csv", "sep=;\n", "a.csv is empty"),
    "deep nesting": ("a.jsonl", "[" * 100_000, "line 1: lists and objects are nested too deeply"),
    "a long number": ("a.jsonl", '{"text": "a", "label": ' + "9" * 5000 + "}", "line 1: not JSON"),
    "a key twice": ("a.jsonl", '{"text": "a", "label": 1, "label": 2}', "key 'label' stands twice"),
    "half of a character": (
        "a.jsonl",
        '{"text": "a \\ud83d", "label": 1}',
        r"line 1 has '\\ud83d' at .* half of a character",
    ),
    "JSON with a mark": ("a.jsonl", '{"text": "a", "label": 1}'.encode("utf-16"), "is UTF-16"),
    "a null text": ("a.jsonl", '{"text": null, "label": 1}', "text is None: it must be a text"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_that_are_refused(tmp_path, case):
    name, content, message = BAD_TABLES[case]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(content)
    with limits(), pytest.raises(InputError, match=message) as caught:
        _examples(tmp_path / name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_long_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"text,label\n{'a ' * 100_000},x\n")
    ((_, row),) = read_table(path)
    assert len(row["text"]) == 200_000
    path.write_text('text,label\n"' + ("a" * 1000 + "\n") * 17_000 + '",x\n')
    with limits(), pytest.raises(InputError, match="line 2: field larger .* or 16,777,216 charac"):
        list(read_table(path))


def test_a_pipe_in_place_of_a_table(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with limits(seconds=5), pytest.raises(InputError, match="a.csv: it is a named pipe"):
        _examples(tmp_path / "a.csv")


def test_a_placeholder_in_a_test_file(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\nfine,good\n")
    for label in ("0", "", "-1"):
        (tmp_path / "test.csv").write_text(f"text,label\nfine,{label}\n")
        data_set = make_data_set(settings("csv", tmp_path))
        with pytest.raises(InputError, match="test.csv, line 2: .*leave the column out of a test"):
            list(data_set.examples("test"))
    (tmp_path / "train.csv").write_text("text,label\n,1\n,1.0\n,01\n")
    with pytest.raises(InputError, match="labels '01' and '1' are one number"):
        make_data_set(settings("csv", tmp_path))


def test_bad_rows_of_each_kind_of_table_can_be_left_out(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'text,label\nx\n\xe9,a\n"a "b" c",a\nfine,a\n')
    (tmp_path / "a.tsv").write_bytes(b"text\tlabel\nx\n\xe9\ta\n\nfine\ta\n")
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "x"}\n\xe9\n[]\n{"text": "fine", "label": "a"}\n{"te\n'
    )
    for name, count in (("a.csv", 3), ("a.tsv", 3), ("a.jsonl", 4)):
        data_set = _data_set(tmp_path / name, skip_bad_rows=True)
        assert [row["text_a"] for row in data_set.examples("train")] == ["fine"]
        assert len(data_set.bad_rows.statistics()["skipped_rows"]) == count, name


def test_choices_can_be_left_out_too(tmp_path):
    good = {"prompt": "p", "choices": ["a", "b"], "answer": 1}
    rows = [good, {**good, "answer": 2}, {**good, "choices": "ab"}, {**good, "prompt": None}]
    path = write_json_lines(tmp_path / "a.jsonl", rows)
    data_set = make_data_set(settings("choices", files={"train": path}, skip_bad_rows=True))
    assert [row["answer"] for row in data_set.examples("train")] == [1]
    assert len(data_set.bad_rows.statistics()["skipped_rows"]) == 3
    (tmp_path / "b.jsonl").write_text(json.dumps({**good, "prompt": "a \ud83d"}))
    data_set = make_data_set(settings("choices", files={"train": tmp_path / "b.jsonl"}))
    with pytest.raises(InputError, match=r"line 1 has '\\ud83d'"):
        list(data_set.examples("train"))


PUBLIC = {
    "cr_only.csv": ["a", "b"],
    "empty_header_columns.csv": ["a", "b"],
    "float_labels.csv": ["0", "1", "2", "10"],
    "semicolon.csv": ["gut", "schlecht"],
    "space_in_header.csv": ["a", "b"],
    "dict_label.jsonl": "line 1: label is {'a': 1}: a text or a number is expected",
    "label_line_break.csv": r"line 2: label is 'after\\nsales': a label must not have a line break",
    "unclosed_quote.csv": "line 2: unexpected end of data: a quote",
    "utf16.csv": "is UTF-16, by its byte-order mark: convert it: iconv -f UTF-16 -t UTF-8",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_odd_files(name):
    path, expected = public_data("odd_files") / name, PUBLIC[name]
    if isinstance(expected, list):
        assert _examples(path)[0] == expected
        return
    with pytest.raises(InputError, match=expected):
        _examples(path)
