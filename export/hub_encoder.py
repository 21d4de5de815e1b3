"""The encoder as a TF Hub module, for programs written for the published BERT modules.

B batch, S sequence, H hidden, L layers, P predictions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from official_bert.checkpoints.load import Pretrained
from official_bert.errors import InputError
from official_bert.layers.positions import gather_positions
from official_bert.models.encoder import ENCODER_INPUTS
from official_bert.models.pretrainer import BertPretrainer

Tensors = Mapping[str, tf.Tensor]
POSITIONS = "masked_lm_positions"


def make_hub_encoder(bundle: Pretrained) -> tuple[tf.train.Checkpoint, dict[str, Any]]:
    """What `hub.load` gives back.

    The module is called as `encoder(inputs, training=False)` on a dict of int32 [B, S] and gives
    `pooled_output` and `default` [B, H], `sequence_output` [B, S, H] and `encoder_outputs`, a list
    of L [B, S, H]. `variables`, `trainable_variables` and `regularization_losses` are what
    `hub.KerasLayer` reads. `mlm`, where the checkpoint has that head, is a callable with the same
    attributes, which takes `masked_lm_positions` [B, P] as well and adds `mlm_logits` [B, P, V].

    Args:
        bundle: a loaded checkpoint.

    Returns:
        The module and its signatures.

    Raises:
        InputError: the encoder has no pooler.
    """
    encoder = bundle.encoder
    if encoder.pooler is None:
        raise InputError("the encoder has no pooler, and a hub module gives a pooled_output")

    def outputs(inputs: Tensors, training: bool) -> dict[str, Any]:
        results = encoder(dict(inputs), training=training)
        return {**results, "default": results["pooled_output"]}

    module = _callable_module(outputs, ENCODER_INPUTS, encoder.variables)
    assert bundle.tokenizer is not None
    module.vocab_file = bundle.tokenizer.vocab_asset
    module.do_lower_case = tf.Variable(bundle.tokenizer.config()["lower_case"], trainable=False)
    if bundle.pretrainer is not None:
        module.mlm = _make_mlm(bundle.pretrainer)
    return module, {"serving_default": _signature(module)}


def _make_mlm(pretrainer: BertPretrainer) -> tf.train.Checkpoint:
    encoder, head = pretrainer.encoder, pretrainer.masked_lm

    def outputs(inputs: Tensors, training: bool) -> dict[str, Any]:
        encoder_inputs = {name: inputs[name] for name in ENCODER_INPUTS}
        results = encoder(encoder_inputs, training=training)
        states = gather_positions(results["sequence_output"], inputs[POSITIONS])
        logits = head(states, encoder.embeddings.word_embeddings, training=training)
        return {**results, "mlm_logits": logits}

    variables = [*encoder.variables, *head.variables]
    return _callable_module(outputs, (*ENCODER_INPUTS, POSITIONS), variables)


def _callable_module(
    function: Callable[[Tensors, bool], dict[str, Any]],
    inputs: Iterable[str],
    variables: Iterable[tf.Variable],
) -> tf.train.Checkpoint:
    """A "reusable SavedModel" (tensorflow.org/hub/reusable_saved_models) around `function`."""
    specs = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in inputs}
    modes = {
        training: tf.function(lambda values, t=training: function(values, t), autograph=False)
        for training in (False, True)
    }

    @tf.function(autograph=False)
    def call(inputs: Tensors, training: bool | None = None) -> dict[str, Any]:
        return modes[bool(training)](inputs)

    for training in (None, False, True):
        call.get_concrete_function(specs, training=training)
    module = tf.train.Checkpoint()
    module.__call__ = call  # type: ignore[method-assign]
    module.variables = list(variables)
    module.trainable_variables = [v for v in module.variables if v.trainable]
    module.regularization_losses = []
    return module


def _signature(module: tf.train.Checkpoint) -> Any:
    """The same by tensor names; the list of layers becomes `encoder_outputs_0`, …"""

    @tf.function(autograph=False)
    def signature(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = dict(module.__call__(inputs, training=False))
        layers = outputs.pop("encoder_outputs")
        return {**outputs, **{f"encoder_outputs_{i}": layer for i, layer in enumerate(layers)}}

    return signature.get_concrete_function(
        **{name: tf.TensorSpec([None, None], tf.int32, name=name) for name in ENCODER_INPUTS}
    )
