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
    return pretrained


def resolve(
    experiment: ExperimentConfig, pretrained: Pretrained | None, vocab_size: int
) -> tuple[ExperimentConfig, BertConfig]:
    """A copy of the config in which the shape of the encoder is complete, and that shape.

    Args:
        experiment: the run.
        pretrained: brings the shape of its encoder along.
        vocab_size: of the prepared data, where neither the config nor the checkpoint has one.
    """
    resolved = copy.deepcopy(experiment)
    if pretrained is not None:
        resolved.model.encoder.override(pretrained.config.to_dict())
    if resolved.model.encoder.vocab_size is None:
        resolved.model.encoder.vocab_size = vocab_size
    return resolved, BertConfig.from_dict(resolved.model.encoder.as_dict())
