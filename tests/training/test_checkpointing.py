import functools
import json
import math
import operator
import shutil

import pytest
import tensorflow as tf
import tf_keras

from official_bert.errors import InputError
from official_bert.evaluation import metric_direction
from official_bert.training.checkpointing import BestModel, Checkpoints, restore_weights
from official_bert.training.optimization import AdamW
from official_bert.training.step import TrainingModel
from tests.training.test_step import Doubler, SquaredError


def _training_model(*, scales_loss=False):
    model = TrainingModel(Doubler(), SquaredError(), seed=0, accumulate_steps=1, max_grad_norm=0.0)
    optimizer = AdamW(learning_rate=0.1, jit_compile=False)
    if scales_loss:
        optimizer = tf_keras.mixed_precision.LossScaleOptimizer(optimizer)
    model.compile(optimizer=optimizer)
    model.optimizer.build(model.trainable_variables)
    return model


def _checkpoints(folder, model, **changes):
    settings = {"keep": 2, "every_steps": 10, "every_seconds": 0} | changes
    return Checkpoints(folder, model, **settings)


def _save_at(checkpoints, model, step):
    model.model.w.assign(float(step))
    model.global_step.assign(step)
    checkpoints.save(step)


def test_restores_the_newest_and_keeps_some(tmp_path):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model)
    for step in (10, 20, 30):
        _save_at(checkpoints, model, step)
    assert sorted(p.stem for p in (tmp_path / "checkpoints").glob("*.index")) == [
        "ckpt-20",
        "ckpt-30",
    ]
    other = _training_model()
    assert _checkpoints(tmp_path, other).restore() == 30
    assert float(other.model.w) == 30.0


def test_a_corrupt_checkpoint_gives_way_to_the_one_before(tmp_path):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model)
    for step in (10, 20):
        _save_at(checkpoints, model, step)
    data = tmp_path / "checkpoints" / "ckpt-20.data-00000-of-00001"
    data.write_bytes(b"\xff" * data.stat().st_size)
    other = _training_model()
    assert _checkpoints(tmp_path, other).restore() == 10
    assert float(other.model.w) == 10.0
    (tmp_path / "checkpoints" / "ckpt-10.index").write_bytes(b"")
    with pytest.raises(InputError, match="none of the checkpoints in .* can be read"):
        _checkpoints(tmp_path, _training_model()).restore()


@pytest.mark.parametrize("content", [None, b"", b"\xff\x00", b"model_checkpoint_path: 7\n"])
def test_without_tensorflows_list_the_checkpoints_are_found_and_listed_again(tmp_path, content):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model)
    for step in (10, 20):
        _save_at(checkpoints, model, step)
    state = tmp_path / "checkpoints" / "checkpoint"
    state.unlink()
    if content is not None:
        state.write_bytes(content)
    other = _training_model()
    checkpoints = _checkpoints(tmp_path, other)
    assert checkpoints.restore() == 20
    assert tf.train.latest_checkpoint(str(state.parent)) == str(state.parent / "ckpt-20")
    _save_at(checkpoints, other, 30)
    # Two are kept: the oldest was known, and is gone.
    assert sorted(path.stem for path in state.parent.glob("*.index")) == ["ckpt-20", "ckpt-30"]


def test_what_a_kill_left_half_written_goes(tmp_path):
    model = _training_model()
    _save_at(_checkpoints(tmp_path, model), model, 10)
    folder = tmp_path / "checkpoints"
    whole = sorted(path.name for path in folder.iterdir())
    (folder / "ckpt-20_temp").mkdir()
    (folder / "ckpt-20_temp" / "part-00000-of-00001.data-00000-of-00001").write_bytes(b"half")
    state = "checkpoint.tmp1b810c4c758547f08153a9754bdf49c5"
    for name in ("ckpt-30.data-00000-of-00001", "ckpt-30.index.tempstate17", "ckpt-10_temp", state):
        (folder / name).write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    assert _checkpoints(tmp_path, _training_model()).restore() == 10
    assert sorted(path.name for path in folder.iterdir()) == sorted([*whole, "notes.txt"])


@pytest.mark.parametrize("scaled", [False, True])
def test_goes_on_in_another_precision(tmp_path, scaled):
    model = _training_model(scales_loss=scaled)
    model.optimizer.iterations.assign(7)
    _save_at(_checkpoints(tmp_path, model), model, 10)
    other = _training_model(scales_loss=not scaled)
    assert _checkpoints(tmp_path, other).restore() == 10
    assert float(other.model.w) == 10.0
    assert int(other.optimizer.iterations) == 7


def test_writes_in_the_background(tmp_path):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model, in_background=True)
    for step in (10, 20, 30):
        _save_at(checkpoints, model, step)
        model.model.w.assign(-1.0)  # Training goes on.
    checkpoints.wait()
    other = _training_model()
    assert _checkpoints(tmp_path, other).restore() == 30
    assert float(other.model.w) == 30.0
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").write_text("no folder")
    with pytest.raises(InputError, match="cannot write a checkpoint to .*the last good one is"):
        _save_at(checkpoints, model, 40)
        checkpoints.wait()


def test_saves_when_a_multiple_of_the_steps_is_passed(tmp_path):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model)
    saved = []
    for step in (4, 8, 12, 16, 20, 24):
        if checkpoints.is_due(step):
            checkpoints.save(step)
        saved.append(checkpoints.latest and checkpoints.latest.rsplit("-", 1)[1])
    assert saved == [None, None, "12", "12", "20", "20"]


def test_keeps_the_best_weights_with_their_score(tmp_path):
    model = Doubler()
    best = BestModel(tmp_path, model, metric="f1", is_better=operator.gt)
    for step, value in ((1, 0.5), (2, 0.7), (3, 0.6)):
        model.w.assign(float(step))
        assert best.update(step, {"f1": value}) == (step < 3)
    score = json.loads((tmp_path / "best" / "score.json").read_text())
    assert score == {"metric": "f1", "value": 0.7, "step": 2, "metrics": {"f1": 0.7}}
    other = Doubler()
    BestModel(tmp_path, other, metric="f1", is_better=operator.gt).restore()
    assert float(other.w) == 2.0


def test_the_best_model_is_put_back_after_a_kill_between_two_renames(tmp_path):
    best = BestModel(tmp_path, Doubler(), metric="f1", is_better=operator.gt)
    best.update(1, {"f1": 0.9})
    (tmp_path / "best").rename(tmp_path / ".best.0123456789abcdef.bert-old")
    best = BestModel(tmp_path, Doubler(), metric="f1", is_better=operator.gt)
    assert not best.update(2, {"f1": 0.8})
    assert best.score()["step"] == 1


def test_lower_can_be_better(tmp_path):
    best = BestModel(tmp_path, Doubler(), metric="loss", is_better=operator.lt)
    assert [best.update(i, {"loss": v}) for i, v in enumerate([2.0, 3.0, 1.0])] == [
        True,
        False,
        True,
    ]


def test_nan_is_stored_only_until_a_number_comes(tmp_path):
    is_better = functools.partial(metric_direction.is_better, "loss")
    best = BestModel(tmp_path, Doubler(), metric="loss", is_better=is_better)
    losses = [math.nan, math.nan, 3.0, math.nan, 2.0]
    kept = [best.update(step, {"loss": loss}) for step, loss in enumerate(losses)]
    assert kept == [True, False, True, False, True]


def test_another_deciding_metric_is_compared_with_the_best_models_own(tmp_path):
    BestModel(tmp_path, Doubler(), metric="f1", is_better=operator.gt).update(
        1, {"f1": 0.9, "loss": 2.0}
    )
    best = BestModel(tmp_path, Doubler(), metric="loss", is_better=operator.lt)
    assert not best.update(2, {"f1": 0.8, "loss": 2.5})
    assert best.update(3, {"f1": 0.8, "loss": 1.5})


def test_weights_alone_are_restored_for_evaluation(tmp_path):
    model = _training_model()
    checkpoints = _checkpoints(tmp_path, model)
    assert restore_weights(tmp_path, Doubler()) == 0
    for step in (10, 20):
        _save_at(checkpoints, model, step)
    other = Doubler()
    assert restore_weights(tmp_path, other) == 20
    assert float(other.w) == 20.0


def test_an_unknown_deciding_metric_is_an_error(tmp_path):
    with pytest.raises(InputError, match="evaluation.best_metric is 'f2'"):
        BestModel(tmp_path, Doubler(), metric="f2", is_better=operator.gt).update(1, {"f1": 0.5})


def test_a_model_of_another_shape_is_not_restored(tmp_path):
    BestModel(tmp_path, Doubler(), metric="f1", is_better=operator.gt).update(1, {"f1": 0.5})
    other = tf.Module()
    other.w = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="incompatible"):
        BestModel(tmp_path, other, metric="f1", is_better=operator.gt).restore()
