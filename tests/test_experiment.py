import dataclasses
import pathlib
import typing

import pytest

from official_bert.ablation.grid import load_grid
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.experiment import (
    EncoderConfig,
    EvaluationConfig,
    ExperimentConfig,
    ModelConfig,
    OptimizerConfig,
    RuntimeConfig,
    TrainConfig,
    config_files,
    load_experiment,
)

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


def test_a_flag_names_several_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config_files(["a.yaml,b.yaml", "c.yaml"]) == ["a.yaml", "b.yaml", "c.yaml"]
    _file(tmp_path, "train: {seed: 1}\n", "a,b.yaml")
    assert config_files(["a,b.yaml"]) == ["a,b.yaml"]
    _file(tmp_path, "train: {seed: 2}\n", "c.yaml")
    with pytest.raises(InputError, match="config file d.yaml does not exist"):
        load_experiment(config_files(["a,b.yaml", "c.yaml,d.yaml"]))
    assert load_experiment(config_files(["a,b.yaml", "c.yaml"])).train.seed == 2


def test_saved_and_read_again_it_is_the_same(tmp_path):
    experiment = load_experiment([], ["train.steps=5,model.encoder.hidden_size=60"])
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
        ("train.batch_size=many", "train.batch_size is 'many': it must be a whole number"),
        ("train.batch_size=0", "train.batch_size is 0: it must be at least 1"),
        ("train.steps=1.5", "train.steps is 1.5: it must be a whole number"),
        ("optimizer.bias_correction=1", "optimizer.bias_correction is 1: it must be true or false"),
        ("optimizer.beta_1=1.0", "optimizer.beta_1 is 1.0: it must be at least 0 and below 1"),
        ("runtime.strategy=tpus", "runtime.strategy is 'tpus': it must be one_device, mirrored"),
        ("model.pretrained_step=0,model.pretrained=a", "pretrained_step is 0: it must be at least"),
        ("batch_size", "cannot read the override 'batch_size': write section.key=value"),
    ],
)
def test_mistakes_are_named(override, message):
    with pytest.raises(InputError, match=message):
        load_experiment([], [override])


FROM_PYTHON = {
    "made": (lambda: TrainConfig(batch_size=0), "TrainConfig.batch_size is 0: it must be at least"),
    "made inside": (
        lambda: ExperimentConfig(train=TrainConfig(batch_size=0)),
        "TrainConfig.batch_size is 0: it must be at least 1 and at most 1,000,000",
    ),
    "made of a dictionary": (
        lambda: ExperimentConfig({"train": {"batch_size": 0}}),
        "^train.batch_size is 0: it must be at least 1",
    ),
    "a dictionary as a section": (
        lambda: ExperimentConfig(train={"seed": -1}),
        "^train.seed is -1: it must be at least 0 and at most 4,294,967,295",
    ),
    "another section": (
        lambda: ExperimentConfig(train=ModelConfig()),
        "train is a section of keys, not ModelConfig",
    ),
    "no section": (lambda: ModelConfig(encoder=None), "ModelConfig.encoder is a section of keys"),
    "overridden": (
        lambda: ExperimentConfig().override({"optimizer": {"kind": "sgd"}}),
        "^optimizer.kind is 'sgd': it must be adamw or lamb",
    ),
    "overridden inside": (
        lambda: OptimizerConfig().override({"beta_2": 1.0}),
        "OptimizerConfig.beta_2 is 1.0: it must be at least 0 and below 1",
    ),
    "replaced": (
        lambda: EvaluationConfig().replace(batch_size=True),
        "EvaluationConfig.batch_size is True: it must be a whole number",
    ),
    "set": (
        lambda: setattr(RuntimeConfig(), "precision", "float16"),
        "RuntimeConfig.precision is 'float16': it must be float32, mixed_bfloat16 or mixed_float16",
    ),
    "set to a dictionary": (
        lambda: setattr(ExperimentConfig().model, "encoder", {"hidden_act": "swish"}),
        "ModelConfig.encoder.hidden_act is 'swish': it must be gelu, gelu_tanh, relu or tanh",
    ),
    "an unknown key": (
        lambda: ExperimentConfig().override({"train": {"batchsize": 8}}),
        r"unknown key train.batchsize; did you mean train.batch_size\?",
    ),
    "a new key": (
        lambda: TrainConfig().override({"batchsize": 8}, is_strict=False),
        r"unknown key TrainConfig.batchsize; did you mean TrainConfig.batch_size\?",
    ),
    "an entry of a list": (
        lambda: TrainConfig(class_weights=[1.0, "2"]),
        r"TrainConfig.class_weights\[1\] is '2': it must be a number",
    ),
    "a list": (
        lambda: TrainConfig(class_weights=2.0),
        r"TrainConfig.class_weights is 2.0: it must be a list, as \[1, 2\]",
    ),
    "two fields": (
        lambda: ExperimentConfig(evaluation=EvaluationConfig(patience=3)),
        "evaluation.patience needs evaluation.every_steps or every_epochs",
    ),
    "the shape of an encoder": (
        lambda: ExperimentConfig(model=ModelConfig(encoder=EncoderConfig(hidden_size=100))),
        "model.encoder: hidden_size is 100: it must be a multiple of num_attention_heads",
    ),
}


@pytest.mark.parametrize("case", FROM_PYTHON)
def test_mistakes_in_python_are_named(case):
    make, message = FROM_PYTHON[case]
    with pytest.raises(InputError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_a_refused_override_changes_nothing():
    experiment = ExperimentConfig()
    with pytest.raises(InputError, match="train.steps is 0"):
        experiment.override({"train": {"seed": 5, "steps": 0}})
    assert experiment == ExperimentConfig()


def test_configs_are_used_as_in_the_model_garden():
    experiment = ExperimentConfig(train=TrainConfig(batch_size=8), model={"pretrained": "a"})
    assert (experiment.train.batch_size, experiment.train.seed) == (8, 0)
    assert (experiment.model.pretrained, experiment.model.encoder.hidden_size) == ("a", 768)
    experiment.override({"train": {"epochs": 2, "class_weights": (1, 2)}})
    assert (experiment.train.batch_size, experiment.train.epochs) == (8, 2.0)
    assert experiment.train.class_weights == [1.0, 2.0]
    experiment.train = {"seed": 7}
    assert (experiment.train.batch_size, experiment.train.seed) == (8, 7)
    other = experiment.replace(train={"seed": 9}, task="my_package.my_module:MyTask")
    assert (experiment.train.seed, other.train.seed, other.train.batch_size) == (7, 9, 8)
    assert other.task == "my_package.my_module:MyTask"
    other.train.class_weights.append(3.0)
    assert TrainConfig().class_weights == []
    experiment.lock()
    with pytest.raises(ValueError, match="locked"):
        experiment.task = "tagging"


def test_the_encoders_section_has_the_fields_of_its_config():
    types, expected = typing.get_type_hints(EncoderConfig), typing.get_type_hints(BertConfig)
    names = [field.name for field in dataclasses.fields(EncoderConfig)]
    assert names == [field.name for field in dataclasses.fields(BertConfig)]
    assert {n: types[n] for n in names} == {**expected, "vocab_size": int | None}
    assert EncoderConfig(vocab_size=30522).as_dict() == dataclasses.asdict(BertConfig())
    assert EncoderConfig().vocab_size is None


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
