"""A trained model beside its LiteRT export, on the labelled examples of prepared data.

  python -m tests.benchmarks.litert_agreement MODEL DATA [--split=dev] [--precision=int8]

MODEL is a model folder of sentence_prediction or question_answering. Prints a line of JSON: the
share of equal answers, the scores of both, seconds, and the size of the file in MB.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--precision", default="int8")
    arguments = parser.parse_args()

    from export.litert_saving import export_litert
    from official_bert.data.manifest import Manifest
    from official_bert.inference.litert import MODEL_NAME, LiteAnswerer
    from official_bert.inference.load import open_model
    from official_bert.tasks.examples import examples_of

    examples = list(examples_of(pathlib.Path(arguments.data), arguments.split)())
    manifest = Manifest.load(arguments.data)
    length = manifest.max_seq_length
    with tempfile.TemporaryDirectory() as folder:
        lite = export_litert(
            arguments.model,
            pathlib.Path(folder) / "lite",
            precision=arguments.precision,
            max_seq_length=length,
        )
        (module,) = open_model(arguments.model, max_seq_length=length).modules.values()
        answerer = LiteAnswerer(lite)
        seconds, answers = {}, {}
        for name, answer in (("model", module.answer), ("litert", lambda t: answerer(**t))):
            start = time.time()
            answers[name] = _answers(answer, examples)
            seconds[name] = round(time.time() - start, 1)
        size = (lite / MODEL_NAME).stat().st_size
    same = sum(a == b for a, b in zip(answers["model"], answers["litert"], strict=True))
    result = {
        "examples": len(examples),
        "same_answers": round(same / len(examples), 4),
        "scores": {name: _scores(given, examples) for name, given in answers.items()},
        "seconds": seconds,
        "megabytes": round(size / 1e6, 1),
    }
    print(json.dumps(result))


def _answers(
    answer: Callable[[dict[str, Any]], Mapping[str, Any]], examples: Sequence[Mapping[str, Any]]
) -> list[str]:
    import tensorflow as tf

    is_question = "question" in examples[0]
    columns = {"question": "question", "context": "context"} if is_question else {"text": "text_a"}
    said = []
    for start in range(0, len(examples), BATCH):
        rows = examples[start : start + BATCH]
        texts = {key: tf.constant([row[name] for row in rows]) for key, name in columns.items()}
        said += answer(texts)["answer" if is_question else "label"].numpy().tolist()
    return [text.decode() for text in said]


def _scores(answers: Sequence[str], examples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    if "question" not in examples[0]:
        right = sum(said == row["label"] for said, row in zip(answers, examples, strict=True))
        return {"accuracy": round(right / len(examples), 4)}
    from official_bert.evaluation.squad import evaluate_v2

    golds = {row["id"]: [gold["text"] for gold in row["answers"]] for row in examples}
    said = {row["id"]: text for row, text in zip(examples, answers, strict=True)}
    names = ("exact", "f1", "HasAns_f1", "NoAns_f1")
    scores = evaluate_v2(golds, said)
    return {name: round(scores[name], 2) for name in names if name in scores}


if __name__ == "__main__":
    main()
