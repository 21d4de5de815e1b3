import json

import pytest

from official_bert.training.run_log import RunLog, read_metrics

_MEANS = {
    "loss": 2.0,
    "masked_lm_accuracy": 0.5,
    "gradient_norm": 1.0,
    "learning_rate": 1e-3,
    "tokens": 75.0,
    "positions": 100.0,
}


def test_lines_padding_and_picture(tmp_path):
    log = RunLog(tmp_path, start_step=0, total_steps=20)
    log.training(10, _MEANS)
    log.evaluation(10, {"loss": 1.5, "masked_lm_accuracy": 0.6})
    train, evaluation = read_metrics(tmp_path)
    assert (train["step"], train["split"], train["loss"]) == (10, "train", 2.0)
    assert train["padding"] == pytest.approx(0.25)
    assert train["tokens_per_second"] > 0
    assert "tokens" not in train
    assert evaluation == {"step": 10, "split": "eval", "loss": 1.5, "masked_lm_accuracy": 0.6}
    assert (tmp_path / "training.png").read_bytes().startswith(b"\x89PNG")


def test_going_on_drops_what_was_reported_after_the_checkpoint(tmp_path):
    log = RunLog(tmp_path, start_step=0, total_steps=30)
    for step in (10, 20):
        log.training(step, _MEANS)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 21, "spl')  # Killed in the middle of a line.
    RunLog(tmp_path, start_step=15, total_steps=30).training(20, _MEANS | {"loss": 1.0})
    assert [(line["step"], line["loss"]) for line in read_metrics(tmp_path)] == [
        (10, 2.0),
        (20, 1.0),
    ]
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line)
