"""The window rule beside run_squad.py's, written out window by window."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.text import Vocab
from official_bert.text.windows import WindowRule, cut_windows

PAD, CLS, SEP = 0, 2, 3
VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(2000))])
FIRST = 5

Span = collections.namedtuple("Span", "start length")


def _cut(question_lengths, context_lengths, rule, **settings):
    questions = tf.ragged.constant(
        [[FIRST + i for i in range(length)] for length in question_lengths], tf.int32, 1
    )
    contexts = tf.ragged.constant(
        [[FIRST + 100 + i for i in range(length)] for length in context_lengths], tf.int32, 1
    )
    return cut_windows(questions, contexts, VOCAB, rule, **settings)


def _original_spans(context_length, room, doc_stride):
    """`convert_examples_to_features` of google-research/bert, but a window for no token."""
    spans, start = [], 0
    while start < context_length:
        length = min(context_length - start, room)
        spans.append(Span(start, length))
        if start + length == context_length:
            break
        start += min(length, doc_stride)
    return spans or [Span(0, 0)]


def _original_is_max_context(spans, number, position):
    """`_check_is_max_context` of google-research/bert."""
    best_score = best_number = None
    for index, span in enumerate(spans):
        end = span.start + span.length - 1
        if position < span.start or position > end:
            continue
        score = min(position - span.start, end - position) + 0.01 * span.length
        if best_score is None or score > best_score:
            best_score, best_number = score, index
    return best_number == number


def test_windows_of_a_small_context():
    windows = _cut([2], [7], WindowRule(max_seq_length=9, doc_stride=2, max_query_length=5))
    assert windows.inputs["input_word_ids"].numpy().tolist() == [
        [CLS, 5, 6, SEP, 105, 106, 107, 108, SEP],
        [CLS, 5, 6, SEP, 107, 108, 109, 110, SEP],
        [CLS, 5, 6, SEP, 109, 110, 111, SEP, PAD],
    ]
    assert windows.inputs["input_mask"].numpy().tolist() == [[1] * 9, [1] * 9, [1] * 8 + [0]]
    assert windows.inputs["input_type_ids"].numpy()[2].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert windows.context_tokens.numpy().tolist() == [
        [-1, -1, -1, -1, 0, 1, 2, 3, -1],
        [-1, -1, -1, -1, 2, 3, 4, 5, -1],
        [-1, -1, -1, -1, 4, 5, 6, -1, -1],
    ]
    most = tf.ragged.boolean_mask(windows.context_tokens, windows.is_max_context)
    assert most.to_list() == [[0, 1, 2], [3, 4], [5, 6]]
    assert windows.lengths.numpy().tolist() == [9, 9, 8]


def test_values_of_the_context_in_its_windows():
    windows = _cut([1, 0], [3, 0], WindowRule(max_seq_length=6, doc_stride=1, max_query_length=1))
    values = tf.ragged.constant([[0, 40, 70], []], tf.int32, 1)
    assert windows.of_context(values).numpy().tolist() == [
        [-1, -1, -1, 0, 40, -1],
        [-1, -1, -1, 40, 70, -1],
        [-1, -1, -1, -1, -1, -1],
    ]


def test_an_empty_context_and_an_empty_question_have_a_window():
    windows = _cut([1, 0], [0, 2], WindowRule(9, 2, 5), pad_to=9)
    assert windows.rows.numpy().tolist() == [0, 1]
    assert windows.inputs["input_word_ids"].numpy().tolist() == [
        [CLS, 5, SEP, SEP, 0, 0, 0, 0, 0],
        [CLS, SEP, 105, 106, SEP, 0, 0, 0, 0],
    ]
    assert not windows.is_max_context.numpy()[0].any()
    nothing = _cut([0], [0], WindowRule(9, 2, 5))
    assert nothing.inputs["input_word_ids"].numpy().tolist() == [[CLS, SEP, SEP]]


def test_no_question_gives_no_window():
    assert _cut([], [], WindowRule(9, 2, 5)).inputs["input_word_ids"].shape[0] == 0
    padded = _cut([], [], WindowRule(9, 2, 5), pad_to=9)
    assert padded.inputs["input_word_ids"].shape == [0, 9]


def test_a_long_question_is_cut():
    windows = _cut([200], [3], WindowRule(384, 128, 64))
    ids = windows.inputs["input_word_ids"].numpy()[0].tolist()
    assert ids == [CLS, *range(5, 69), SEP, 105, 106, 107, SEP]


@pytest.mark.parametrize("seed", range(4))
def test_windows_and_max_context_equal_the_original(seed):
    random = np.random.default_rng(seed)
    rule = WindowRule(
        max_seq_length=int(random.integers(20, 200)),
        doc_stride=int(random.integers(1, 150)),
        max_query_length=int(random.integers(1, 16)),
    )
    question_lengths = random.integers(0, 20, size=30)
    context_lengths = random.integers(0, 700, size=30)
    windows = _cut(question_lengths, context_lengths, rule)
    at = 0
    for row, (question, context) in enumerate(zip(question_lengths, context_lengths, strict=True)):
        before = min(question, rule.max_query_length) + 2
        spans = _original_spans(context, rule.max_seq_length - before - 1, rule.doc_stride)
        for number, span in enumerate(spans):
            assert windows.rows[at] == row
            tokens = windows.context_tokens[at].numpy()
            end = span.start + span.length
            wanted = np.full_like(tokens, -1)
            wanted[before : before + span.length] = np.arange(span.start, end)
            assert tokens.tolist() == wanted.tolist()
            most = tokens[windows.is_max_context[at].numpy()].tolist()
            assert most == [
                position
                for position in range(span.start, end)
                if _original_is_max_context(spans, number, position)
            ]
            at += 1
    assert at == len(windows.rows)


def test_every_token_has_most_context_in_one_window():
    windows = _cut([3], [5000], WindowRule(384, 32, 64))
    tokens = windows.context_tokens.numpy()[windows.is_max_context.numpy()]
    assert sorted(tokens.tolist()) == list(range(5000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"doc_stride": 0}, "doc_stride is 0"),
        ({"max_query_length": 0}, "max_query_length is 0"),
        ({"max_seq_length": 67}, "it must be at least 68"),
    ],
)
def test_bad_rules(settings, message):
    with pytest.raises(InputError, match=message):
        WindowRule(**settings)
