"""The reader behind a server: windows, ranking and the null threshold are in the graph."""

from __future__ import annotations

import json
import shutil

import pytest

from export import saving
from official_bert.inference.export_info import SAVED_MODEL_FILE, ExportInfo
from official_bert.inference.runner import Answerer
from tests.export.hostile import NAMED, random_strings
from tests.inference.spans import MAX_POSITIONS, span_bundle
from tests.small_models import write_model_folder

OPTIONS = {"doc_stride": 9, "max_query_length": 6, "version_2_with_negative": True}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """An export that was verified in a fresh process; its model is gone."""
    folder = tmp_path_factory.mktemp("reader")
    model_dir = write_model_folder(folder / "model", span_bundle())
    (model_dir / "config.yaml").write_text("task: question_answering\n")
    (model_dir / "prepared_data.json").write_text(json.dumps({"options": OPTIONS}))
    (model_dir / "eval_results.json").write_text('{"f1": 50.0, "null_threshold": -3.4}\n')
    written = saving.export_savedmodel(model_dir, folder / "export", model_name="reader")
    shutil.rmtree(model_dir)
    return written


@pytest.fixture(scope="module")
def answer(exported):
    info = ExportInfo.load(exported / SAVED_MODEL_FILE)
    return Answerer.from_export(exported, info, "question_answering")


def test_what_the_export_says_about_itself(exported):
    info = ExportInfo.load(exported / SAVED_MODEL_FILE)
    assert info.answers == ["question_answering"]
    assert info.options["max_seq_length"] == MAX_POSITIONS
    assert info.options["task_options"]["null_threshold"] == -3.4
    assert info.metrics["f1"] == 50.0
    # As people write them, not by the alphabet.
    assert list(info.signatures["serving_default"]["inputs"]) == ["question", "context"]
    assert sorted(info.signatures["serving_default"]["outputs"]) == [
        "answer", "answer_end", "answer_start", "nbest_answer", "nbest_end", "nbest_score",
        "nbest_start", "no_answer_probability", "score",
    ]  # fmt: skip
    assert sorted(info.signatures["encoded"]["outputs"]) == ["end_logits", "start_logits"]


def test_places_are_characters_of_the_context(answer):
    context = "É中 the rivers in paris, \U0001f600 where w1 w2. " * 9
    given = answer([(b"where ?", context.encode())])[0]
    for text, start, end in zip(
        given["nbest_answer"], given["nbest_start"], given["nbest_end"], strict=True
    ):
        assert context[start:end] == text


def test_text_of_any_kind_has_an_answer(answer):
    texts = [*NAMED, *random_strings(300, seed=5)]
    for first in range(0, len(texts), 64):
        contexts = texts[first : first + 64]
        for given in answer(list(zip(contexts[::-1], contexts, strict=True))):
            assert 0.0 <= given["score"] <= 1.0
            assert (given["answer_start"] < 0) == (given["answer"] == "")


def test_another_batch_does_not_change_an_answer(answer):
    row = (b"where ?", b"the rivers in paris, w1 w2 w3. " * 7)
    alone = answer([row])[0]
    beside = answer([row, (b"", b""), (b"where", b"w1 " * 500)])[0]
    assert alone["nbest_answer"] == beside["nbest_answer"]
    assert alone["score"] == pytest.approx(beside["score"], abs=1e-5)
