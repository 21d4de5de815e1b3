import csv
import json

import pytest

from data_prep.finetuning.multiple_choice import MultipleChoiceDataSet
from official_bert.errors import InputError
from tests.finetuning_data import TOKENS, settings
from tests.public_data import TESTDATA, public_data

CLS, SEP = 2, 3
ID = {token: number for number, token in enumerate(TOKENS)}
COLUMNS = ["", "video-id", "startphrase", "sent1", "sent2", "gold-source"]


def _write_csv(path, rows, endings=4, label=True):
    names = [f"ending{number}" for number in range(endings)]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *names, *(["label"] if label else [])])
        writer.writerows(rows)
    return path


def _row(endings, *label, sent1="the film", sent2="it"):
    return [0, "v1", f"{sent1} {sent2}", sent1, sent2, "gold", *endings, *label]


def _data_set(**files):
    return MultipleChoiceDataSet(settings("swag", files=files, max_seq_length=9))


def _examples(path, split="train"):
    return list(_data_set(**{split: path}).examples(split))


def test_a_choice_is_the_second_sentence_and_an_ending(tmp_path):
    path = _write_csv(
        tmp_path / "a.csv",
        [
            _row(["is good", "is, not", 'was "bad"', "x"], 2),
            _row(["a", "b", "c", "d"], 0, sent2=""),
        ],
    )
    assert _examples(path) == [
        {
            "id": 0,
            "prompt": "the film",
            "choices": ["it is good", "it is, not", 'it was "bad"', "it x"],
            "answer": 2,
        },
        {"id": 1, "prompt": "the film", "choices": ["a", "b", "c", "d"], "answer": 0},
    ]


@pytest.mark.parametrize("endings", [2, 7])
def test_any_number_of_endings(tmp_path, endings):
    row = _row([f"e{number}" for number in range(endings)], endings - 1)
    (example,) = _examples(_write_csv(tmp_path / "a.csv", [row], endings))
    assert example["choices"] == [f"it e{number}" for number in range(endings)]
    assert example["answer"] == endings - 1


def test_records_have_the_tokens_of_all_choices_in_a_row(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {"prompt": "the film", "choices": ["is good", "bad"], "answer": 1},
        {"prompt": "", "choices": ["is", "a", "the film was not good ."], "answer": 0},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data_set = _data_set(train=path)
    first, second = data_set.records("train", data_set.examples("train"))
    the, film, is_, good, bad = (ID[word] for word in ("the", "film", "is", "good", "bad"))
    assert {name: values.tolist() for name, values in first.items()} == {
        "input_ids": [
            *[CLS, the, film, SEP, is_, good, SEP],
            *[CLS, the, film, SEP, bad, SEP, 0],
        ],
        "input_mask": [*[1] * 7, *[1] * 6, 0],
        "segment_ids": [*[0] * 4, 1, 1, 1, *[0] * 4, 1, 1, 0],
        "num_choices": [2],
        "label_ids": [1],
        "example_id": [0],
    }
    assert second["num_choices"].tolist() == [3]
    assert len(second["input_ids"]) == 3 * 9
    assert data_set.options == {"max_choices": 3}
    assert data_set.statistics() == {"truncated": 0}


def test_test_files_need_no_answers(tmp_path):
    path = _write_csv(tmp_path / "a.csv", [_row(["a", "b", "c", "d"])], label=False)
    (example,) = _examples(path, "test")
    assert "answer" not in example
    data_set = _data_set(test=path)
    (record,) = data_set.records("test", [example])
    assert "label_ids" not in record
    with pytest.raises(InputError, match="line 2: there is no label; only test files may lack it"):
        _examples(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_row(["a", "b", "c"], 0), "line 2: 10 columns, the first line names 11"),
        (_row(["a", "b", "c", ""], 0), "line 2: ending3 is empty: each row needs 4 endings"),
        (_row(["a", "b", "c", "d"], 4), "line 2: label is '4': 0 to 3 expected"),
        (_row(["a", "b", "c", "d"], -1), "line 2: label is '-1': 0 to 3 expected"),
        (_row(["a", "b", "c", "d"], ""), "line 2: label is '': 0 to 3 expected"),
        (_row(["a", "b", "c", "d"], "1.0"), "line 2: label is '1.0': 0 to 3 expected"),
    ],
)
def test_mistakes_in_csv(tmp_path, row, message):
    path = _write_csv(tmp_path / "a.csv", [row])
    with pytest.raises(InputError, match=f"a.csv, {message}"):
        _examples(path)


def test_other_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sent1,sent2,gold-ending\na,b,c\n")
    with pytest.raises(InputError, match="line 2: there is no column ending0; SWAG's are sent1"):
        _examples(path)
    path.write_text("")
    with pytest.raises(InputError, match="a.csv is empty"):
        _examples(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"choices": ["a", "b"], "answer": 0}, "prompt is None: a text is expected"),
        ({"prompt": "p", "answer": 0}, "choices is None: a list of at least two texts"),
        ({"prompt": "p", "choices": ["a"], "answer": 0}, r"choices is \['a'\]: a list of at"),
        ({"prompt": "p", "choices": ["a", " "], "answer": 0}, "choice 1 is ' ': a text is"),
        ({"prompt": "p", "choices": ["a", 2], "answer": 0}, "choice 1 is 2: a text is expected"),
        ({"prompt": "p", "choices": ["a", "b"], "answer": 2}, "answer is 2: 0 to 1 expected"),
        ({"prompt": "p", "choices": ["a", "b"], "answer": "a"}, "answer is 'a': 0 to 1 expected"),
        ({"prompt": "p", "choices": ["a", "b"], "answer": True}, "answer is True: 0 to 1 expect"),
        ({"prompt": "p", "choices": ["a", "b"]}, "there is no answer; only test files may lack"),
    ],
)
def test_mistakes_in_json_lines(tmp_path, row, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"prompt": "p", "choices": ["a", "b"], "answer": 1}) + "\n")
    with open(path, "a") as file:
        file.write(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=f"a.jsonl, line 2: {message}"):
        _examples(path)


def test_files_of_other_kinds_and_folders_without_any(tmp_path):
    with pytest.raises(InputError, match=r"a.txt: the name must end with .csv .* or .jsonl"):
        _data_set(train=tmp_path / "a.txt")
    with pytest.raises(InputError, match="none of train.csv, train.jsonl"):
        MultipleChoiceDataSet(settings("swag", tmp_path))


def test_rows_of_swag():
    first, second, third = _data_set(train=TESTDATA / "swag.csv").examples("train")
    assert second == {
        "id": 1,
        "prompt": "The chain is dry, and it complains.",
        "choices": [
            "He eats the chain.",
            "He puts oil on it, slowly.",
            "He sings to the moss.",
            "He sells the night.",
        ],
        "answer": 1,
    }
    assert [row["answer"] for row in (first, second, third)] == [0, 1, 3]


def test_published_files():
    folder = public_data("multiple_choice/codah_swag_layout")
    data_set = MultipleChoiceDataSet(settings("swag", folder))
    assert data_set.splits == ["train", "dev"]
    assert sum(1 for _ in data_set.examples("train")) == 1665
    assert sum(1 for _ in data_set.examples("dev")) == 556
    swag = public_data("fixtures/hf_datasets_dummy/swag/regular/dummy_data")
    data_set = MultipleChoiceDataSet(settings("swag", swag))
    first = next(data_set.examples("train"))
    assert first["choices"][0] == (
        "A drum line passes by walking down the street playing their instruments."
    )
    assert first["answer"] == 0
    assert "answer" not in next(data_set.examples("test"))
