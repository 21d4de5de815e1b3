"""Model folders that can be opened and those that cannot."""

from __future__ import annotations

import pytest
import tensorflow as tf

from official_bert.errors import InputError
from official_bert.inference.load import open_model
from tests.small_models import MAX_POSITIONS, tiny_bundle, write_model_folder


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    return write_model_folder(tmp_path_factory.mktemp("model") / "m", tiny_bundle())


def test_a_pretraining_folder_answers_three_ways(model_dir):
    opened = open_model(model_dir)
    assert list(opened.modules) == ["fill_mask", "next_sentence", "embed"]
    assert opened.options.max_seq_length == MAX_POSITIONS
    text = {"text": tf.constant(["w1 w2"])}
    before = tiny_bundle().encoder(opened.modules["embed"].encode(text)[0])["sequence_output"]
    after = opened.bundle.encoder(opened.modules["embed"].encode(text)[0])["sequence_output"]
    assert (before.numpy() == after.numpy()).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("translate",)}, "cannot translate: it can fill_mask"),
        ({"max_seq_length": 100}, "max_seq_length is 100"),
        ({"pad_to": 25}, "pad_to is 25"),
        ({"candidates": 100}, "100 is above the vocabulary's size 17"),
    ],
)
def test_the_message_about_what_a_model_cannot_do(model_dir, changes, message):
    with pytest.raises(InputError, match=message):
        open_model(model_dir, **changes)


def test_the_message_about_a_missing_folder():
    with pytest.raises(InputError, match="no checkpoint at /no/such"):
        open_model("/no/such")
