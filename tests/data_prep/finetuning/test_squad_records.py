"""Windows with answers: the records say where the gold text is, and give it back."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from data_prep.finetuning.squad_files import read_squad
from data_prep.finetuning.squad_records import WindowMaker
from official_bert.text import BertTokenizer, Vocab
from official_bert.text.windows import WindowRule
from tests.public_data import TESTDATA, public_data

WORDS = ("where", "is", "paris", "in", "france", "?", ",", "caf", "##e", "5", "km", "big")
VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
CLS, SEP = 2, 3
ID = {word: VOCAB.id_of(word) for word in WORDS}


TOKENIZER = BertTokenizer(VOCAB, lower_case=True)


def _maker(rule=None, for_training=True):
    rule = rule or WindowRule(16, 4, 6)
    return WindowMaker(TOKENIZER, VOCAB, rule, for_training=for_training)


def _row(identifier, question, context, *answers, impossible=False):
    return {
        "id": identifier,
        "title": "",
        "question": question,
        "context": context,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
        "is_impossible": impossible,
    }


def _lists(record):
    return {name: array.tolist() for name, array in record.items()}


def _text(record, context, start, end):
    """What the record's offsets say stands at its tokens start … end."""
    first, last = record["token_starts"][start], record["token_limits"][end]
    return context.encode()[first:last].decode()


def test_a_record_written_out():
    row = _row("q1", "Where is Paris?", "Café, in France", ("France", 9))
    (record,) = _maker().records([row])
    question = [ID["where"], ID["is"], ID["paris"], ID["?"]]
    context = [ID["caf"], ID["##e"], ID[","], ID["in"], ID["france"]]
    assert _lists(record) == {
        "unique_ids": [1_000_000_000],
        "input_ids": [CLS, *question, SEP, *context, SEP],
        "input_mask": [1] * 12,
        "segment_ids": [0] * 6 + [1] * 6,
        "paragraph_mask": [1] + [0] * 5 + [1] * 5 + [0],
        "class_index": [0],
        "token_starts": [-1] * 6 + [0, 3, 5, 7, 10] + [-1],
        "token_limits": [-1] * 6 + [3, 5, 6, 9, 16] + [-1],
        "max_context_mask": [0] * 6 + [1] * 5 + [0],
        "example_index": [0],
        "start_positions": [10],
        "end_positions": [10],
        "is_impossible": [0],
    }
    assert all(array.dtype == np.int64 for array in record.values())


def test_windows_without_the_answer_point_to_cls():
    context = " ".join(["in"] * 12 + ["big france"])
    row = _row("q1", "where", context, ("big france", len(context) - 10))
    maker = _maker(WindowRule(10, 3, 6))
    records = list(maker.records([row]))
    assert len(records) == 4
    places = [(int(r["start_positions"][0]), int(r["end_positions"][0])) for r in records]
    # The third has room up to "big" only; the last begins with token 9.
    assert places == [(0, 0), (0, 0), (0, 0), (6, 7)]
    assert [int(r["is_impossible"][0]) for r in records] == [1, 1, 1, 0]
    assert _text(records[3], context, 6, 7) == "big france"
    assert [int(r["unique_ids"][0]) for r in records] == [1_000_000_000 + i for i in range(4)]


def test_answers_at_fault_are_counted_and_listed():
    rows = [
        _row("moved", "where", "in Paris", ("Paris", 5)),
        _row("nowhere", "where", "in Paris", ("France", 3)),
        _row("in a word", "where", "in France", ("ranc", 4)),
        _row("second", "where", "in Paris", ("France", 0), ("Paris", 3)),
        _row("dropped", "where", "in \u200b Paris", ("\u200b", 3)),
        _row("none", "where", "in Paris", impossible=True),
    ]
    maker = _maker()
    records = list(maker.records(rows))
    assert [int(r["example_index"][0]) for r in records] == [0, 2, 3, 5]
    assert [int(r["start_positions"][0]) for r in records] == [4, 4, 4, 0]
    assert maker.listed == {
        "moved": ["moved"],
        "within_a_word": ["in a word"],
        "not_found": ["nowhere", "dropped"],
        "in_no_window": [],
    }


def test_without_training_every_question_has_windows_and_no_labels():
    rows = [
        _row("nowhere", "where", "in Paris", ("France", 3)),
        _row("empty", "where", ""),
        _row("blank", "", " \n\t\u00a0 "),
    ]
    maker = _maker(for_training=False)
    records = list(maker.records(rows))
    assert [int(r["example_index"][0]) for r in records] == [0, 1, 2]
    assert "start_positions" not in records[0]
    assert _lists(records[1])["input_ids"] == [CLS, ID["where"], SEP, SEP]
    assert _lists(records[1])["token_starts"] == [-1] * 4
    assert _lists(records[2])["input_ids"] == [CLS, SEP, SEP]


def test_an_answer_longer_than_any_window_is_counted():
    context = "in " * 30 + "France"
    maker = _maker(WindowRule(10, 3, 6))
    records = list(maker.records([_row("q1", "where", context, (context, 0))]))
    assert {int(r["end_positions"][0]) for r in records} == {0}
    assert maker.listed["in_no_window"] == ["q1"]


def test_an_answer_at_the_very_end_and_one_that_is_the_context():
    rows = [
        _row("end", "where", "in " * 40 + "France", ("France", 120)),
        _row("all", "where", "5\u00a0km", ("5\u00a0km", 0)),
    ]
    records = list(_maker(WindowRule(16, 4, 6)).records(rows))
    last, everything = records[-2:]
    start, end = int(last["start_positions"][0]), int(last["end_positions"][0])
    assert _text(last, rows[0]["context"], start, end) == "France"
    start, end = int(everything["start_positions"][0]), int(everything["end_positions"][0])
    assert _text(everything, rows[1]["context"], start, end) == "5\u00a0km"


def test_scripts_without_spaces_are_cut_at_characters():
    context = "黑豹队的防守只丢了308分，在联赛中排名第六。"
    vocab = Vocab([*VOCAB.tokens, "308", *sorted(set(context) - set("308")), "多", "少", "？"])
    tokenizer = BertTokenizer(vocab, lower_case=True)
    answers = ["308", "第六", "黑豹队", "联赛中排名"]
    rows = [_row(a, "黑豹队的防守丢了多少分？", context, (a, context.index(a))) for a in answers]
    maker = WindowMaker(tokenizer, vocab, WindowRule(), for_training=True)
    for record, answer in zip(maker.records(rows), answers, strict=True):
        start, end = int(record["start_positions"][0]), int(record["end_positions"][0])
        assert _text(record, context, start, end) == answer
    assert maker.listed["within_a_word"] == []


def test_batches_do_not_show(monkeypatch):
    contexts = [f"in {'big ' * i}France" for i in range(9)]
    rows = [
        _row(f"q{i}", "where", context, ("France", 3 + 4 * i)) for i, context in enumerate(contexts)
    ]
    whole = [_lists(record) for record in _maker().records(rows)]
    monkeypatch.setattr("data_prep.finetuning.squad_records.EXAMPLES_AT_ONCE", 2)
    assert [_lists(record) for record in _maker().records(rows)] == whole
    monkeypatch.setattr("data_prep.finetuning.squad_records.CHARS_AT_ONCE", 1)
    assert [_lists(record) for record in _maker().records(rows)] == whole


REAL_FILES = {
    "squad/cs224n/dev-v2.0.json": (2910, 2),
    "squad/xquad/xquad.en.json": (1190, 1),
    "fixtures/hf_datasets_dummy/squad_adversarial/dummy_data/blobAddSent": (373, 6),
    "fixtures/hf_datasets_dummy/squad_adversarial/dummy_data/blobAddOneSent": (199, 2),
}


@pytest.fixture(scope="module", params=["uncased", "cased"])
def real_tokenizer(request):
    vocab = Vocab.from_file(public_data(f"vocab/bert-base-{request.param}/vocab.txt"))
    return BertTokenizer(vocab, lower_case=request.param == "uncased")


@pytest.mark.parametrize("name", REAL_FILES)
@pytest.mark.parametrize("doc_stride", [128, 32])
def test_gold_answers_of_real_files_come_back(name, doc_stride, real_tokenizer):
    answerable, within_a_word = REAL_FILES[name]
    rows = list(read_squad(public_data(name), allow_impossible=True, with_answers=True))
    maker = WindowMaker(
        real_tokenizer, real_tokenizer.vocab, WindowRule(384, doc_stride, 64), for_training=True
    )
    _check_gold_answers_come_back(maker, rows, answerable, within_a_word)


@pytest.mark.parametrize(("vocab", "lower_case"), [("vocab.txt", True), ("cased_vocab.txt", False)])
@pytest.mark.parametrize("doc_stride", [16, 64])
def test_gold_answers_come_back_from_small_pieces(vocab, lower_case, doc_stride):
    tokenizer = BertTokenizer(Vocab.from_file(TESTDATA / vocab), lower_case)
    rows = list(read_squad(TESTDATA / "squad.json", allow_impossible=True, with_answers=True))
    maker = WindowMaker(
        tokenizer, tokenizer.vocab, WindowRule(128, doc_stride, 48), for_training=True
    )
    _check_gold_answers_come_back(maker, rows, answerable=12, within_a_word=0)


def _check_gold_answers_come_back(maker, rows, answerable, within_a_word):
    """Every answer that begins and ends with a token; the others lie within what comes back."""
    found = collections.defaultdict(set)
    most = collections.defaultdict(list)
    for record in maker.records(rows):
        row = rows[int(record["example_index"][0])]
        start, end = int(record["start_positions"][0]), int(record["end_positions"][0])
        if end:
            assert record["paragraph_mask"][start : end + 1].all()
            found[row["id"]].add(_text(record, row["context"], start, end))
        most[row["id"]] += record["token_starts"][record["max_context_mask"] == 1].tolist()
    assert maker.listed["not_found"] == maker.listed["in_no_window"] == []
    assert len(maker.listed["within_a_word"]) == within_a_word
    golds = {row["id"]: row["answers"][0]["text"] for row in rows if row["answers"]}
    assert len(golds) == len(found) == answerable
    for question, texts in found.items():
        assert len(texts) == 1
        if question in maker.listed["within_a_word"]:
            assert golds[question] in texts.pop()
        else:
            assert texts == {golds[question].strip()}
    # Each token of each context has most context in one window.
    assert all(len(starts) == len(set(starts)) for starts in most.values())
