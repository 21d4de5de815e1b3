"""What happens between the steps, on a model of one number."""

import json
import math
import operator
import os
import signal
import traceback

import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.framework import ops

from official_bert.training.checkpointing import BestModel, Checkpoints
from official_bert.training.evaluator import EvaluationStopped, Evaluator
from official_bert.training.loop import NonFiniteLossError, TrainingLoop
from official_bert.training.optimization import AdamW, CountedSchedule, warm_up_and_decay
from official_bert.training.profile import StepProfile
from official_bert.training.recoveries import Recoveries
from official_bert.training.run_log import RunLog, read_metrics
from official_bert.training.step import TrainingModel
from official_bert.training.stop_signal import Interrupted
from official_bert.training.workers import Workers
from tests.training.test_step import Doubler, SquaredError

STEPS = 40


def _model(steps_per_execution=1):
    model = TrainingModel(Doubler(), SquaredError(), seed=0, accumulate_steps=1, max_grad_norm=0.0)
    rate = CountedSchedule(warm_up_and_decay(0.1, 0, STEPS), model.global_step)
    model.compile(
        optimizer=AdamW(learning_rate=rate, weight_decay=0.0, jit_compile=False),
        steps_per_execution=steps_per_execution,
    )
    model.optimizer.build(model.trainable_variables)
    return model


def _batches(start=0, bad=()):
    """Step t has the label t; the label of a bad one is NaN."""

    def batch(step):
        label = tf.where(tf.reduce_any(step == tf.constant([-1, *bad], tf.int64)), math.nan, 0.0)
        return {
            "input_word_ids": tf.ones([2]),
            "label": tf.cast(step, tf.float32) + label + tf.zeros([2]),
            "weight": tf.ones([2]),
            "input_mask": tf.ones([2, 4], tf.int32),
        }

    return tf.data.Dataset.range(start, 10**9).map(batch)


def _train(folder, model, *, stop=STEPS, bad=(), evaluate=None, batches=_batches, **changes):
    """Goes on from the folder's checkpoint to step `stop`; returns the step it started at."""
    checkpoints = Checkpoints(
        folder, model, keep=2, every_steps=changes.pop("save_every", 1000), every_seconds=0
    )
    start = checkpoints.restore()
    settings = {
        "workers": Workers(tf.distribute.get_strategy()),
        "best": BestModel(folder, model.model, metric="f1", is_better=operator.gt),
        "log_every_steps": 10,
        "evaluate_every_steps": 0,
        "patience": 0,
        "skip_nonfinite": False,
    } | changes
    log = RunLog(folder, start_step=start, total_steps=STEPS)
    factor = settings.pop("spike_factor", 0.0)
    recoveries = Recoveries(folder, most=2, factor=factor, losses=log.losses)
    loop = TrainingLoop(
        model, checkpoints, log, evaluate=evaluate, recoveries=recoveries, **settings
    )
    loop.run(
        lambda step: batches(step + recoveries.offset(step), bad), start_step=start, stop_step=stop
    )
    return start


def _train_lines(folder):
    return [line for line in read_metrics(folder) if line["split"] == "train"]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    model = _model()
    _train(folder, model)
    return model, _train_lines(folder)


def test_the_host_waits_for_the_device_only_at_reports(tmp_path, monkeypatch, unbroken):
    """Values that are read from the device: each makes the host wait for all steps so far."""
    model, _ = unbroken
    reads = []
    numpy = ops._EagerTensorBase._numpy

    def noted(tensor):
        # Keras' step count stands in the host's memory, TensorBoard's flag is a constant.
        stack = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)]
        if not any(name.endswith(("data_adapter.py", "summary_ops_v2.py")) for name in stack[:12]):
            reads.append(tensor)
        return numpy(tensor)

    monkeypatch.setattr(ops._EagerTensorBase, "_numpy", noted)

    def count(steps, name):
        (tmp_path / name).mkdir()
        model.global_step.assign(0)
        reads.clear()
        _train(tmp_path / name, model, stop=steps)
        return len(reads)

    # Of 100 steps more, ten have a report.
    assert count(110, "long") - count(10, "short") == 10
    assert "CPU" in model._steps_per_execution.device


def test_with_several_steps_in_one_call_the_means_are_those_of_all(tmp_path, unbroken):
    _, expected = unbroken
    model = _model(steps_per_execution=5)
    _train(tmp_path, model)
    lines = _train_lines(tmp_path)
    assert [line["step"] for line in lines] == [10, 20, 30, 40]
    for line, other in zip(lines, expected, strict=True):
        for name in ("loss", "gradient_norm", "learning_rate"):
            assert line[name] == pytest.approx(other[name], rel=1e-5), name


def test_steps_that_are_left_out_are_counted_and_spoil_no_mean(tmp_path, caplog):
    model = _model()
    _train(tmp_path, model, stop=20, bad=(3, 5, *range(10, 20)), skip_nonfinite=True)
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        assert "NaN" not in line and "null" not in line
        json.loads(line)
    first, second = _train_lines(tmp_path)
    assert first["skipped_steps"] == 2
    assert math.isfinite(first["loss"])
    # Not one of ten was finite; the rate is that of step 9, the last with an update.
    assert set(second) == {"step", "split", "learning_rate", "skipped_steps"}
    assert second["skipped_steps"] == 12
    assert model.optimizer.iterations.numpy() == 8

    # Gone on with without skipping: what was left out before is no reason to stop.
    other = _model()
    assert _train(tmp_path, other, stop=30) == 20
    line = _train_lines(tmp_path)[-1]
    assert line["skipped_steps"] == 12
    # The schedule counts steps: this is the rate of step 29, not that of the 18th update.
    assert line["learning_rate"] == pytest.approx(0.1 * (STEPS - 29) / STEPS)
    with pytest.raises(NonFiniteLossError, match="step 33: ") as caught:
        _train(tmp_path, _model(), bad=(33,))
    assert caught.value.step == 33
    assert math.isnan(caught.value.logs[3]["loss"])


def _f1_of_steps(model, calls, *, signal_at=-1):
    def evaluate(stop):
        calls.append(int(model.global_step.numpy()))
        for batch in range(3):
            if stop():
                raise EvaluationStopped
            if batch == 1 and calls[-1] == signal_at:
                os.kill(os.getpid(), signal.SIGTERM)
        return {"f1": float(calls[-1])}

    return evaluate


def test_a_signal_breaks_an_evaluation_off_and_the_next_start_makes_up_for_it(tmp_path):
    model, calls = _model(), []
    settings = {"evaluate_every_steps": 10}
    with pytest.raises(Interrupted) as caught:
        _train(tmp_path, model, evaluate=_f1_of_steps(model, calls, signal_at=20), **settings)
    assert caught.value.signal_number == signal.SIGTERM
    assert calls == [10, 20]
    calls.clear()
    assert _train(tmp_path, model, evaluate=_f1_of_steps(model, calls), **settings) == 20
    assert calls == [20, 30, 40]
    lines = [line["step"] for line in read_metrics(tmp_path) if line["split"] == "eval"]
    assert lines == [10, 20, 30, 40]


def test_a_signal_in_the_last_evaluation(tmp_path):
    model, calls = _model(), []
    with pytest.raises(Interrupted):
        _train(tmp_path, model, evaluate=_f1_of_steps(model, calls, signal_at=40))
    assert _train(tmp_path, model, evaluate=_f1_of_steps(model, calls)) == 40
    assert calls == [40, 40]
    assert json.loads((tmp_path / "best" / "score.json").read_text())["step"] == 40


def test_training_ends_when_evaluations_get_no_better(tmp_path, caplog):
    model, calls = _model(), []

    def evaluate(stop):
        calls.append(int(model.global_step.numpy()))
        return {"f1": -float(calls[-1])}

    settings = {"evaluate_every_steps": 5, "patience": 2}
    _train(tmp_path, model, evaluate=evaluate, **settings)
    assert calls == [5, 10, 15]
    # Keras' warning of hooks that are slower than a step, which an evaluation always is.
    assert "slow compared to the batch time" not in caplog.text
    # Started again, it is still over.
    assert _train(tmp_path, model, evaluate=evaluate, **settings) == 15
    assert calls == [5, 10, 15]


def test_an_evaluator_asks_before_each_batch():
    class WithoutRecords(SquaredError):  # noqa: N818
        def collect(self, outputs, batch):
            return {}

    evaluator = Evaluator(
        Doubler(), WithoutRecords(), _batches().take(3), tf.distribute.get_strategy()
    )
    answers = iter([False, False, True])
    with pytest.raises(EvaluationStopped):
        evaluator(lambda: next(answers))
    assert list(answers) == []
    # (0 - 1)^2, (1 - 1)^2 and (2 - 1)^2, each of two rows of weight 1.
    assert evaluator()[0] == {"loss_part": pytest.approx(2 / 3)}


def _with_spike(start, bad):
    """Batches 21 to 27 have labels of 100, the others of 2."""

    def batch(number):
        label = tf.where((number > 20) & (number < 28), 100.0, 2.0)
        ones = tf.ones([2])
        return {
            "input_word_ids": ones,
            "label": label * ones,
            "weight": ones,
            "input_mask": tf.ones([2, 4], tf.int32),
        }

    return tf.data.Dataset.range(start, 10**9).map(batch)


def test_a_risen_loss_leads_back_to_the_checkpoint_before_without_those_batches(tmp_path):
    settings = {"batches": _with_spike, "save_every": 10, "log_every_steps": 5, "spike_factor": 3.0}
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    unbroken.mkdir()
    broken.mkdir()
    model = _model()
    _train(unbroken, model, **settings)
    # Reported at step 25, twice: of batches 20 to 24 and then of 25 to 29.
    expected = {"recoveries": [{"step": 20, "batches": 5}, {"step": 20, "batches": 5}]}
    assert json.loads((unbroken / "recoveries.json").read_text()) == expected
    lines = _train_lines(unbroken)
    assert [line["step"] for line in lines] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert all(line["loss"] < 4.0 for line in lines)
    # Stopped after it, and before it: what is left out stands in the folder.
    for stop in (15, 30):
        _train(broken, _model(), stop=stop, **settings)
    other = _model()
    assert _train(broken, other, **settings) == 30
    assert float(other.model.w) == float(model.model.w)
    assert json.loads((broken / "recoveries.json").read_text()) == expected


def test_callbacks_of_ones_own_and_a_profile_of_chosen_steps(tmp_path, unbroken):
    class Counter(tf_keras.callbacks.Callback):
        batches = 0

        def on_train_batch_end(self, batch, logs=None):
            self.batches += 1

    counter, (model, _) = Counter(), unbroken
    model.global_step.assign(0)
    _train(tmp_path, model, callbacks=[counter, StepProfile(tmp_path / "tensorboard", 3, 4)])
    assert counter.batches == STEPS
    assert len(list((tmp_path / "tensorboard").rglob("*.xplane.pb"))) == 1
