"""TriviaQA's own layout, in the shape of the published files."""

from __future__ import annotations

import json

import pytest

from data_prep.finetuning.triviaqa import find_alias, first_words, read_triviaqa
from official_bert.errors import InputError


def _question(**changes):
    return {
        "QuestionId": "tc_1",
        "QuestionSource": "http://www.triviacountry.com/",
        "Question": "Which city is on the Seine?",
        "Answer": {
            "Aliases": ["City of Light", "Paris"],
            "NormalizedAliases": ["city of light", "paris"],
            "NormalizedValue": "paris",
            "Value": "Paris",
            "Type": "WikipediaEntity",
        },
        "EntityPages": [{"DocSource": "TagMe", "Filename": "Seine.txt", "Title": "Seine"}],
        "SearchResults": [
            {"Filename": "9/9_1.txt", "Rank": 1, "Title": "t", "Url": "u"},
            {"Filename": "9/9_2.txt", "Rank": 2, "Title": "t", "Url": "u"},
        ],
        **changes,
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evidence" / "wikipedia").mkdir(parents=True)
    (tmp_path / "evidence" / "web" / "9").mkdir(parents=True)
    (tmp_path / "evidence" / "wikipedia" / "Seine.txt").write_text("The Seine runs through\nPARIS.")
    (tmp_path / "evidence" / "web" / "9" / "9_1.txt").write_text("Parisians call it city of  light")
    (tmp_path / "evidence" / "web" / "9" / "9_2.txt").write_text("Parisians")
    return tmp_path


def _write(folder, *questions):
    (folder / "qa.json").write_text(json.dumps({"Data": questions, "Split": "train"}))
    return folder / "qa.json"


def _read(folder, *questions, with_answers=True):
    path = _write(folder, *questions)
    return list(read_triviaqa(path, folder / "evidence", with_answers=with_answers))


def test_a_row_for_each_document(folder):
    rows = _read(folder, _question())
    assert [row["id"] for row in rows] == ["tc_1--Seine.txt", "tc_1--9_1.txt", "tc_1--9_2.txt"]
    assert rows[0]["context"] == "The Seine runs through\nPARIS."
    assert [row["answers"] for row in rows] == [
        [{"text": "PARIS", "answer_start": 23}],
        [{"text": "city of  light", "answer_start": 18}],
        [],
    ]


def test_a_question_without_answer_is_for_prediction(folder):
    question = _question()
    del question["Answer"]
    assert len(_read(folder, question, with_answers=False)) == 3
    with pytest.raises(InputError, match=r"Data\[0\] has no object 'Answer'"):
        _read(folder, question)


@pytest.mark.parametrize(
    ("context", "aliases", "expected"),
    [
        ("a party, then art", ["art"], {"text": "art", "answer_start": 14}),
        ("the u.s. of a", ["U.S."], {"text": "u.s.", "answer_start": 4}),
        ("the u.s.a", ["U.S."], None),
        ("anything", ["", " "], None),
        ("anything", [], None),
    ],
)
def test_an_alias_is_found_as_whole_words(context, aliases, expected):
    assert find_alias(context, aliases) == expected


def test_documents_are_cut_behind_a_number_of_words():
    assert first_words("a  b\nc d", 3) == "a  b\nc"
    assert first_words(" a b", 3) == " a b"
    assert first_words("", 3) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Question": None}, r"Data\[0\] has no text 'Question'"),
        ({"Answer": {"Aliases": []}}, r"Data\[0\].Answer has no text 'Value'"),
        ({"EntityPages": [{}]}, r"EntityPages\[0\] has no text 'Filename'"),
        ({"EntityPages": [{"Filename": "../x.txt"}]}, "it must lie in wikipedia"),
        ({"EntityPages": [{"Filename": "None.txt"}]}, "cannot read its evidence .*None.txt"),
    ],
)
def test_mistakes(folder, change, message):
    with pytest.raises(InputError, match=message):
        _read(folder, _question(**change))


def test_a_file_of_squads_layout(folder):
    (folder / "squad.json").write_text('{"data": []}')
    with pytest.raises(InputError, match="has no list 'Data'"):
        list(read_triviaqa(folder / "squad.json", folder / "evidence", with_answers=True))
