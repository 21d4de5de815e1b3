"""Reading SQuAD's JSON: what is read, and what each mistake says."""

from __future__ import annotations

import json

import pytest

from data_prep.finetuning.answer_spans import AnswerSpan, find_answer
from data_prep.finetuning.squad_files import read_squad
from official_bert.errors import InputError
from tests.data_prep.finetuning.squad_json import question, write_squad
from tests.public_data import TESTDATA, public_data


def _read(path, allow_impossible=False, with_answers=True):
    return list(read_squad(path, allow_impossible=allow_impossible, with_answers=with_answers))


def test_rows_are_flat_and_in_order(tmp_path):
    path = write_squad(
        tmp_path / "f.json",
        ("in Paris", [question("q1", "where?", ("Paris", 3)), question("q2", "?", ("in", 0))]),
        ("", [question("q3", "who?", impossible=True)]),
    )
    first, second, third = _read(path, allow_impossible=True)
    assert first == {
        "id": "q1",
        "title": "Paris",
        "question": "where?",
        "context": "in Paris",
        "answers": [{"text": "Paris", "answer_start": 3}],
        "is_impossible": False,
    }
    assert second["id"] == "q2"
    assert third["context"] == "" and third["is_impossible"] and third["answers"] == []


def test_a_byte_order_mark_and_a_file_without_title_and_version_are_fine(tmp_path):
    paragraph = {"context": "in Paris", "qas": [question("q1", "?", ("in", 0))]}
    path = tmp_path / "f.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"data": [{"paragraphs": [paragraph]}]}).encode())
    assert [row["title"] for row in _read(path)] == [""]


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("squad/cs224n/dev-v2.0.json", {"allow_impossible": True}, 6078),
        ("squad/cs224n/test-v2.0.json", {"allow_impossible": True, "with_answers": False}, 5915),
        ("squad/xquad/xquad.en.json", {}, 1190),
        ("fixtures/hf_datasets_dummy/squad_adversarial/dummy_data/blobAddOneSent", {}, 199),
        (
            "fixtures/hf_transformers/SQUAD/dev-v2.0-small.json",
            {"allow_impossible": True},
            14,
        ),
    ],
)
def test_real_files(name, settings, count):
    assert len(_read(public_data(name), **settings)) == count


def test_a_file_with_impossible_questions():
    rows = _read(TESTDATA / "squad.json", allow_impossible=True)
    assert [row["id"] for row in rows] == [f"own-{number:02}" for number in range(1, 16)]
    assert [row["id"] for row in rows if row["is_impossible"]] == ["own-05", "own-10", "own-15"]
    assert [row["title"] for row in rows[::5]] == ["The mill", "The café", "The night train"]
    assert rows[6]["question"] == "Who owned the Café Zéro?"
    assert rows[6]["answers"] == [{"text": "Émile Brandt", "answer_start": 137}]
    assert rows[14]["answers"] == []


def test_a_v2_file_needs_the_switch():
    path = TESTDATA / "squad.json"
    with pytest.raises(InputError, match=r"qas\[\d+\]: .* is impossible: give --task=squad_v2"):
        _read(path)


def test_a_file_without_answers_is_not_for_training(tmp_path):
    unanswered = {"id": "q1", "question": "where?"}
    path = write_squad(tmp_path / "f.json", ("in Paris", [unanswered]))
    with pytest.raises(InputError, match="has no answers and does not say is_impossible"):
        _read(path, allow_impossible=True)


def test_the_flat_layout_of_another_program(tmp_path):
    row = {
        "answers": {"answer_start": [3], "text": ["Paris"]},
        "context": "in Paris",
        "id": "q1",
        "question": "where?",
        "title": "Paris",
    }
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"version": "2.0", "data": [row]}))
    with pytest.raises(InputError, match=r"data\[0\] has no 'paragraphs', it has \['answers'"):
        _read(path, allow_impossible=True)


_GOOD = question("q1", "?", ("in", 0))
MISTAKES = {
    "no id": ({"question": "?", "answers": []}, r"qas\[0\] has no 'id'"),
    "a fraction as id": ({**_GOOD, "id": 5.0}, r"qas\[0\].id is 5.0: it must be a string"),
    "no question": ({"id": "q", "answers": []}, r"qas\[0\] has no 'question'"),
    "answers of v1 as an object": (
        {**_GOOD, "answers": {"text": ["in"], "answer_start": [0]}},
        r"answers is {.*: it must be a list",
    ),
    "a start that is text": (
        {**_GOOD, "answers": [{"text": "in", "answer_start": "0"}]},
        r"answers\[0\].answer_start is \"0\": it must be a whole number",
    ),
    "no start": ({**_GOOD, "answers": [{"text": "in"}]}, "has no 'answer_start'"),
    "a blank answer": (question("q1", "?", (" ", 0)), r"answers\[0\].text is blank"),
    "no answer": (question("q1", "?"), "question 'q1' has no answers"),
    "impossible with an answer": (
        question("q1", "?", ("in", 0), impossible=True),
        "is impossible and has 1 answer",
    ),
    "half of a surrogate pair": (
        {**_GOOD, "question": "\ud83d?"},
        r"question has '\\ud83d' at character 0",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_a_question(tmp_path, case):
    qa, message = MISTAKES[case]
    path = write_squad(tmp_path / "f.json", ("in Paris", [qa]))
    with pytest.raises(InputError, match=message) as caught:
        _read(path, allow_impossible=True)
    assert "f.json: data[0].paragraphs[0]" in str(caught.value)


def test_an_id_that_is_there_twice(tmp_path):
    path = write_squad(tmp_path / "f.json", ("in", [_GOOD]), ("in", [_GOOD]))
    with pytest.raises(
        InputError, match=r"paragraphs\[1\].qas\[0\]: id 'q1' is that of data\[0\].paragraphs\[0\]"
    ):
        _read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1, column 1: not JSON"),
        (b'{"data": [\n{,}]}', "line 2, column 2: not JSON"),
        (b"[]", "holds a list, not an object"),
        (b'{"data": []}', "has no question"),
        (b'{"data": [{"paragraphs": []}]}', "has no question"),
        (b'{"data": 5}', "data is 5: it must be a list"),
        (b'{"data": ["x"]}', r'data\[0\] is "x", not an object'),
        (b'{"rows": []}', "has no 'data', it has"),
        (b'{"data": "\xff"}', "is not UTF-8: byte 10"),
    ],
)
def test_a_file_of_another_shape(tmp_path, content, message):
    path = tmp_path / "f.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        _read(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot read .*nowhere.json: No such file"):
        _read(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("context", "text", "start", "expected"),
    [
        ("in Paris, France", "France", 10, AnswerSpan(10, 16, moved=False)),
        ("in Paris, France", "France", 12, AnswerSpan(10, 16, moved=True)),
        ("in Paris, France", " France ", 9, AnswerSpan(10, 16, moved=False)),
        ("x" * 60 + "France", "France", 11, AnswerSpan(60, 66, moved=True)),
        ("x" * 60 + "France", "France", 9, None),
        ("aaaa", "aa", 3, AnswerSpan(2, 4, moved=True)),  # matches that overlap: the nearest
        ("France" + "x" * 60, "France", 50, AnswerSpan(0, 6, moved=True)),
        ("France" + "x" * 60, "France", 51, None),
        ("in Paris", "France", 3, None),
        ("in Paris", "in", -3, AnswerSpan(0, 2, moved=True)),
        ("in Paris", "in", 10_000, None),
        ("", "in", 0, None),
        ("a.c abc", "a.c", 4, AnswerSpan(0, 3, moved=True)),  # not a pattern
    ],
)
def test_where_an_answer_is_found(context, text, start, expected):
    assert find_answer(context, text, start) == expected
