"""Whole runs with different numbers of choices."""

import json

import numpy as np
import pytest

from data_prep.finetuning.datasets import make_data_set
from data_prep.finetuning.folder import write_folder
from official_bert.experiment import load_experiment
from official_bert.runs.run import Run
from tests.finetuning_data import settings, write_json_lines


def _rows(count, choices, seed):
    """The right choice says of the noun in the prompt what the prompt says."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        size = int(random.choice(choices))
        tone = ["good", "bad", "fine", "awful"]
        wanted = str(random.choice(tone))
        others = [word for word in tone if word != wanted]
        answer = int(random.integers(size))
        texts = [
            f"was {random.choice(others)}{' .' * int(random.integers(2))}" for _ in range(size)
        ]
        texts[answer] = f"was {wanted} ."
        rows.append({"prompt": f"the {wanted} film", "choices": texts, "answer": answer})
    return rows


@pytest.mark.parametrize("choices", [[4], [2, 3, 7]])
def test_a_run_learns(tmp_path, choices):
    rows = {"train": _rows(240, choices, 0), "dev": _rows(30, choices, 1)}
    files = {
        split: write_json_lines(tmp_path / f"{split}.jsonl", of_split)
        for split, of_split in rows.items()
    }
    given = settings("choices", files=files, max_seq_length=12)
    data = tmp_path / "data"
    write_folder(make_data_set(given), given, data, num_shards=1, overwrite=False)
    experiment = load_experiment(
        [],
        [
            "model.encoder.hidden_size=32,model.encoder.num_hidden_layers=2",
            "model.encoder.num_attention_heads=2,model.encoder.intermediate_size=32",
            "model.encoder.max_position_embeddings=16,model.encoder.initializer_range=0.2",
            f"task=multiple_choice,data.path={data},train.epochs=8",
            "optimizer.learning_rate=0.005,train.batch_size=8",
            "model.encoder.hidden_dropout_prob=0.0",
        ],
    )
    results = Run(experiment, str(tmp_path / "model")).train(evaluate=True, skip_nonfinite=False)
    assert results["accuracy"] > 0.9
    (path,) = Run(experiment, str(tmp_path / "model")).predict("dev", str(tmp_path / "predicted"))
    predicted = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["id"] for row in predicted] == list(range(30))
    assert [len(row["probabilities"]) for row in predicted] == [
        len(row["choices"]) for row in rows["dev"]
    ]
    hits = [p["choice"] == r["answer"] for p, r in zip(predicted, rows["dev"], strict=True)]
    assert np.mean(hits) == pytest.approx(results["accuracy"])
    assert all(sum(row["probabilities"]) == pytest.approx(1, abs=1e-5) for row in predicted)
