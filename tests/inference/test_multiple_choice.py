import numpy as np
import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.inference.multiple_choice import MultipleChoice
from official_bert.inference.runner import Answerer, answer_function, read_rows
from tests.inference.heads import chooser
from tests.small_models import TOKENS, options

ID = {token: number for number, token in enumerate(TOKENS)}
CLS, SEP = 2, 3


@pytest.fixture(scope="module")
def bundle():
    return chooser()


@pytest.fixture(scope="module")
def answer(bundle):
    return answer_function(MultipleChoice(bundle, options()))


def _softmax(logits):
    powers = np.exp(logits - np.max(logits))
    return powers / powers.sum()


def _logit(bundle, prompt, choice):
    first, second = ([ID[word] for word in text.split()] for text in (prompt, choice))
    ids = np.array([[[CLS, *first, SEP, *second, SEP]]], np.int32)
    types = np.array([[[0] * (len(first) + 2) + [1] * (len(second) + 1)]], np.int32)
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": types}
    return float(bundle.model(inputs)[0, 0])


@pytest.mark.parametrize("count", [2, 4, 7])
def test_any_number_of_choices(bundle, answer, count):
    choices = ["w1", "w2 w3", "the", "capital of france", "is", "paris .", "w4 w4"][:count]
    found = answer(prompt=tf.constant(["the w1"]), choices=tf.constant([choices]))
    expected = _softmax([_logit(bundle, "the w1", choice) for choice in choices])
    np.testing.assert_allclose(found["probabilities"], [expected], atol=1e-5)
    assert found["choice"].numpy().tolist() == [int(np.argmax(expected))]


def test_choices_that_are_not_there(bundle, answer):
    prompts = ["the w1", "w2", "w3"]
    choices = [["w1", "w2 w3", "the"], ["is", "of", ""], ["", "", ""]]
    found = answer(prompt=tf.constant(prompts), choices=tf.constant(choices))
    expected = _softmax([_logit(bundle, "w2", choice) for choice in ("is", "of")])
    np.testing.assert_allclose(found["probabilities"][1], [*expected, 0.0], atol=1e-5)
    np.testing.assert_allclose(found["probabilities"][2], [1 / 3] * 3, atol=1e-6)
    alone = answer(prompt=tf.constant(prompts[:1]), choices=tf.constant(choices[:1]))
    np.testing.assert_allclose(found["probabilities"][0], alone["probabilities"][0], atol=1e-5)


def test_readable():
    lines = MultipleChoice.readable(["p", "a", "b"], {"choice": 1, "probabilities": [0.25, 0.75]})
    assert lines == ["p", "  0.2500  a", "> 0.7500  b"]


def test_lines_of_a_prompt_and_choices(bundle):
    answerer = Answerer.from_module(MultipleChoice(bundle, options()))
    assert answerer.several
    lines = [b"the w1 ||| w1 ||| w2 w3 ||| the", b"w2\tis\tof"]
    rows = list(read_rows(lines, answerer.inputs, several=True))
    assert rows == [(b"the w1", b"w1", b"w2 w3", b"the"), (b"w2", b"is", b"of")]
    first, second = answerer(rows)
    assert len(first["probabilities"]) == 3
    assert len(second["probabilities"]) == 2
    assert sum(second["probabilities"]) == pytest.approx(1)
    assert answerer.named(["p", "a", "b"]) == {"prompt": "p", "choices": ["a", "b"]}
    with pytest.raises(InputError, match=r"line 1 has 2 text\(s\), not 3 or more: write prompt "):
        list(read_rows([b"the ||| w1"], answerer.inputs, several=True))
