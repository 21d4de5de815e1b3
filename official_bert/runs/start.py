"""What a run starts from: a checkpoint or random weights, and the shape of the encoder."""

from __future__ import annotations

import copy

import tensorflow as tf

from official_bert.checkpoints.load import Pretrained, load_pretrained
from official_bert.checkpoints.official import checkpoint_of_step
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.experiment import ExperimentConfig
from official_bert.runs.prepared_data import PreparedData


def load_start(
    experiment: ExperimentConfig, data: PreparedData, strategy: tf.distribute.Strategy
) -> Pretrained | None:
    """The checkpoint `model.pretrained`; None where the weights are to be random.

    Raises:
        InputError: no such checkpoint, or one with another vocabulary than the data.
    """
    model = experiment.model
    if not model.pretrained:
        if model.add_bilstm or model.pretrained_step is not None:
            raise InputError(
                "model.add_bilstm and model.pretrained_step say what to do with a checkpoint: "
                "set model.pretrained too (model.encoder.bilstm is for random weights)"
            )
        return None
    path = checkpoint_of_step(model.pretrained, model.pretrained_step)
    with strategy.scope():
        pretrained = load_pretrained(path, new_heads=True, add_bilstm=model.add_bilstm)
    sha256 = pretrained.vocab.sha256 if pretrained.vocab else "(it has none)"
    if sha256 != data.manifest.vocab_sha256:
        raise InputError(
            f"the vocabulary of {path} has sha256 {sha256}, that of {data.folder} "
            f"{data.manifest.vocab_sha256}: prepare the data with the checkpoint's vocab.txt"
        )
    _check_casing(data, pretrained)
    return pretrained


def _check_casing(data: PreparedData, pretrained: Pretrained) -> None:
    """Refuses data in which the words look otherwise than in the text of the checkpoint."""
    theirs = pretrained.tokenizer_config
    if theirs is not None and data.lower_case != theirs.lower_case:
        done = {True: "lower-cased", False: "not lower-cased"}
        raise InputError(
            f"the text of {data.folder} is {done[data.lower_case]}, that of {pretrained.path} is "
            f"{done[theirs.lower_case]}: prepare the data with "
            f"--do_lower_case={str(theirs.lower_case).lower()}"
        )


def resolve(
    experiment: ExperimentConfig, pretrained: Pretrained | None, *, vocab_size: int, strategy: str
) -> tuple[ExperimentConfig, BertConfig]:
    """A copy of the config in which encoder and strategy are complete, and the encoder's shape.

    Args:
        experiment: the run.
        pretrained: brings the shape of its encoder along.
        vocab_size: of the prepared data, where neither the config nor the checkpoint has one.
        strategy: the one that is used.
    """
    resolved = copy.deepcopy(experiment)
    resolved.runtime.strategy = strategy
    if pretrained is not None:
        resolved.model.encoder.override(pretrained.config.to_dict())
    if resolved.model.encoder.vocab_size is None:
        resolved.model.encoder.vocab_size = vocab_size
    return resolved, BertConfig.from_dict(resolved.model.encoder.as_dict())
