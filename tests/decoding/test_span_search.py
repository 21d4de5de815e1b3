"""The best spans beside a search of all of them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from official_bert.decoding.span_search import ContextTokens, SpanRule, best_spans, window_answers
from official_bert.errors import InputError


def _all_spans(start, end, in_context, is_max_context, length):
    """(score, first, last token) of every span that may be an answer, best first."""
    spans = [
        (start[s] + end[e], s, e)
        for s in range(len(start))
        for e in range(s, min(s + length, len(start)))
        if in_context[s] and is_max_context[s] and in_context[e]
    ]
    return sorted(spans, key=lambda span: -span[0])


@pytest.mark.parametrize("length", [1, 4, 30])
def test_equals_a_search_of_all_spans(length):
    random = np.random.default_rng(length)
    windows, width = 6, 25
    start, end = random.normal(size=(2, windows, width)).astype(np.float32)
    in_context = np.zeros((windows, width), bool)
    in_context[:, 7:22] = True
    in_context[5] = False
    is_max_context = random.random((windows, width)) < 0.7
    rule = SpanRule(max_answer_length=length, n_best_size=20)
    logits = {"start_logits": tf.constant(start), "end_logits": tf.constant(end)}
    spans = best_spans(logits, tf.constant(in_context), tf.constant(is_max_context), rule)
    assert spans.starts.shape == [windows, 40]
    for w in range(windows):
        wanted = _all_spans(start[w], end[w], in_context[w], is_max_context[w], length)[:40]
        count = len(wanted)
        assert spans.starts[w].numpy().tolist()[:count] == [s for _, s, _ in wanted]
        assert spans.ends[w].numpy().tolist()[:count] == [e + 1 for _, _, e in wanted]
        starts, ends = [start[w, s] for _, s, _ in wanted], [end[w, e] for _, _, e in wanted]
        np.testing.assert_array_equal(spans.start_logits[w][:count], starts)
        np.testing.assert_array_equal(spans.end_logits[w][:count], ends)
        assert (spans.starts[w][count:].numpy() == -1).all()
        assert (spans.ends[w][count:].numpy() == -1).all()
        assert np.isneginf(spans.start_logits[w][count:]).all()
        assert np.isneginf(spans.end_logits[w][count:]).all()


def test_spans_in_bytes_of_the_context():
    """[CLS] who [SEP] né to Rome [SEP], of the context "né to Rome"; "Rome" answers."""
    logits = {
        "start_logits": tf.constant([[1.0, 9.0, 0.0, 2.0, 0.0, 3.0, 9.0]]),
        "end_logits": tf.constant([[0.5, 9.0, 0.0, 0.0, 0.0, 2.0, 9.0]]),
    }
    tokens = ContextTokens(
        starts=tf.constant([[-1, -1, -1, 0, 4, 7, -1]]),
        ends=tf.constant([[-1, -1, -1, 3, 6, 11, -1]]),
        is_max_context=tf.constant([[True] * 7]),
    )
    found = window_answers(logits, tokens, SpanRule(n_best_size=1))
    assert {name: values.numpy().tolist() for name, values in found._asdict().items()} == {
        "starts": [[7, 0]],
        "ends": [[11, 11]],
        "start_logits": [[3.0, 2.0]],
        "end_logits": [[2.0, 2.0]],
        "null_start_logits": [1.0],
        "null_end_logits": [0.5],
    }


@pytest.mark.parametrize("field", ["max_answer_length", "n_best_size"])
def test_bad_rules(field):
    with pytest.raises(InputError, match=f"{field} is 0"):
        SpanRule(**{field: 0})
