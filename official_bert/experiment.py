"""What one training run is: dataclasses, strict YAML files, and overrides on the command line."""

from __future__ import annotations

import dataclasses
import difflib
import os
import types
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf
import yaml
from official.modeling import hyperparams

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.errors import InputError

# The fields of BertConfig, as a section of the config. `vocab_size` may stay unset: it is then the
# size of the vocabulary of the prepared data.
if TYPE_CHECKING:
    EncoderConfig = Any
else:
    _ENCODER_TYPES = {**typing.get_type_hints(BertConfig), "vocab_size": int | None}
    _ENCODER_DEFAULTS = {**dataclasses.asdict(BertConfig()), "vocab_size": None}
    EncoderConfig = dataclasses.make_dataclass(
        "EncoderConfig",
        [
            (name, _ENCODER_TYPES[name], dataclasses.field(default=default))
            for name, default in _ENCODER_DEFAULTS.items()
        ],
        bases=(hyperparams.Config,),
    )
    EncoderConfig.__module__ = __name__


@dataclasses.dataclass
class FeatureTaggerConfig(hyperparams.Config):
    """The tagger on frozen features (Devlin et al. 2019, section 5.3), for `task: feature_tagging`.

    Attributes:
        features: "embeddings", the number of a layer ("-1" is the last), "sum_last_four",
            "concat_last_four" or "sum_all".
        lstm_size: units of each direction.
        lstm_layers: layers of the BiLSTM.
    """

    features: str = "concat_last_four"
    lstm_size: int = 768
    lstm_layers: int = 2


@dataclasses.dataclass
class ModelConfig(hyperparams.Config):
    """The model.

    Attributes:
        encoder: shape of an encoder that is trained from random weights.
        pretrained: a checkpoint to start from, in any layout that `load_pretrained` knows. It
            brings its own encoder config and vocabulary.
        pretrained_step: of a model folder of ours, the checkpoint of this training step instead of
            the best one.
        add_bilstm: puts a BiLSTM on the pretrained encoder, from random values (section 5.1); to
            the learning rates of layers it is part of the head.
        frozen_layers: keeps the embeddings and the first so many layers as they are; 0: the
            embeddings alone; unset: everything is trained.
        feature_tagger: see `FeatureTaggerConfig`.
    """

    encoder: EncoderConfig = dataclasses.field(default_factory=EncoderConfig)
    pretrained: str = ""
    pretrained_step: int | None = None
    add_bilstm: bool = False
    frozen_layers: int | None = None
    feature_tagger: FeatureTaggerConfig = dataclasses.field(default_factory=FeatureTaggerConfig)


@dataclasses.dataclass
class DataConfig(hyperparams.Config):
    """Prepared data (a folder written by data_prep).

    Attributes:
        path: the folder.
        train_split: the split to train on.
        eval_split: the split to evaluate on; no evaluation during training if the data lacks it.
        shuffle_buffer: records in memory among which the next one is drawn.
        batching: "padded": batches as they are drawn; "bucketed": of records of like length, which
            saves padding; "packed": several records in a row; "": what suits the task.
    """

    path: str = ""
    train_split: str = "train"
    eval_split: str = "dev"
    shuffle_buffer: int = 20_000
    batching: str = ""


@dataclasses.dataclass
class OptimizerConfig(hyperparams.Config):
    """The optimizer, with linear warm-up and linear decay (Devlin et al. 2019, A.2 and A.3).

    Attributes:
        kind: "adamw", or "lamb" for very large batches (You et al. 2020).
        learning_rate: at the end of the warm-up.
        warmup_steps: optimizer steps; unset: `warmup_proportion` of all steps.
        warmup_proportion: share of all steps.
        weight_decay: decoupled; not applied to biases and layer norms.
        beta_1, beta_2, epsilon: of Adam.
        bias_correction: false gives the Adam of google-research/bert, which has none.
        max_grad_norm: the gradient is scaled down to this global norm; 0 leaves it as it is.
        layer_decay: each layer learns at this share of the rate of the layer above it; the head at
            the whole rate; 1: all alike.
    """

    kind: str = "adamw"
    learning_rate: float = 1e-4
    warmup_steps: int | None = None
    warmup_proportion: float = 0.1
    weight_decay: float = 0.01
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-6
    bias_correction: bool = True
    max_grad_norm: float = 1.0
    layer_decay: float = 1.0


@dataclasses.dataclass
class TrainConfig(hyperparams.Config):
    """The training loop.

    Attributes:
        seed: of the weights, the order of the data and dropout.
        batch_size: global batch, in examples.
        epochs: passes over the training split, if `steps` is unset.
        steps: optimizer steps; unset: derived from `epochs` and the manifest's counts.
        accumulate_steps: the batch is computed in this many parts, one after the other, for
            batches that do not fit in memory; the update is the same.
        steps_per_execution: steps that run between two looks at the callbacks.
        log_every_steps: between two progress reports.
        checkpoint_every_steps: between two checkpoints; 0: by time only.
        checkpoint_every_seconds: between two checkpoints; 0: by steps only.
        keep_checkpoints: how many of the newest checkpoints stay.
        class_weights: of the loss, one for each label in id order; empty: all alike.
    """

    seed: int = 0
    batch_size: int = 32
    epochs: float = 3.0
    steps: int | None = None
    accumulate_steps: int = 1
    steps_per_execution: int = 1
    log_every_steps: int = 20
    checkpoint_every_steps: int = 1000
    checkpoint_every_seconds: float = 600.0
    keep_checkpoints: int = 3
    class_weights: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class EvaluationConfig(hyperparams.Config):
    """Evaluation while training and with --mode=eval.

    Attributes:
        every_steps: between two evaluations; 0: as `every_epochs` says.
        every_epochs: the same in passes over the training split; 0: only at the end.
        batch_size: in examples.
        best_metric: the metric that decides which checkpoint stands in `best/`; "": the task's own.
        patience: training ends after so many evaluations that were not better than the best; 0:
            never.
    """

    every_steps: int = 0
    every_epochs: float = 0.0
    batch_size: int = 64
    best_metric: str = ""
    patience: int = 0


@dataclasses.dataclass
class RuntimeConfig(hyperparams.Config):
    """Devices and numbers.

    Attributes:
        strategy: one_device, mirrored, multi_worker_mirrored or tpu.
        num_gpus: GPUs of this machine that are used; 0: the CPU.
        precision: float32, mixed_bfloat16 or mixed_float16.
        deterministic: TensorFlow's deterministic kernels, so that the same run gives the same
            weights bit for bit.
        jit_compile: compile the training step with XLA.
    """

    strategy: str = "one_device"
    num_gpus: int = 0
    precision: str = "float32"
    deterministic: bool = True
    jit_compile: bool = False


@dataclasses.dataclass
class SecondPhaseConfig(hyperparams.Config):
    """The end of a run on other data: longer sequences (Devlin et al. 2019, A.2).

    Evaluation stays with `data.path`.

    Attributes:
        path: prepared data of the second phase; "": there is none.
        start: share of `train.steps` that come before.
        batch_size: unset: `train.batch_size`.
        learning_rate: set: each phase has its own warm-up and decay, the second with this rate
            (You et al. 2020, section 4.1); unset: one schedule over both.
        warmup_proportion: share of the second phase's steps, where it has a rate of its own.
    """

    path: str = ""
    start: float = 0.9
    batch_size: int | None = None
    learning_rate: float | None = None
    warmup_proportion: float = 0.1


@dataclasses.dataclass
class ExperimentConfig(hyperparams.Config):
    """A whole run, as it stands in a YAML file. `task` names a module of official_bert.tasks."""

    task: str = "pretraining"
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    optimizer: OptimizerConfig = dataclasses.field(default_factory=OptimizerConfig)
    train: TrainConfig = dataclasses.field(default_factory=TrainConfig)
    second_phase: SecondPhaseConfig = dataclasses.field(default_factory=SecondPhaseConfig)
    evaluation: EvaluationConfig = dataclasses.field(default_factory=EvaluationConfig)
    runtime: RuntimeConfig = dataclasses.field(default_factory=RuntimeConfig)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the resolved config as YAML."""
        with atomic_file(path) as file:
            yaml.safe_dump(self.as_dict(), file, sort_keys=False)


# Section and field -> (is the value good?, what it must be).
_LIMITS: dict[str, tuple[typing.Callable[[Any], bool], str]] = {
    "model.frozen_layers": (lambda v: v is None or v >= 0, "at least 0"),
    "model.pretrained_step": (lambda v: v is None or v >= 1, "at least 1"),
    "data.shuffle_buffer": (lambda v: v >= 1, "at least 1"),
    "data.batching": (
        lambda v: v in ("", "padded", "bucketed", "packed"),
        "padded, bucketed or packed",
    ),
    "optimizer.layer_decay": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "train.class_weights": (lambda v: all(w >= 0 for w in v), "numbers of at least 0"),
    "evaluation.patience": (lambda v: v >= 0, "at least 0"),
    "optimizer.kind": (lambda v: v in ("adamw", "lamb"), "adamw or lamb"),
    "optimizer.learning_rate": (lambda v: v > 0, "above 0"),
    "optimizer.warmup_steps": (lambda v: v is None or v >= 0, "at least 0"),
    "optimizer.warmup_proportion": (lambda v: 0 <= v <= 1, "between 0 and 1"),
    "optimizer.weight_decay": (lambda v: v >= 0, "at least 0"),
    "optimizer.beta_1": (lambda v: 0 <= v < 1, "in [0, 1)"),
    "optimizer.beta_2": (lambda v: 0 <= v < 1, "in [0, 1)"),
    "optimizer.epsilon": (lambda v: v > 0, "above 0"),
    "optimizer.max_grad_norm": (lambda v: v >= 0, "at least 0"),
    "train.batch_size": (lambda v: v >= 1, "at least 1"),
    "train.epochs": (lambda v: v > 0, "above 0"),
    "train.steps": (lambda v: v is None or v >= 1, "at least 1"),
    "train.accumulate_steps": (lambda v: v >= 1, "at least 1"),
    "train.steps_per_execution": (lambda v: v >= 1, "at least 1"),
    "train.log_every_steps": (lambda v: v >= 1, "at least 1"),
    "train.checkpoint_every_steps": (lambda v: v >= 0, "at least 0"),
    "train.checkpoint_every_seconds": (lambda v: v >= 0, "at least 0"),
    "train.keep_checkpoints": (lambda v: v >= 1, "at least 1"),
    "second_phase.start": (lambda v: 0 < v < 1, "above 0 and below 1"),
    "second_phase.batch_size": (lambda v: v is None or v >= 1, "at least 1"),
    "second_phase.learning_rate": (lambda v: v is None or v > 0, "above 0"),
    "second_phase.warmup_proportion": (lambda v: 0 <= v <= 1, "between 0 and 1"),
    "evaluation.every_steps": (lambda v: v >= 0, "at least 0"),
    "evaluation.every_epochs": (lambda v: v >= 0, "at least 0"),
    "evaluation.batch_size": (lambda v: v >= 1, "at least 1"),
    "runtime.strategy": (
        lambda v: v in ("one_device", "mirrored", "multi_worker_mirrored", "tpu"),
        "one_device, mirrored, multi_worker_mirrored or tpu",
    ),
    "runtime.num_gpus": (lambda v: v >= 0, "at least 0"),
    "runtime.precision": (
        lambda v: v in ("float32", "mixed_bfloat16", "mixed_float16"),
        "float32, mixed_bfloat16 or mixed_float16",
    ),
}


def load_experiment(
    files: Sequence[str | os.PathLike[str]], overrides: Sequence[str] = ()
) -> ExperimentConfig:
    """Reads YAML files, the later over the earlier, then overrides as `train.batch_size=16`.

    Raises:
        InputError: a file is missing or not YAML; a key is unknown (the nearest known one is
            named); a value has the wrong type or is out of range.
    """
    experiment = ExperimentConfig()
    for path in files:
        _override(experiment, _read_yaml(path), source=str(path))
    for text in overrides:
        try:
            values = hyperparams.override_params_dict(
                hyperparams.ParamsDict(), text, is_strict=False
            ).as_dict()
        except (ValueError, tf.errors.NotFoundError, yaml.YAMLError) as error:
            raise InputError(
                f"cannot read the override {text!r}: write section.key=value"
            ) from error
        _override(experiment, values, source="--params_override")
    if experiment.evaluation.patience and not (
        experiment.evaluation.every_steps or experiment.evaluation.every_epochs
    ):
        raise InputError("evaluation.patience needs evaluation.every_steps or every_epochs")
    if experiment.second_phase.path and experiment.train.steps is None:
        raise InputError("second_phase.path needs train.steps, the steps of both phases together")
    for name, (good, requirement) in _LIMITS.items():
        section, field = name.split(".")
        value = getattr(getattr(experiment, section), field)
        if not good(value):
            raise InputError(f"{name} is {value!r}: it must be {requirement}")
    return experiment


def _read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    if not os.path.isfile(path):
        raise InputError(f"config file {path} does not exist")
    try:
        values = hyperparams.read_yaml_to_params_dict(str(path)).as_dict()
    except yaml.YAMLError as error:
        raise InputError(f"config file {path} is not YAML: {error}") from error
    except (AttributeError, TypeError) as error:
        raise InputError(f"config file {path} must hold sections with keys") from error
    return values


def _override(config: hyperparams.Config, values: dict[str, Any], source: str) -> None:
    config.override(_checked(type(config), values, source, prefix=""))


def _checked(cls: type, values: dict[str, Any], source: str, prefix: str) -> dict[str, Any]:
    """`values` with every key known to the dataclass `cls` and every value of its type."""
    hints = {
        field.name: typing.get_type_hints(cls)[field.name] for field in dataclasses.fields(cls)
    }
    checked = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if key not in hints:
            near = difflib.get_close_matches(str(key), hints, n=1, cutoff=0.4)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(hints)}"
            raise InputError(f"{source}: unknown key {name}; {hint}")
        checked[key] = _checked_value(hints[key], value, source, name)
    return checked


def _checked_value(hint: Any, value: Any, source: str, name: str) -> Any:
    optional = typing.get_origin(hint) in (typing.Union, types.UnionType)
    wanted = typing.get_args(hint)[0] if optional else hint
    if optional and value is None:
        return None
    if dataclasses.is_dataclass(wanted):
        if not isinstance(value, dict):
            raise InputError(f"{source}: {name} is a section of keys, not {value!r}")
        return _checked(typing.cast(type, wanted), value, source, prefix=f"{name}.")
    if typing.get_origin(wanted) is list:
        item = typing.get_args(wanted)[0]
        if not isinstance(value, list | tuple):
            raise InputError(f"{source}: {name} is {value!r}: it must be a list")
        return [_checked_value(item, entry, source, name) for entry in value]
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise InputError(f"{source}: {name} is {value!r}: it must be of type {wanted.__name__}")
    return value
