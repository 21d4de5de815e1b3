import pathlib

import pytest

from official_bert.ablation.grid import load_grid
from official_bert.errors import InputError
from official_bert.experiment import load_experiment

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _file(tmp_path, text, name="config.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_later_files_and_overrides_win(tmp_path):
    first = _file(tmp_path, "train: {batch_size: 8, seed: 1}\noptimizer: {learning_rate: 3e-5}\n")
    second = _file(tmp_path, "train: {batch_size: 16}\n", "second.yaml")
    experiment = load_experiment(
        [first, second], ["train.seed=7,optimizer.weight_decay=0", "model.pretrained=some/folder"]
    )
    assert experiment.train.batch_size == 16
    assert experiment.train.seed == 7
    assert experiment.optimizer.learning_rate == 3e-5
    assert experiment.optimizer.weight_decay == 0.0
    assert experiment.model.pretrained == "some/folder"
    assert experiment.train.epochs == 3.0


def test_saved_and_read_again_it_is_the_same(tmp_path):
    experiment = load_experiment([], ["train.steps=5,model.encoder.hidden_size=64"])
    experiment.save(tmp_path / "saved.yaml")
    assert load_experiment([tmp_path / "saved.yaml"]).as_dict() == experiment.as_dict()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.batchsize=8", "unknown key train.batchsize; did you mean train.batch_size?"),
        (
            "model.encoder.num_layers=2",
            "unknown key model.encoder.num_layers; did you mean model.encoder.num_hidden_layers?",
        ),
        ("colour=red", "unknown key colour; known: task, model, data"),
        ("train=3", "train is a section of keys, not 3"),
        ("train.batch_size=many", "train.batch_size is 'many': it must be of type int"),
        ("train.batch_size=0", "train.batch_size is 0: it must be at least 1"),
        ("train.steps=1.5", "train.steps is 1.5: it must be of type int"),
        ("optimizer.bias_correction=1", "optimizer.bias_correction is 1: it must be of type bool"),
        ("optimizer.beta_1=1.0", r"optimizer.beta_1 is 1.0: it must be in \[0, 1\)"),
        ("runtime.strategy=tpus", "runtime.strategy is 'tpus': it must be one_device, mirrored"),
        ("model.pretrained_step=0,model.pretrained=a", "pretrained_step is 0: it must be at least"),
        ("batch_size", "cannot read the override 'batch_size': write section.key=value"),
    ],
)
def test_mistakes_are_named(override, message):
    with pytest.raises(InputError, match=message):
        load_experiment([], [override])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: {batch_size: 8", "is not YAML"),
        ("- train\n", "must hold sections with keys"),
        ("trian: {seed: 1}\n", "config.yaml: unknown key trian; did you mean train?"),
    ],
)
def test_a_broken_file_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_experiment([_file(tmp_path, text)])


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match=r"config file nowhere.yaml does not exist"):
        load_experiment(["nowhere.yaml"])


@pytest.mark.parametrize(
    "path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda path: path.stem
)
def test_every_config_of_the_project_is_valid(path):
    load = load_grid if path.parent.name == "grids" else lambda path: load_experiment([path])
    load(path)
    assert path.read_text().startswith("# "), "a config opens with what it is and what was seen"
