import dataclasses
import os
import pathlib
import time
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
from official_bert.overrides import read_override

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
        ("optimizer.end_learning_rate=0.1", "end_learning_rate is 0.1, above optimizer.learning_r"),
        ("runtime.strategy=tpus", "runtime.strategy is 'tpus': it must be auto, one_device"),
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
        "^optimizer.kind is 'sgd': it must be adamw or lamb, or package.module:Class$",
    ),
    "overridden inside": (
        lambda: OptimizerConfig().override({"beta_2": 1.0}),
        "OptimizerConfig.beta_2 is 1.0: it must be at least 0 and below 1",
    ),
    "replaced": (
        lambda: EvaluationConfig().replace(batch_size=True),
        "EvaluationConfig.batch_size is True: it must be a whole number",
    ),
    "replaced with fields that contradict each other": (
        lambda: ExperimentConfig().replace(train={"accumulate_steps": 3}),
        "train.accumulate_steps is 3: train.batch_size, which is 32, cannot be computed in so many",
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
    with pytest.raises(InputError, match="evaluation.patience needs"):
        experiment.override({"train": {"seed": 5}, "evaluation": {"patience": 3}})
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


# Text of a config -> what is said of it.
BROKEN_FILES = {
    "not closed": ("train: {batch_size: 8", "this is not YAML: line 1: .*expected ',' or '}'"),
    "a TAB": ("train:\n\tseed: 1\n", r"this is not YAML: line 2: .*character '\\t'"),
    "a list": ("- train\n", r"must hold sections with keys, got \['train'\]"),
    "a word": ("train\n", "must hold sections with keys, got 'train'"),
    "empty": ("", "config.yaml is empty: write sections with keys, or leave the file out"),
    "comments alone": ("# train:\n", "config.yaml is empty"),
    "two documents": ("task: tagging\n---\ntask: tagging\n", "line 2: .*another document"),
    "an unknown section": ("trian: {seed: 1}\n", "unknown key trian; did you mean train?"),
    "an unknown key": (
        "train: {batchsize: 8}\n",
        r"unknown key train.batchsize; did you mean train.batch_size\?",
    ),
    "a key that is nothing like one": (
        "{?: [1]}: 2\n",
        "this is not YAML: line 1",
    ),
    "a number as key": ("train: {1: 2}\n", "unknown key train.1; known: seed, batch_size"),
    "a long key": (f"{'k' * 1000}: 1\n", r"unknown key 'k{3,80}\.\.\.k{3,80}'"),
    "a section of nothing": ("train:\n", "train is a section of keys, not None"),
    "a section that is a list": ("train: [1]\n", r"train is a section of keys, not \[1\]"),
    "a section in a field": (
        "train: {seed: {a: 1}}\n",
        r"train.seed is {'a': 1}: it must be a whole",
    ),
    "a section that stands twice": (
        "train:\n  seed: 1\nmodel: {add_bilstm: true}\ntrain:\n  epochs: 2\n",
        "config.yaml: line 4: the key 'train' stands twice, first in line 1: put both together",
    ),
    "a key that stands twice": (
        "train:\n  seed: 1\n  steps: 2\n  seed: 3\n",
        "config.yaml: line 4: the key 'seed' stands twice, first in line 2",
    ),
    "a key that stands twice, once in quotes": (
        "train: {seed: 1, 'seed': 2}\n",
        "line 1: the key 'seed' stands twice",
    ),
    "code": (
        "task: !!python/object/apply:os.system ['touch code_was_run']\n",
        "line 1: the tag 'tag:yaml.org,2002:python/object/apply:os.system': write values plainly",
    ),
    "a tag of YAML": ("train: {seed: !!int '1'}\n", "line 1: the tag 'tag:yaml.org,2002:int'"),
    "nested deeply": ("[" * 20_000, "line 1: nested more than 20 deep"),
    "nested deeply in sections": ("{a: " * 20_000, "line 1: nested more than 20 deep"),
    "aliases that grow": (
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 19)),
        "line 5: more than 50,000 values or 20 levels, aliases written out",
    ),
    "merges that grow": (
        "a0: &a0 {x0: 1}\n"
        + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 40)}]}}\n" for i in range(1, 9)),
        "line 4: more than 50,000 values",
    ),
    "aliases that go deep": (
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 3000)),
        "line 20: more than 50,000 values or 20 levels",
    ),
    "an alias of itself": ("train: &t {seed: *t}\n", "an alias of something that it is a part of"),
    "an alias of nothing": ("train: *t\n", "this is not YAML: line 1: found undefined alias 't'"),
    "many values": (
        f"train: {{class_weights: [{'1,' * 60_000}]}}\n",
        "more than 50,000 values in all",
    ),
    "a long number": (f"train: {{seed: {'9' * 5000}}}\n", "line 1: a number of 5000 digits"),
    "a long float": (f"train: {{epochs: 1.{'0' * 5000}}}\n", "line 1: a number of 5002 digits"),
    "a long exponent": (
        "optimizer: {learning_rate: 1e99999}\n",
        "rate is inf: it must be a finite",
    ),
    "a number without digits": (
        "train: {seed: 0b_}\n",
        "config.yaml: '0b_' is a number without digits",
    ),
    "a number as text": (
        'train: {batch_size: "8"}\n',
        "train.batch_size is '8': it must be a whole",
    ),
    "text as a number": (
        "model: {pretrained: 2024}\n",
        r"pretrained is 2024: it must be text \(num",
    ),
    "a truth value as text": ("data: {eval_split: on}\n", "eval_split is True: it must be text"),
    "infinite epochs": (
        "train: {epochs: .inf}\n",
        "train.epochs is inf: it must be a finite number",
    ),
    "epochs of NaN": ("train: {epochs: .nan}\n", "train.epochs is nan: it must be a finite number"),
    "no epochs": (
        "train: {epochs: 0}\n",
        "train.epochs is 0.0: it must be above 0 and at most 1,000",
    ),
    "a negative seed": (
        "train: {seed: -1}\n",
        "train.seed is -1: it must be at least 0 and at most 4,294,967,295",
    ),
    "a huge seed": (
        "train: {seed: 4294967296}\n",
        "seed is 4294967296: it must be .* 4,294,967,295",
    ),
    "steps for ever": (
        f"train: {{steps: 1{'0' * 30}}}\n",
        "train.steps is 1000000000000.*: it must be at least 1 and at most 1,000,000,000",
    ),
    "a batch of everything": (
        "train: {batch_size: 1000000000}\n",
        "train.batch_size is 1000000000: it must be at least 1 and at most 1,000,000",
    ),
    "evaluation of everything": (
        "evaluation: {batch_size: 1000000000}\n",
        "evaluation.batch_size is 1000000000: it must be at least 1 and at most 1,000,000",
    ),
    "a buffer of everything": (
        "data: {shuffle_buffer: 10000000000}\n",
        "data.shuffle_buffer is 10000000000: it must be at least 1 and at most 10,000,000",
    ),
    "layers without end": (
        "model: {encoder: {num_hidden_layers: 1000000}}\n",
        "model.encoder.num_hidden_layers is 1000000: it must be at least 1 and at most 1,000",
    ),
    "a wide encoder": (
        "model: {encoder: {hidden_size: 1000000000}}\n",
        "model.encoder.hidden_size is 1000000000: it must be at least 1 and at most 65,536",
    ),
    "an encoder larger than any machine": (
        "model: {encoder: {hidden_size: 65536, num_attention_heads: 64, num_hidden_layers: 1000}}",
        "model.encoder: the sizes make .* weights, above 100,000,000,000",
    ),
    "heads that do not divide": (
        "model: {encoder: {num_attention_heads: 7}}\n",
        "model.encoder: hidden_size is 768: it must be a multiple of num_attention_heads",
    ),
    "a learning rate of NaN": ("optimizer: {learning_rate: .nan}\n", "it must be a finite number"),
    "a weight of NaN": (
        "train: {class_weights: [1, .nan]}\n",
        r"class_weights\[1\] is nan: it must",
    ),
    "a negative weight": (
        "train: {class_weights: [-1]}\n",
        r"class_weights\[0\] is -1.0: it must be",
    ),
    "weights in a section": ("train: {class_weights: {a: 1}}\n", "it must be a list"),
    "parts of unequal size": (
        "train: {batch_size: 32, accumulate_steps: 5}\n",
        "train.accumulate_steps is 5: train.batch_size, which is 32, cannot be computed in so many",
    ),
    "parts of unequal size in the second phase": (
        "train: {accumulate_steps: 4}\nsecond_phase: {batch_size: 6}\n",
        "train.accumulate_steps is 4: second_phase.batch_size, which is 6, cannot be computed in",
    ),
    "more parts than records": (
        "train: {batch_size: 2, accumulate_steps: 4}\n",
        "train.accumulate_steps is 4: train.batch_size, which is 2, cannot",
    ),
    "patience without evaluation": (
        "evaluation: {patience: 1}\n",
        "patience needs evaluation.every",
    ),
    "a control character": ("task: a\x07b\n", "this is not YAML: unacceptable character #x0007"),
}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_a_broken_file_is_told_in_one_line(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    text, message = BROKEN_FILES[case]
    path = _file(tmp_path, text)
    started = time.monotonic()
    with pytest.raises(InputError, match=message) as error:
        load_experiment([path])
    assert time.monotonic() - started < 20
    assert str(error.value).startswith(f"{path}") or "config.yaml" not in message
    assert "\n" not in str(error.value) and len(str(error.value)) < 600
    assert os.listdir(tmp_path) == ["config.yaml"], "something was executed"


# Bytes of a config -> what is said of it.
OTHER_BYTES = {
    "UTF-16": ("task: tagging\n".encode("utf-16"), "is UTF-16 or binary: save it as text in UTF-8"),
    "UTF-16 without a mark": ("task: tagging\n".encode("utf-16-le"), "is UTF-16 or binary"),
    "UTF-32": ("task: tagging\n".encode("utf-32"), "is UTF-16 or binary"),
    "latin-1": ("data: {path: Zürich}\n".encode("latin-1"), "is not UTF-8 at byte 14: save it as"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is UTF-16 or binary"),
    "large": (b"#" * (1 << 20), "has 1048576 bytes; such a file may have 524288 at most"),
}


@pytest.mark.parametrize("case", OTHER_BYTES)
def test_a_file_of_other_bytes_is_told_in_one_line(tmp_path, case):
    content, message = OTHER_BYTES[case]
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"config.yaml {message}"):
        load_experiment([path])


def test_what_is_no_file_is_told_in_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "lost").symlink_to("nowhere")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(5 << 30)
    messages = {
        ".": "it is a folder, a regular file is wanted",
        "pipe": "it is a named pipe, a regular file is wanted",
        "device": "it is a device, a regular file is wanted",
        "lost": "config file .*lost does not exist",
        "sparse": "has 5368709120 bytes; such a file may have 524288 at most",
    }
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            load_experiment([tmp_path / name])


def test_yaml_that_is_good(tmp_path):
    text = (
        "\ufefftask: sentence_prediction\ncommon: &common {learning_rate: 3e-5}\n".replace(
            "common: &common", "optimizer: &o"
        )
        + "second_phase: {<<: *o, start: 5e-1}\n"
        "train: {epochs: 1.5e1, class_weights: [1, 2.5], seed: 0x10, batch_size: 1_000}\n"
        "data: {path: 2024-01-01, train_split: '1e5', eval_split: 'no'}\n"
    )
    path = _file(tmp_path, text)
    experiment = load_experiment([path])
    assert experiment.optimizer.learning_rate == experiment.second_phase.learning_rate == 3e-5
    assert (experiment.second_phase.start, experiment.train.epochs) == (0.5, 15.0)
    assert experiment.train.class_weights == [1.0, 2.5]
    assert (experiment.train.seed, experiment.train.batch_size) == (16, 1000)
    data = experiment.data
    assert (data.path, data.train_split, data.eval_split) == ("2024-01-01", "1e5", "no")
    experiment.save(tmp_path / "saved.yaml")
    assert load_experiment([tmp_path / "saved.yaml"]) == experiment


def test_class_weights_of_many_labels_are_saved_and_read_again(tmp_path):
    experiment = ExperimentConfig(train=TrainConfig(class_weights=[0.123456] * 30_000))
    experiment.save(tmp_path / "saved.yaml")
    assert load_experiment([tmp_path / "saved.yaml"]) == experiment


OVERRIDES = {
    'model.pretrained="a,b"': {"model": {"pretrained": "a,b"}},
    "model.pretrained='it''s, here',train.seed=1": {
        "model": {"pretrained": "it's, here"},
        "train": {"seed": 1},
    },
    r'model.pretrained="a\"b\u00e9"': {"model": {"pretrained": 'a"bé'}},
    "train.class_weights=[1.0, 2.0]": {"train": {"class_weights": [1.0, 2.0]}},
    "train.class_weights=[],train.seed=1": {"train": {"class_weights": [], "seed": 1}},
    "train={seed: 1, steps: 2}": {"train": {"seed": 1, "steps": 2}},
    "train={seed: 1},train.steps=2": {"train": {"seed": 1, "steps": 2}},
    "train={seed: 1},train.steps=2,": {"train": {"seed": 1, "steps": 2}},
    "train.seed = 1, train.steps = 2": {"train": {"seed": 1, "steps": 2}},
    "model.pretrained=models/m[1]": {"model": {"pretrained": "models/m[1]"}},
    "model.pretrained=it's {here}: #1 & *2 !3": {
        "model": {"pretrained": "it's {here}: #1 & *2 !3"}
    },
    "model.pretrained=gs://bucket/a=b": {"model": {"pretrained": "gs://bucket/a=b"}},
    'model.pretrained="2024"': {"model": {"pretrained": "2024"}},
    "model.pretrained=": {"model": {"pretrained": None}},
    'model.pretrained=""': {"model": {"pretrained": ""}},
    "train.steps=null,train.epochs=1e-1": {"train": {"steps": None, "epochs": 0.1}},
    "optimizer.bias_correction=false": {"optimizer": {"bias_correction": False}},
    "task=my_package.my_module:MyTask": {"task": "my_package.my_module:MyTask"},
    '{"train": {"seed": 1}, "task": "tagging"}': {"train": {"seed": 1}, "task": "tagging"},
    "train: {seed: 1}": {"train": {"seed": 1}},
    "": {},
}


@pytest.mark.parametrize("text", OVERRIDES)
def test_an_override_says_a_value(text):
    assert read_override(text) == OVERRIDES[text]


def test_an_override_may_be_a_file(tmp_path):
    assert read_override(str(_file(tmp_path, "train: {seed: 1}\n"))) == {"train": {"seed": 1}}


BROKEN_OVERRIDES = {
    "train.batch_size": "write section.key=value",
    "model.pretrained=a,b": "write section.key=value at 'b'; a value with a comma stands in quotes",
    "train.seed=1,,train.steps=2": "write section.key=value at ',train.steps=2'",
    "=1": "cannot read the override '=1'",
    "train.seed=1,train.seed=2": "train.seed stands there twice",
    "train.seed=1,train={seed: 2}": "train stands there twice",
    "train={seed: 1},train.seed=2": "train.seed stands there twice",
    "train=1,train.seed=2": "train has a value and keys: leave one of them out",
    "train={seed: 1, seed: 2}": "line 1: the key 'seed' stands twice",
    'model.pretrained="a': "the quotes of '\"a' are not closed",
    'model.pretrained="a"b': "write a comma before 'b'",
    "train.class_weights=[1, 2": r"the brackets of '\[1, 2' are not closed",
    "train.class_weights=[1, 2}": "this is not YAML: line 1",
    "train.class_weights=[!!python/name:os.system ]": "the tag 'tag:yaml.org,2002:python/name",
    "train.class_weights=" + "[" * 5000 + "]" * 5000: "nested more than 20 deep",
    "train.seed=" + "9" * 5000: "a number of 5000 digits",
    "train.seed=0x_": "'0x_' is a number without digits",
    "train.seed=1" + ".a" * 3: "train.seed is '1.a.a.a': it must be a whole number",
    "train..seed=1": "unknown key train.; did you mean|unknown key train.; known",
    "train.seed.a=1": r"train.seed is \{'a': 1\}: it must be a whole number",
    "x" + ".x" * 3000 + "=1": "unknown key x; known: task, model",
    "train.seed" + ".x" * 3000 + "=1": "train.seed is {'x': .*: it must be a whole number",
    "train.epochs=.inf": "train.epochs is inf: it must be a finite number",
    "train.batch_size='8'": "train.batch_size is '8': it must be a whole number",
    "model.pretrained=2024": "model.pretrained is 2024: it must be text .numbers, .* in quotes",
    "evaluation.patience=1.0": "evaluation.patience is 1.0: it must be a whole number",
    "runtime.deterministic=1": "runtime.deterministic is 1: it must be true or false",
    "train.class_weights=1": r"train.class_weights is 1: it must be a list, as \[1, 2\]",
    "train.class_weights=[a]": r"train.class_weights\[0\] is 'a': it must be a number",
    "[1, 2]": "write section.key=value",
    "{train": "this is not YAML",
}


@pytest.mark.parametrize("text", BROKEN_OVERRIDES, ids=lambda text: text[:40])
def test_a_broken_override_is_told_in_one_line(text):
    with pytest.raises(InputError, match=BROKEN_OVERRIDES[text]) as error:
        load_experiment([], [text])
    assert "override" in str(error.value)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


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
