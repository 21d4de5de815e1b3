"""Question-answering files as they are found: read, left out on demand, or refused in one line."""

from __future__ import annotations

import json
import os

import pytest

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from data_prep.finetuning.squad_files import read_squad
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.text import Vocab
from tests.data_prep.finetuning.squad_json import question, write_squad
from tests.finetuning_data import settings
from tests.limits import limits
from tests.public_data import public_data

VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "in", "paris", "where", "?", "big"])
GOOD = question("q1", "where?", ("in", 0))


def _read(path, *, skip=False):
    bad_rows = BadRows(skip=skip)
    rows = list(read_squad(path, allow_impossible=False, with_answers=True, bad_rows=bad_rows))
    return [row["id"] for row in rows], bad_rows.statistics()


def _prepare(folder, path, **flags):
    given = settings(
        "squad_v1",
        files={"train": path},
        max_seq_length=16,
        vocab=VOCAB,
        **{"doc_stride": 4, "max_query_length": 6, **flags},
    )
    return write_folder(make_data_set(given), given, folder, num_shards=1, overwrite=False)


def test_ids_that_are_whole_numbers(tmp_path):
    qas = [{**GOOD, "id": 101}, {**GOOD, "id": "102"}, {**GOOD, "id": -1}]
    path = write_squad(tmp_path / "a.json", ("in Paris", qas))
    assert _read(path) == (["101", "102", "-1"], {})
    path = write_squad(tmp_path / "b.json", ("in", [{**GOOD, "id": 7}, {**GOOD, "id": "7"}]))
    with pytest.raises(InputError, match=r"qas\[1\]: id '7' is that of data\[0\]"):
        _read(path)


BAD = {
    "no start": {**GOOD, "answers": [{"text": "in"}]},
    "a start that is text": {**GOOD, "answers": [{"text": "in", "answer_start": "0"}]},
    "a start that is true": {**GOOD, "answers": [{"text": "in", "answer_start": True}]},
    "a blank answer": question("q1", "?", (" ", 0)),
    "no answers": question("q1", "?"),
    "answers null": {**GOOD, "answers": None},
    "an answer that is text": {**GOOD, "answers": ["in"]},
    "no question": {"id": "q1", "answers": []},
    "an id that is a fraction": {**GOOD, "id": 1.5},
    "an id that is null": {**GOOD, "id": None},
    "the same id": {**GOOD, "id": "q0"},
    "a list": [1],
    "a text": "q",
    "half of a character": {**GOOD, "question": "\ud83d?"},
    "impossible": question("q1", "?", impossible=True),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_questions_are_named_or_left_out(tmp_path, case):
    qas = [{**GOOD, "id": "q0"}, BAD[case], {**GOOD, "id": "q2"}]
    path = write_squad(tmp_path / "a.json", ("in Paris", qas))
    with pytest.raises(InputError, match=r"data\[0\]\.paragraphs\[0\]\.qas\[1\]"):
        _read(path)
    ids, statistics = _read(path, skip=True)
    assert ids == ["q0", "q2"]
    assert len(statistics["skipped_rows"]) == 1


def test_bad_paragraphs_and_articles_can_be_left_out(tmp_path):
    good = {"context": "in Paris", "qas": [GOOD]}
    data = [5, {"title": 3, "paragraphs": []}, {"paragraphs": [{"qas": []}, None, good]}, {}]
    (tmp_path / "a.json").write_text(json.dumps({"data": data}))
    ids, statistics = _read(tmp_path / "a.json", skip=True)
    assert ids == ["q1"]
    assert len(statistics["skipped_rows"]) == 5


FILES = {
    "deep nesting": (b'{"data": ' + b"[" * 200_000, "lists and objects are nested too deeply"),
    "a long number": (b'{"data": ' + b"9" * 5000 + b"}", "not JSON that can be used: Exceeds"),
    "a key twice": (b'{"data": [], "data": []}', "the key 'data' stands twice in one object"),
    "UTF-16": ('{"data": []}'.encode("utf-16"), "is UTF-16, .*iconv -f UTF-16 -t UTF-8"),
    "UTF-16 without a mark": ('{"data": []}'.encode("utf-16-le"), "seems to be UTF-16LE"),
    "Latin-1": ('{"data": "é"}'.encode("latin-1"), r"is not UTF-8: byte 10 .*WINDOWS-1252"),
    "JSON lines": (b'{"data": []}\n{"data": []}\n', "line 2, column 1: not JSON: Extra data"),
    "zero bytes": (bytes(64), "is no text"),
    "nothing": (b"", "line 1, column 1: not JSON"),
    "a text": (b'"data"', "holds a str, not an object: SQuAD's layout"),
    "not a number": (b'{"data": NaN}', "data is NaN: it must be a list"),
    "an archive": (b"PK\x03\x04\0\0", "is a zip archive"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_refused(tmp_path, case):
    content, message = FILES[case]
    (tmp_path / "a.json").write_bytes(content)
    with limits(), pytest.raises(InputError, match=message) as caught:
        _read(tmp_path / "a.json", skip=True)
    assert "a.json" in str(caught.value) and "\n" not in str(caught.value)


def test_a_mark_of_utf8_is_fine_and_pipes_and_huge_files_are_not(tmp_path):
    path = write_squad(tmp_path / "a.json", ("in", [GOOD]))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert _read(path)[0] == ["q1"]
    os.mkfifo(tmp_path / "pipe")
    with limits(seconds=5), pytest.raises(InputError, match="it is a named pipe"):
        _read(tmp_path / "pipe")
    with open(path, "r+b") as file:
        file.truncate(5 << 30)
    with limits(), pytest.raises(InputError, match="bytes; such a file may have 2147483648 at"):
        _read(path)


# Contexts and answers, and what is said where no answer is found in any.
NOT_FOUND = {
    "a context in NFD": (
        ("Il vit a\u0300 Que\u0301bec.", "Québec", 9),
        "has no records: .* none of the 1 answers is in its context .* question 'q'; 1 are there "
        "once both are normalised: .* NFC",
    ),
    "an answer in NFD": (("à Québec", "Que\u0301bec", 2), "1 are there once both are normalised"),
    "far away": (("in " + "big " * 40 + "Paris", "Paris", 0), "answer_start; the first is .*'q'$"),
    "another text": (("in Paris", "London", 3), "none of the 1 answers is in its context"),
}


@pytest.mark.parametrize("case", NOT_FOUND)
def test_no_answer_is_found(tmp_path, case):
    (context, text, start), message = NOT_FOUND[case]
    path = write_squad(tmp_path / "a.json", (context, [question("q", "where?", (text, start))]))
    with pytest.raises(InputError, match=message):
        _prepare(tmp_path / "data", path)


def test_what_was_left_out_is_in_the_manifest(tmp_path):
    qas = [question("q", "where?", ("Paris", 3)), question("r", "where?")]
    path = write_squad(tmp_path / "a.json", ("in Paris", qas))
    _prepare(tmp_path / "data", path, skip_bad_rows=True)
    manifest = Manifest.load(tmp_path / "data")
    assert manifest.splits["train"]["num_examples"] == 1
    (listed,) = manifest.statistics["skipped_rows"]
    assert "qas[1]: question 'r' has no answers" in listed


def test_odd_files(tmp_path):
    folder = public_data("odd_files")
    assert _read(folder / "integer_ids.json") == (["101"], {})
    with pytest.raises(InputError, match="normalised: one is in NFD and one in NFC"):
        _prepare(tmp_path / "data", folder / "no_answer_found.json")


TRIVIA = {
    "Aliases": ({"Answer": {"Value": "x", "Aliases": 5}}, "Answer.Aliases is 5: it must be a list"),
    "EntityPages": ({"EntityPages": "a.txt"}, "EntityPages is 'a.txt': it must be a list"),
    "a page": ({"EntityPages": ["a.txt"]}, r"EntityPages\[0\] has no text 'Filename'"),
    "a name with a zero byte": ({"EntityPages": [{"Filename": "a\0"}]}, "cannot read its evidence"),
    "a folder": ({"EntityPages": [{"Filename": "."}]}, "it must lie in|it is a folder"),
    "an answer that is text": ({"Answer": "x"}, "has no object 'Answer'"),
}


@pytest.mark.parametrize("case", TRIVIA)
def test_bad_questions_of_triviaqa(tmp_path, case):
    fields, message = TRIVIA[case]
    (tmp_path / "qa").mkdir()
    (tmp_path / "evidence" / "wikipedia").mkdir(parents=True)
    good = {"QuestionId": "q", "Question": "where?", "Answer": {"Value": "Paris"}}
    path = tmp_path / "qa" / "wikipedia-train.json"
    path.write_text(json.dumps({"Data": [{**good, **fields}]}))
    flags = {"doc_stride": 4, "max_query_length": 6}
    data_set = make_data_set(settings("triviaqa", tmp_path, vocab=VOCAB, **flags))
    with pytest.raises(InputError, match=message):
        list(data_set.examples("train"))
    data_set = make_data_set(settings("triviaqa", tmp_path, skip_bad_rows=True, **flags))
    assert list(data_set.examples("train")) == []
    assert len(data_set.bad_rows.statistics()["skipped_rows"]) == 1
