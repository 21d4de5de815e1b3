"""The variables of a model in memory, by our names."""

from __future__ import annotations

import tensorflow as tf
import tf_keras


def named_variables(model: tf_keras.Model) -> dict[str, tf.Variable]:
    """{"encoder/layer_0/attention/query/kernel": …, "masked_lm/output_bias": …}.

    Args:
        model: a `BertEncoder` or a model that has one as `encoder`.
    """
    scope = getattr(model, "encoder", model).name
    return {own_name(variable.name, scope): variable for variable in model.variables}


def own_name(name: str, encoder_scope: str = "bert_encoder") -> str:
    """Without the name of the model, but with that of the encoder replaced.

    "bert_encoder/pooler/bias:0" -> "encoder/pooler/bias", "bert_classifier/classifier/bias" ->
    "classifier/bias".
    """
    model, _, rest = name.removesuffix(":0").partition("/")
    return f"encoder/{rest}" if model == encoder_scope else rest
