"""What one training run is: dataclasses, strict YAML files, and overrides on the command line."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from official.modeling import hyperparams

from official_bert.atomic import atomic_file
from official_bert.config import BertConfig
from official_bert.errors import InputError, shown
from official_bert.fields import bounded, check_known, checked_field, same_as, section_of
from official_bert.overrides import read_override
from official_bert.path import to_path
from official_bert.yaml_file import dump_yaml, read_yaml

# The largest seed that NumPy takes.
_MAX_SEED = 2**32 - 1
_MAX_STEPS = 1_000_000_000
_MAX_BATCH_SIZE = 1_000_000


@dataclasses.dataclass
class Section(hyperparams.Config):
    """A config of the Model Garden that checks what it is given.

    Keys, types and limits are checked wherever a field gets its value: when a config is made, by
    `override` and `replace`, and when an attribute is set.

    Raises:
        InputError: an unknown key (the nearest known one is named), or a value of another type or
            outside of its limit.
    """

    def _set(self, k: str, v: Any) -> None:
        if k not in self.RESERVED_ATTR:
            v = _checked_section(type(self), {k: v}, self._prefix())[k]
        super()._set(k, v)

    def _override(self, override_dict: Mapping[str, Any], is_strict: bool = True) -> None:
        # All values before any of them is taken.
        values = _checked_section(type(self), override_dict, self._prefix())
        super()._override(values, is_strict)

    @classmethod
    def _prefix(cls) -> str:
        return f"{cls.__name__}."


@dataclasses.dataclass
class EncoderConfig(Section):
    """The fields of `BertConfig`, with its defaults and limits.

    Attributes:
        vocab_size: unset: the size of the vocabulary of the prepared data.
    """

    vocab_size: int | None = same_as(BertConfig, "vocab_size", default=None)
    hidden_size: int = same_as(BertConfig, "hidden_size")
    num_hidden_layers: int = same_as(BertConfig, "num_hidden_layers")
    num_attention_heads: int = same_as(BertConfig, "num_attention_heads")
    intermediate_size: int = same_as(BertConfig, "intermediate_size")
    hidden_act: str = same_as(BertConfig, "hidden_act")
    hidden_dropout_prob: float = same_as(BertConfig, "hidden_dropout_prob")
    attention_probs_dropout_prob: float = same_as(BertConfig, "attention_probs_dropout_prob")
    max_position_embeddings: int = same_as(BertConfig, "max_position_embeddings")
    type_vocab_size: int = same_as(BertConfig, "type_vocab_size")
    initializer_range: float = same_as(BertConfig, "initializer_range")
    layer_norm_eps: float = same_as(BertConfig, "layer_norm_eps")
    embedding_size: int | None = same_as(BertConfig, "embedding_size")
    share_layers: bool = same_as(BertConfig, "share_layers")
    attention: str = same_as(BertConfig, "attention")
    use_pooler: bool = same_as(BertConfig, "use_pooler")
    bilstm: bool = same_as(BertConfig, "bilstm")


@dataclasses.dataclass
class FeatureTaggerConfig(Section):
    """The tagger on frozen features (Devlin et al. 2019, section 5.3), for `task: feature_tagging`.

    Attributes:
        features: "embeddings", the number of a layer ("-1" is the last), "sum_last_four",
            "concat_last_four" or "sum_all".
        lstm_size: units of each direction.
        lstm_layers: layers of the BiLSTM.
    """

    features: str = "concat_last_four"
    lstm_size: int = bounded(768, least=1, most=65_536)
    lstm_layers: int = bounded(2, least=1, most=100)


@dataclasses.dataclass
class ModelConfig(Section):
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
    pretrained_step: int | None = bounded(None, least=1, most=_MAX_STEPS)
    add_bilstm: bool = False
    frozen_layers: int | None = bounded(None, least=0, most=1_000)
    feature_tagger: FeatureTaggerConfig = dataclasses.field(default_factory=FeatureTaggerConfig)


@dataclasses.dataclass
class DataConfig(Section):
    """Prepared data (a folder written by data_prep).

    Attributes:
        path: the folder.
        train_split: the split to train on.
        eval_split: the split to evaluate on; no evaluation during training if the data lacks it.
        shuffle_buffer: records in memory among which the next one is drawn.
        batching: "padded": batches as they are drawn; "bucketed": of records of like length, which
            saves padding; "packed": several records in a row; "": what suits the task. On several
            devices and under XLA packed batches have one shape, and about `train.batch_size`
            records; "" is padded there.
    """

    path: str = ""
    train_split: str = "train"
    eval_split: str = "dev"
    shuffle_buffer: int = bounded(20_000, least=1, most=10_000_000)
    batching: str = bounded("", choices=("", "padded", "bucketed", "packed"))


@dataclasses.dataclass
class OptimizerConfig(Section):
    """The optimizer, with linear warm-up and a decay (Devlin et al. 2019, A.2 and A.3).

    Attributes:
        kind: "adamw"; "lamb" for very large batches (You et al. 2020); or "package.module:Class"
            for a subclass of `training.optimization.AdamW`.
        learning_rate: at the end of the warm-up.
        schedule: after the warm-up: "linear" to `end_learning_rate` at the last step, "polynomial"
            (of `power`), "cosine" or "constant".
        end_learning_rate: at the last step; at most `learning_rate`.
        power: of the polynomial.
        warmup_steps: optimizer steps; unset: `warmup_proportion` of all steps.
        warmup_proportion: share of all steps.
        weight_decay: decoupled; not applied to biases and layer norms.
        beta_1, beta_2, epsilon: of Adam.
        bias_correction: false gives the Adam of google-research/bert, which has none.
        max_grad_norm: the gradient is scaled down to this global norm; 0 leaves it as it is.
        layer_decay: each layer learns at this share of the rate of the layer above it; the head at
            the whole rate; 1: all alike.
    """

    kind: str = bounded("adamw", choices=("adamw", "lamb"), or_class=True)
    learning_rate: float = bounded(1e-4, above=0, most=100)
    schedule: str = bounded("linear", choices=("linear", "polynomial", "cosine", "constant"))
    end_learning_rate: float = bounded(0.0, least=0, most=100)
    power: float = bounded(2.0, above=0, most=100)
    warmup_steps: int | None = bounded(None, least=0, most=_MAX_STEPS)
    warmup_proportion: float = bounded(0.1, least=0, most=1)
    weight_decay: float = bounded(0.01, least=0, most=100)
    beta_1: float = bounded(0.9, least=0, below=1)
    beta_2: float = bounded(0.999, least=0, below=1)
    epsilon: float = bounded(1e-6, above=0, most=1)
    bias_correction: bool = True
    max_grad_norm: float = bounded(1.0, least=0, most=1_000_000)
    layer_decay: float = bounded(1.0, above=0, most=1)


@dataclasses.dataclass
class TrainConfig(Section):
    """The training loop.

    Attributes:
        seed: of the weights, the order of the data and dropout; 0 to 2**32 - 1.
        batch_size: global batch, in examples.
        epochs: passes over the training split, if `steps` is unset.
        steps: optimizer steps; unset: derived from `epochs` and the manifest's counts.
        accumulate_steps: the batch is computed in this many equal parts, one after the other, for
            batches that do not fit in memory; the update is the same.
        steps_per_execution: steps that run between two looks at the callbacks.
        log_every_steps: between two progress reports.
        checkpoint_every_steps: between two checkpoints; 0: by time only.
        checkpoint_every_seconds: between two checkpoints; 0: by steps only.
        keep_checkpoints: how many of the newest checkpoints stay.
        background_checkpoints: write them while training goes on, from a copy in the memory of the
            host; with several workers they are written between two steps.
        class_weights: of the loss, one for each label in id order; empty: all alike.
        spike_factor: the run goes back to its last checkpoint, and leaves the batches since then
            out, where the mean loss of a report is so many times the median of the ten before; 0:
            never.
        spike_recoveries: how often it may go back.
        callbacks: further callbacks of Keras, as "package.module:Class"; made without arguments.
        profile_steps: the first and the last step of a profile for TensorBoard; empty: none.
    """

    seed: int = bounded(0, least=0, most=_MAX_SEED)
    batch_size: int = bounded(32, least=1, most=_MAX_BATCH_SIZE)
    epochs: float = bounded(3.0, above=0, most=1_000_000)
    steps: int | None = bounded(None, least=1, most=_MAX_STEPS)
    accumulate_steps: int = bounded(1, least=1, most=_MAX_BATCH_SIZE)
    steps_per_execution: int = bounded(1, least=1, most=_MAX_STEPS)
    log_every_steps: int = bounded(20, least=1, most=_MAX_STEPS)
    checkpoint_every_steps: int = bounded(1000, least=0, most=_MAX_STEPS)
    checkpoint_every_seconds: float = bounded(600.0, least=0, most=1_000_000_000)
    keep_checkpoints: int = bounded(3, least=1, most=1_000_000)
    background_checkpoints: bool = False
    class_weights: list[float] = bounded([], least=0, most=1_000_000)
    spike_factor: float = bounded(0.0, least=0, most=1_000_000)
    spike_recoveries: int = bounded(3, least=1, most=1_000_000)
    callbacks: list[str] = dataclasses.field(default_factory=list)
    profile_steps: list[int] = bounded([], least=1, most=_MAX_STEPS)


@dataclasses.dataclass
class EvaluationConfig(Section):
    """Evaluation while training and with --mode=eval.

    Attributes:
        every_steps: between two evaluations; 0: as `every_epochs` says.
        every_epochs: the same in passes over the training split; 0: only at the end.
        batch_size: in examples.
        best_metric: the metric that decides which checkpoint stands in `best/`; "": the task's own.
        patience: training ends after so many evaluations that were not better than the best; 0:
            never.
    """

    every_steps: int = bounded(0, least=0, most=_MAX_STEPS)
    every_epochs: float = bounded(0.0, least=0, most=1_000_000)
    batch_size: int = bounded(64, least=1, most=_MAX_BATCH_SIZE)
    best_metric: str = ""
    patience: int = bounded(0, least=0, most=_MAX_STEPS)


@dataclasses.dataclass
class RuntimeConfig(Section):
    """Devices and numbers.

    Attributes:
        strategy: one_device, mirrored, multi_worker_mirrored or tpu; auto: the TPU that --tpu
            names, else all workers of TF_CONFIG, else all GPUs of the machine, else its CPU.
        num_gpus: GPUs of this machine that are used; unset: all; 0: the CPU.
        precision: float32, mixed_bfloat16 or mixed_float16.
        deterministic: TensorFlow's deterministic kernels, so that the same run gives the same
            weights bit for bit.
        jit_compile: compile the training step with XLA.
    """

    strategy: str = bounded(
        "auto", choices=("auto", "one_device", "mirrored", "multi_worker_mirrored", "tpu")
    )
    num_gpus: int | None = bounded(None, least=0, most=1_000)
    precision: str = bounded("float32", choices=("float32", "mixed_bfloat16", "mixed_float16"))
    deterministic: bool = True
    jit_compile: bool = False


@dataclasses.dataclass
class SecondPhaseConfig(Section):
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
    start: float = bounded(0.9, above=0, below=1)
    batch_size: int | None = bounded(None, least=1, most=_MAX_BATCH_SIZE)
    learning_rate: float | None = bounded(None, above=0, most=100)
    warmup_proportion: float = bounded(0.1, least=0, most=1)


@dataclasses.dataclass
class ExperimentConfig(Section):
    """A whole run, as it stands in a YAML file.

    Attributes:
        task: a module of official_bert.tasks, or `package.module:Class` for a class of one's own.
    """

    task: str = "pretraining"
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    optimizer: OptimizerConfig = dataclasses.field(default_factory=OptimizerConfig)
    train: TrainConfig = dataclasses.field(default_factory=TrainConfig)
    second_phase: SecondPhaseConfig = dataclasses.field(default_factory=SecondPhaseConfig)
    evaluation: EvaluationConfig = dataclasses.field(default_factory=EvaluationConfig)
    runtime: RuntimeConfig = dataclasses.field(default_factory=RuntimeConfig)

    def _override(self, override_dict: Mapping[str, Any], is_strict: bool = True) -> None:
        before = self.as_dict()
        super()._override(override_dict, is_strict)
        try:
            self.check()
        except InputError:
            super()._override(before)
            raise

    def check(self) -> None:
        """Checks the rules between fields; each field alone was checked when it was set.

        Making a config, `override` and `replace` do this too; setting an attribute does not.

        Raises:
            InputError: two settings contradict each other.
        """
        if not self.model.pretrained:
            encoder = self.model.encoder.as_dict()
            if encoder["vocab_size"] is None:
                del encoder["vocab_size"]
            try:
                BertConfig.from_dict(encoder)
            except InputError as error:
                raise InputError(f"model.encoder: {error}") from error
        train, second, evaluation = self.train, self.second_phase, self.evaluation
        for name, rate in (
            ("optimizer.learning_rate", self.optimizer.learning_rate),
            ("second_phase.learning_rate", second.learning_rate),
        ):
            if rate is not None and rate < self.optimizer.end_learning_rate:
                raise InputError(
                    f"optimizer.end_learning_rate is {self.optimizer.end_learning_rate}, above "
                    f"{name}, which is {rate}"
                )
        if evaluation.patience and not (evaluation.every_steps or evaluation.every_epochs):
            raise InputError("evaluation.patience needs evaluation.every_steps or every_epochs")
        if second.path and train.steps is None:
            raise InputError(
                "second_phase.path needs train.steps, the steps of both phases together"
            )
        if 0 < train.spike_factor <= 1:
            raise InputError(
                f"train.spike_factor is {train.spike_factor}: it must be above 1, or 0 for never"
            )
        steps = train.profile_steps
        if steps and (len(steps) != 2 or steps[0] > steps[1]):
            raise InputError(
                f"train.profile_steps is {steps}: it must be the first and the last step"
            )
        for name, size in (
            ("train.batch_size", train.batch_size),
            ("second_phase.batch_size", second.batch_size or train.batch_size),
        ):
            if size % train.accumulate_steps:
                raise InputError(
                    f"train.accumulate_steps is {train.accumulate_steps}: {name}, which is {size}, "
                    "cannot be computed in so many equal parts; choose a divisor of it"
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the resolved config as YAML."""
        with atomic_file(path) as file:
            file.write(dump_yaml(self.as_dict()))

    @classmethod
    def _prefix(cls) -> str:
        return ""


def load_experiment(
    files: Sequence[str | os.PathLike[str]], overrides: Sequence[str] = ()
) -> ExperimentConfig:
    """Reads YAML files, the later over the earlier, then overrides as `train.batch_size=16`.

    Args:
        files: YAML files of sections and keys.
        overrides: each as `read_override` takes it; the later over the earlier.

    Raises:
        InputError: a file is missing or not YAML; a key is unknown (the nearest known one is
            named) or stands twice; a value has the wrong type or is out of range; settings
            contradict each other. The message begins with the file.
    """
    values: dict[str, Any] = {}
    for path in files:
        if not to_path(path).exists():
            raise InputError(f"config file {path} does not exist")
        _merge(values, _checked_source(read_yaml(path), str(path)))
    for text in overrides:
        _merge(values, _checked_source(read_override(text), "--params_override"))
    return ExperimentConfig(default_params=values)


def config_files(names: Sequence[str]) -> list[str]:
    """The files that values of a flag name, several in one value with commas between them.

        config_files(["base.yaml,mine.yaml"])  # ["base.yaml", "mine.yaml"]

    A file whose own name has a comma is taken as it is.
    """
    files: list[str] = []
    for name in names:
        # Whether a store has a file is asked only where it matters.
        files += [name] if "," not in name or to_path(name).exists() else name.split(",")
    return files


def _checked_source(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    try:
        return _checked_section(ExperimentConfig, values, "")
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def _checked_section(cls: type, values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """`values` with every key known to the dataclass `cls` and every value within its limit."""
    known = [field.name for field in dataclasses.fields(cls)]
    checked = {}
    for key, value in values.items():
        check_known(key, known, prefix)
        name, section = f"{prefix}{key}", section_of(cls, key)
        if section is None:
            checked[key] = checked_field(cls, key, value, name)
        elif isinstance(value, section):
            checked[key] = value  # It was checked when it was made.
        elif isinstance(value, Mapping):
            checked[key] = _checked_section(section, value, f"{name}.")
        else:
            raise InputError(f"{name} is a section of keys, not {shown(value)}")
    return checked


def _merge(values: dict[str, Any], later: Mapping[str, Any]) -> None:
    for key, value in later.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _merge(values[key], value)
        else:
            values[key] = value
