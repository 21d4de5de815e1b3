"""What a model server does with an export: JSON rows, merged batches, text of any kind."""

from __future__ import annotations

import resource

import numpy as np
import pytest
import tensorflow as tf

from tests.export.hostile import NAMED, random_strings

TEXT_SIGNATURES = {
    "serving_default": ("text",),
    "next_sentence": ("text_a", "text_b"),
    "embed": ("text",),
}


def from_rows(request):
    """`instances` of the REST API -> one tensor a name, as TensorFlow Serving makes them."""
    names = request["instances"][0].keys()
    return {name: tf.constant([row[name] for row in request["instances"]]) for name in names}


def to_rows(outputs):
    """`predictions`: one object a row."""
    columns = {name: value.numpy().tolist() for name, value in outputs.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("name", TEXT_SIGNATURES)
def test_string_inputs_have_one_axis(signatures, name):
    specs = signatures[name].structured_input_signature[1]
    assert sorted(specs) == sorted(TEXT_SIGNATURES[name])
    assert all(spec == tf.TensorSpec([None], tf.string, spec.name) for spec in specs.values())


def test_a_request_in_rows_gives_an_object_a_row(signatures):
    request = {
        "signature_name": "next_sentence",
        "instances": [
            {"text_a": "the capital", "text_b": "of france"},
            {"text_a": "w1", "text_b": "w2 w3"},
        ],
    }
    rows = to_rows(signatures[request["signature_name"]](**from_rows(request)))
    assert [list(row) for row in rows] == [["is_next_probability"]] * 2
    rows = to_rows(signatures["fill_mask"](**from_rows({"instances": [{"text": "w1 [MASK]"}]})))
    assert sorted(rows[0]) == ["num_masks", "probabilities", "token_ids", "tokens"]
    assert len(rows[0]["tokens"][0]) == 3


@pytest.mark.parametrize("name", TEXT_SIGNATURES)
def test_merged_requests_give_what_each_gives_alone(signatures, name):
    texts = [["w1 [MASK] paris", "[MASK] the of [MASK] [MASK]"], ["w2"], ["", "w3 w4 " * 30]]
    inputs = TEXT_SIGNATURES[name]

    def answer(batch):
        return signatures[name](**{key: tf.constant(batch) for key in inputs})

    merged = answer([text for batch in texts for text in batch])
    first = 0
    for batch in texts:
        alone = answer(batch)
        for output, value in alone.items():
            # A batch is as wide as the most masks in it.
            part = merged[output].numpy()[first : first + len(batch)]
            part = part[:, : value.shape[1]] if value.shape.rank == 3 else part
            if value.dtype.is_floating:
                np.testing.assert_allclose(part, value.numpy(), atol=1e-5)
            else:
                assert (part == value.numpy()).all()
        first += len(batch)


@pytest.mark.parametrize("name", TEXT_SIGNATURES)
def test_training_behaviour_does_not_leak(signatures, name):
    # The model's dropout rate is one half: a mask would show at once.
    texts = dict.fromkeys(TEXT_SIGNATURES[name], tf.constant(["w1 [MASK] of france", ""]))
    first, second = (signatures[name](**texts) for _ in range(2))
    for output, value in first.items():
        assert (second[output].numpy() == value.numpy()).all()


@pytest.mark.parametrize("name", TEXT_SIGNATURES)
def test_hostile_text_gets_finite_answers_in_bounded_memory(signatures, name):
    inputs = TEXT_SIGNATURES[name]

    def run(strings):
        for start in range(0, len(strings), 100):
            batch = strings[start : start + 100]
            columns = [batch, batch[::-1]]
            texts = {key: tf.constant(columns[i], tf.string) for i, key in enumerate(inputs)}
            for value in signatures[name](**texts).values():
                assert value.shape[0] == len(batch)
                if value.dtype.is_floating:
                    assert np.isfinite(value.numpy()).all()

    run(NAMED)
    run(random_strings(3000, seed=1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(random_strings(7000, seed=2))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < 30 * 1024
