"""Answer modules -> the signatures of a SavedModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from official_bert.inference.base import AnswerModule
from official_bert.inference.runner import answer_function

DEFAULT = "serving_default"
EXAMPLES = "examples"
ENCODED = "encoded"


class ServedState(tf.Module):
    """What the signatures need beside their graphs: variables and assets.

    The Keras model itself is not among the attributes: saving would then trace each of its layers
    for use from Keras, which nobody does with a served model.

    Args:
        signatures: concrete functions by name.
        vocab_asset: vocab.txt.
    """

    def __init__(self, signatures: Mapping[str, Any], vocab_asset: tf.saved_model.Asset):
        super().__init__(name="served_state")
        used = [v for function in signatures.values() for v in function.graph.variables]
        self.model_variables = list({id(variable): variable for variable in used}.values())
        self.vocab_asset = vocab_asset


def make_signatures(modules: Mapping[str, AnswerModule]) -> dict[str, Any]:
    """The signatures of an export, as concrete functions.

    Args:
        modules: the answers by name, that of `serving_default` first.

    Returns:
        `serving_default`, `examples` (serialized tf.Examples with the texts) and `encoded` (the ids
        -> logits) of the first answer, and each answer under its name.
    """
    default = next(iter(modules.values()))
    answers = {name: answer_function(module) for name, module in modules.items()}
    return {
        DEFAULT: answers[default.name],
        EXAMPLES: _examples_function(default, answers[default.name]),
        ENCODED: _encoded_function(default),
        **answers,
    }


def _examples_function(module: AnswerModule, answer: Any) -> Any:
    features = {
        name: tf.io.FixedLenFeature([], tf.string)
        if spec.shape.rank == 1
        else tf.io.VarLenFeature(tf.string)
        for name, spec in module.text_inputs.items()
    }

    @tf.function(autograph=False)
    def examples_function(*, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        texts = tf.io.parse_example(examples, features)
        return answer(
            **{
                name: tf.sparse.to_dense(value, "") if isinstance(value, tf.SparseTensor) else value
                for name, value in texts.items()
            }
        )

    return examples_function.get_concrete_function(
        examples=tf.TensorSpec([None], tf.string, name="examples")
    )


def _encoded_function(module: AnswerModule) -> Any:
    function = tf.function(lambda **inputs: module.logits(inputs), autograph=False)
    return function.get_concrete_function(**module.encoded_inputs)
