"""Every task from raw files to an export that answers, elsewhere, as prediction does.

Each is trained on a few real rows with a small encoder, exported and moved; a process that knows
only tensorflow and tensorflow_text answers real rows, and must say what `official_bert.predict`
says.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import resource
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from export import fresh_process, saving, verify
from official_bert.errors import InputError
from official_bert.experiment import load_experiment
from official_bert.inference.load import open_model
from official_bert.runs.run import Run
from official_bert.text import Vocab
from tests.export.hostile import NAMED, random_strings
from tests.finetuning_data import settings
from tests.public_data import public_data

# Taken before the fixture that saves time replaces it: a stranger's process is his own.
FRESH_COMMAND = fresh_process.command
ENCODER = (
    "model.encoder.hidden_size=32",
    "model.encoder.num_hidden_layers=2",
    "model.encoder.num_attention_heads=2",
    "model.encoder.intermediate_size=64",
    "model.encoder.max_position_embeddings=64",
    # Wide, so that answers are far from uniform.
    "model.encoder.initializer_range=0.2",
    "optimizer.learning_rate=0.002",
    "train.batch_size=8",
    "train.steps=4",
)
TROUBLE = (
    "👩‍👩‍👧‍👦 Ånne e\u0301mile went to 北京 in May. 🇫🇷 Paris is bigger than Saint\u00a0Étienne, "
    "said x\u200by to \u202eJane\u202c. "
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A task: where its rows are, and how they are asked.

    Attributes:
        task: in the config.
        data_set: as `--task` names it.
        files: split -> public file.
        flags: of the data set.
        rows: how many real rows are asked.
        overrides: of the config.
    """

    task: str
    data_set: str
    files: dict[str, str]
    flags: dict[str, Any]
    rows: int
    overrides: tuple[str, ...] = ()


CASES = {
    "sentence_prediction": Case(
        "sentence_prediction",
        "rte",
        {"train": "glue/RTE/dev.tsv", "test": "glue/RTE/test.tsv"},
        {},
        200,
    ),
    "question_answering": Case(
        "question_answering",
        "squad_v2",
        {"train": "squad/xquad/xquad.en.json"},
        {"doc_stride": 16, "max_query_length": 16, "version_2_with_negative": True},
        200,
    ),
    "tagging": Case(
        "tagging",
        "conll",
        {"train": "ner/wikigold/wikigold.conll.txt"},
        {"document_context": False, "tag_scheme": "iob1"},
        200,
        # What training teaches first is that most words are no entities; a head that is all but
        # random finds them everywhere.
        ("optimizer.learning_rate=1e-6",),
    ),
    "multiple_choice": Case(
        "multiple_choice",
        "swag",
        {"train": "multiple_choice/codah_swag_layout/val.csv"},
        {},
        100,
    ),
}


def _texts(name: str, example: dict[str, Any]) -> dict[str, Any]:
    """The strings that a client would send for a raw row."""
    if name == "sentence_prediction":
        return {key: example[key] for key in ("text_a", "text_b")}
    if name == "question_answering":
        return {key: example[key] for key in ("question", "context")}
    if name == "tagging":
        return {"text": " ".join(example["words"])}
    return {key: example[key] for key in ("prompt", "choices")}


def _ask_in_fresh_process(
    export: pathlib.Path, requests: list[dict[str, tf.Tensor]]
) -> list[dict[str, tf.Tensor]]:
    folder = export.parent
    asked = [
        {
            "signature": "serving_default",
            "inputs": {name: fresh_process.to_json(tensor) for name, tensor in request.items()},
        }
        for request in requests
    ]
    (folder / "requests").write_text(json.dumps(asked))
    command = FRESH_COMMAND(export, folder / "requests", folder / "answers")
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert process.returncode == 0, process.stderr[-3000:]
    answers = json.loads((folder / "answers").read_text())
    return [{n: fresh_process.from_json(v) for n, v in answer.items()} for answer in answers]


@dataclasses.dataclass
class Exported:
    """An export whose model is gone, and what the model had said."""

    folder: pathlib.Path
    module: Any
    requests: list[dict[str, tf.Tensor]]
    expected: list[dict[str, tf.Tensor]]


@pytest.fixture(scope="module", params=list(CASES))
def exported(request, tmp_path_factory):
    name = request.param
    case = CASES[name]
    folder = tmp_path_factory.mktemp(name)
    given = settings(
        case.data_set,
        files={split: public_data(path) for split, path in case.files.items()},
        vocab=Vocab.from_file(public_data("vocab/bert-base-uncased/vocab.txt")),
        max_seq_length=64,
        **case.flags,
    )
    data_set = make_data_set(given)
    examples = list(itertools.islice(data_set.examples(data_set.splits[-1]), case.rows))
    write_folder(data_set, given, folder / "data", num_shards=1, overwrite=False)
    experiment = load_experiment(
        [],
        [*ENCODER, f"task={case.task}", f"data.path={folder / 'data'}", *case.overrides],
    )
    Run(experiment, str(folder / "model")).train(evaluate=False, skip_nonfinite=False)

    opened = open_model(folder / "model")
    (module,) = opened.modules.values()
    rows = [_texts(name, example) for example in examples]
    requests = [
        {key: tf.constant([row[key] for row in rows[start : start + 25]]) for key in rows[0]}
        for start in range(0, len(rows), 25)
    ]
    expected = [module.answer(texts) for texts in requests]
    written = saving.export_savedmodel(folder / "model", folder / "first")
    assert written.is_dir()
    shutil.rmtree(folder / "model")
    shutil.rmtree(folder / "data")
    shutil.move(folder / "first", folder / "moved")
    return Exported(folder / "moved" / "1", module, requests, expected)


def test_a_stranger_gets_the_answers_of_prediction(exported):
    module = exported.module
    answers = _ask_in_fresh_process(exported.folder, exported.requests)
    for texts, wanted, given in zip(exported.requests, exported.expected, answers, strict=True):
        verify.compare(verify.Case(module.name, texts, wanted, module.ranked), given, 1e-5)
    labels = exported.folder / "assets" / "labels.txt"
    assert labels.exists() == (module.name in ("sentence_prediction", "tagging"))


@pytest.mark.parametrize("exported", ["question_answering", "tagging"], indirect=True)
def test_offsets_are_characters_of_the_text(exported):
    """`context[start:end] == answer`, whatever stands before it."""
    name = exported.module.name
    signature = tf.saved_model.load(str(exported.folder)).signatures["serving_default"]
    key = "context" if name == "question_answering" else "text"
    found = 0
    for request in exported.requests:
        texts = [TROUBLE + text.decode() + TROUBLE for text in request[key].numpy()]
        answer = signature(**{**request, key: tf.constant(texts)})
        answer = {name: tensor.numpy() for name, tensor in answer.items()}
        for row, text in enumerate(texts):
            if name == "question_answering":
                spans = zip(
                    answer["nbest_answer"][row],
                    answer["nbest_start"][row],
                    answer["nbest_end"][row],
                    strict=True,
                )
            else:
                spans = zip(
                    answer["entity_text"][row],
                    answer["entity_start"][row],
                    answer["entity_end"][row],
                    strict=True,
                )
            for span, start, end in spans:
                if start >= 0:
                    assert text[start:end] == span.decode()
                    found += 1
    assert found >= 500


def test_merged_requests_answer_as_each_alone(exported):
    signature = tf.saved_model.load(str(exported.folder)).signatures["serving_default"]
    first, second = (
        {key: value[:3] for key, value in request.items()} for request in exported.requests[:2]
    )
    merged = signature(**{key: tf.concat([first[key], second[key]], axis=0) for key in first})
    for part, rows in ((first, slice(0, 3)), (second, slice(3, 6))):
        for output, alone in signature(**part).items():
            together = merged[output][rows]
            if alone.shape.rank == 2:
                together = together[:, : alone.shape[1]]
            if alone.dtype.is_floating:
                np.testing.assert_allclose(together, alone, atol=1e-5)
            else:
                assert (together.numpy() == alone.numpy()).all()


def _run_hostile(exported, strings):
    """Every answer is there and finite."""
    signature = tf.saved_model.load(str(exported.folder)).signatures["serving_default"]
    for start in range(0, len(strings), 50):
        batch = strings[start : start + 50]
        texts = {}
        for number, (name, spec) in enumerate(exported.module.text_inputs.items()):
            column = batch[::-1] if number else batch
            several = [[text, b"x"] for text in column]
            texts[name] = tf.constant(column if spec.shape.rank == 1 else several)
        for value in signature(**texts).values():
            assert value.shape[0] == len(batch)
            if value.dtype.is_floating:
                assert np.isfinite(value.numpy()).all()


def test_hostile_text_gets_finite_answers(exported):
    _run_hostile(exported, [*NAMED, *random_strings(300, seed=3)])


@pytest.mark.slow
def test_ten_thousand_hostile_texts_leave_memory_flat(exported):
    _run_hostile(exported, [*NAMED, *random_strings(3000, seed=1)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _run_hostile(exported, random_strings(7000, seed=2))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < 60 * 1024


def test_labels_that_do_not_fit_are_refused(tmp_path):
    """A broken model folder leaves nothing under the final name."""
    from tests.small_models import tiny_bundle, write_model_folder

    bundle = tiny_bundle()
    folder = write_model_folder(tmp_path / "model", bundle)
    (folder / "vocab.txt").write_text("\n".join(bundle.vocab.tokens[:-1]) + "\n")
    with pytest.raises(InputError, match="17 word embeddings and a vocabulary of 16 tokens"):
        saving.export_savedmodel(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
