"""Answers in the graph beside those of evaluation, which come by way of records."""

from __future__ import annotations

import collections
import functools
import random

import numpy as np
import pytest
import tensorflow as tf

from data_prep.finetuning.squad_records import WindowMaker
from official_bert.data.manifest import Manifest
from official_bert.decoding.question_answers import rank_examples
from official_bert.decoding.span_search import SpanRule
from official_bert.experiment import ExperimentConfig
from official_bert.inference.base import AnswerOptions
from official_bert.inference.question_answering import QuestionAnswering
from official_bert.inference.runner import Answerer, answer_function
from official_bert.tasks.question_answering import QuestionAnsweringTask
from official_bert.text.windows import WindowRule
from tests.inference.spans import MAX_POSITIONS, TOKENS, WORDS, span_bundle

QUERY, STRIDE = 6, 9
# About as many questions of `_texts` have null odds above it as below.
THRESHOLD = -3.4


@pytest.fixture(scope="module")
def bundle():
    return span_bundle()


def _module(bundle, *, v2=False, threshold=0.0, candidates=20, **options):
    task_options = {
        "doc_stride": STRIDE,
        "max_query_length": QUERY,
        "version_2_with_negative": v2,
        "null_threshold": threshold,
    }
    return QuestionAnswering(
        bundle,
        AnswerOptions(
            max_seq_length=MAX_POSITIONS,
            candidates=candidates,
            task_options=task_options,
            **options,
        ),
    )


@pytest.fixture(scope="module")
def answerer(bundle):
    """The answers of a module with certain settings; each graph is made once."""
    return functools.cache(lambda **settings: Answerer.from_module(_module(bundle, **settings)))


def _answer(answerer, *rows):
    """rows of (question, context) -> Python values, one dict a row."""
    return answerer([tuple(text.encode() for text in row) for row in rows])


def _texts(count, seed=0):
    """Contexts with accents, CJK, odd spaces and unknown words; of 0 to 150 tokens."""
    rng = random.Random(seed)
    words = [*WORDS, "Rivers", "É", "xyz", "5\u00a0km", "a\u200bb", "\U0001f600"]
    return [
        (
            " ".join(rng.choices(words, k=rng.randrange(12))),
            rng.choice(["", " ", "\n "])
            + rng.choice([" ", "  ", "\u00a0"]).join(rng.choices(words, k=rng.randrange(150))),
        )
        for _ in range(count)
    ]


def _by_records(bundle, texts, v2):
    """What evaluation ranks: from records, padded as batches are."""
    rows = [
        {"id": str(i), "question": q, "context": c, "answers": [], "is_impossible": False}
        for i, (q, c) in enumerate(texts)
    ]
    rule = WindowRule(MAX_POSITIONS, STRIDE, QUERY)
    maker = WindowMaker(bundle.tokenizer, bundle.vocab, rule, for_training=False)
    records = list(maker.records(rows))
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    batch = {
        names.get(name, name): tf.ragged.constant(
            [record[name] for record in records], tf.int32, ragged_rank=1
        ).to_tensor()
        for name in records[0]
    }
    manifest = Manifest(
        task="question_answering", dataset="squad_v1", splits={}, max_seq_length=MAX_POSITIONS,
        vocab_size=len(TOKENS), vocab_sha256="", sources={}, seed=0,
        options={"version_2_with_negative": v2},
    )  # fmt: skip
    task = QuestionAnsweringTask(manifest, bundle.vocab, ExperimentConfig())
    outputs = bundle.model({name: batch[name] for name in task.model_inputs})
    collected = {name: tensor.numpy() for name, tensor in task.collect(outputs, batch).items()}
    windows = collections.defaultdict(list)
    for number, index in enumerate(collected["example_index"]):
        windows[index].append({name: values[number] for name, values in collected.items()})
    spans = SpanRule(version_2_with_negative=v2)
    asked = [(row, windows[index]) for index, row in enumerate(rows)]
    return [ranking for _, ranking in rank_examples(asked, spans)], spans


@pytest.mark.parametrize("v2", [False, True])
def test_answers_equal_those_of_evaluation(bundle, answerer, v2):
    texts = [("where", ""), ("", " \n\t\u00a0"), ("where", "paris"), *_texts(30)]
    rankings, spans = _by_records(bundle, texts, v2)
    answers = _answer(answerer(v2=v2, threshold=THRESHOLD), *texts)
    empty = 0
    for (_, context), ranking, answer in zip(texts, rankings, answers, strict=True):
        assert answer["answer"] == ranking.prediction(spans, THRESHOLD)
        empty += answer["answer"] == ""
        listed = [c.text for c in ranking.candidates if c.text]
        tidied = QuestionAnswering.tidy(answer, 20)
        assert tidied["nbest_answer"] == listed
        by_text = {c.text: c.probability for c in ranking.candidates}
        np.testing.assert_allclose(
            tidied["nbest_score"], [by_text[text] for text in listed], atol=1e-5
        )
        assert answer["no_answer_probability"] == pytest.approx(by_text.get("", 0.0), abs=1e-5)
        assert answer["score"] == pytest.approx(by_text[answer["answer"]], abs=1e-5)
        offsets = zip(
            [answer["answer"], *listed],
            [answer["answer_start"], *tidied["nbest_start"]],
            [answer["answer_end"], *tidied["nbest_end"]],
            strict=True,
        )
        for text, start, end in offsets:
            assert (start, end) == (-1, -1) if not text else context[start:end] == text
    assert empty == 2 if not v2 else 3 < empty < 30


def test_no_text_is_listed_twice_and_fillers_are_plain(answerer):
    answer = _answer(answerer(v2=False, threshold=THRESHOLD), ("where", "paris paris paris"))[0]
    found = ["paris", "paris paris", "paris paris paris"]
    assert sorted(answer["nbest_answer"]) == [""] * 17 + found
    assert answer["nbest_start"][3:] == [-1] * 17
    assert answer["nbest_score"][3:] == [0.0] * 17
    assert sum(answer["nbest_score"]) == pytest.approx(1.0)
    assert answer["no_answer_probability"] == 0.0


def test_an_empty_context_has_no_answer(answerer):
    for v2 in (False, True):
        for context in ("", " \n", "\u200b"):
            answer = _answer(answerer(v2=v2, threshold=THRESHOLD), ("where", context))[0]
            assert answer == {
                "answer": "", "answer_start": -1, "answer_end": -1, "score": 1.0,
                "no_answer_probability": 1.0, "nbest_answer": [""] * 20,
                "nbest_start": [-1] * 20, "nbest_end": [-1] * 20, "nbest_score": [0.0] * 20,
            }  # fmt: skip


def test_the_threshold_decides_between_an_answer_and_none(answerer):
    texts = _texts(12, seed=3)
    always = _answer(answerer(v2=True, threshold=1e9), *texts)
    never = _answer(answerer(v2=True, threshold=-1e9), *texts)
    assert all(a["answer"] == a["nbest_answer"][0] for a in always)
    assert all(a["answer"] == "" and a["score"] == a["no_answer_probability"] for a in never)
    assert [a["nbest_answer"] for a in always] == [a["nbest_answer"] for a in never]


def test_blocks_and_padding_do_not_show(bundle, answerer, monkeypatch):
    texts = _texts(9, seed=1)
    whole = _answer(answerer(v2=True, threshold=THRESHOLD), *texts)
    singly = [_answer(answerer(v2=True, threshold=THRESHOLD), row)[0] for row in texts]
    padded = _answer(answerer(v2=True, threshold=THRESHOLD, pad_to=MAX_POSITIONS), *texts)
    monkeypatch.setattr("official_bert.inference.question_answering.WINDOWS_AT_ONCE", 4)
    in_blocks = _answer(Answerer.from_module(_module(bundle, v2=True, threshold=THRESHOLD)), *texts)
    for others in (padded, in_blocks, singly):
        for one, other in zip(whole, others, strict=True):
            assert (one["answer"], one["answer_start"]) == (other["answer"], other["answer_start"])
            np.testing.assert_allclose(one["nbest_score"], other["nbest_score"], atol=1e-5)


def test_decode_of_all_logits_is_the_answer(bundle):
    module = _module(bundle, v2=True, threshold=THRESHOLD)
    rows = _texts(5, seed=2)
    texts = {
        "question": tf.constant([q for q, _ in rows]),
        "context": tf.constant([c for _, c in rows]),
    }
    inputs, context = module.encode(texts)
    decoded = module.decode(module.logits(inputs), context)
    for name, value in module.answer(texts).items():
        if value.dtype == tf.float32:
            np.testing.assert_allclose(decoded[name], value, atol=1e-5)
        else:
            assert (decoded[name].numpy() == value.numpy()).all()


def test_a_batch_of_none(bundle):
    nothing = tf.constant([], tf.string)
    module = answer_function(_module(bundle, v2=True))
    answer = module(question=nothing, context=nothing)
    assert answer["answer"].shape == [0]
    assert answer["nbest_start"].shape == [0, 20]


def test_bytes_that_are_not_text(bundle):
    module = answer_function(_module(bundle))
    rng = random.Random(0)
    strings = [rng.randbytes(rng.randrange(200)) for _ in range(50)]
    answer = module(question=tf.constant(strings[::-1]), context=tf.constant(strings))
    for context, text in zip(strings, answer["answer"].numpy(), strict=True):
        assert text in context


def test_a_foreign_checkpoint_answers_with_defaults(bundle):
    module = QuestionAnswering(bundle, AnswerOptions(max_seq_length=MAX_POSITIONS))
    answer = _answer(Answerer.from_module(module), ("where " * 200, "in paris . " * 30))[0]
    assert answer["answer"] and answer["no_answer_probability"] == 0.0
    assert len(answer["nbest_answer"]) == 5


def test_readable_lines(bundle):
    answer = {
        "answer": "paris", "answer_start": 3, "answer_end": 8, "score": 0.9,
        "no_answer_probability": 0.02, "nbest_answer": ["paris", "in paris", "paris ."],
        "nbest_start": [3, 0, 3], "nbest_end": [8, 8, 10], "nbest_score": [0.9, 0.08, 0.01],
    }  # fmt: skip
    assert QuestionAnswering.readable(["where?", "in paris ."], answer) == [
        "where?",
        "  0.9000  paris  (characters 3-8)",
        "    0.0800  in paris  (0-8)",
        "    0.0100  paris .  (3-10)",
    ]
    answer |= {"answer": "", "answer_start": -1, "answer_end": -1, "score": 0.95}
    lines = QuestionAnswering.readable(["where?", "in paris ."], answer)
    assert lines[1] == "  0.9500  (no answer)"
