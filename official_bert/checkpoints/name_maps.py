"""The names of every format's variables, as data.

*Our names* are those of the models' variables without the model's own name, with `encoder/` before
those of the encoder: `encoder/layer_0/attention/query/kernel`, `masked_lm/output_bias`. `{i}`
stands for the number of a layer. Kernels are [inputs, outputs]. The names of heads come from
`heads`.
"""

from __future__ import annotations

from collections.abc import Mapping

from official_bert.checkpoints.heads import PARTS


def _prefixed(ours: str, theirs: str, names: Mapping[str, str]) -> dict[str, str]:
    """The table with one prefix before all keys and one before all values."""
    return {ours + key: theirs + value for key, value in names.items()}


def _of_heads(program: str) -> dict[str, str]:
    """The names of the variables of all heads in one program."""
    return {
        f"{part.name}/{name}": theirs
        for part in PARTS
        for name, theirs in getattr(part, program).items()
    }


# Our names and shapes, of the encoder. V vocabulary, P positions, T types, E embedding width,
# H hidden, I intermediate, C classes, U units of one direction of the BiLSTM, G its four gates.
SHAPES: dict[str, dict[str, str]] = {
    "embeddings": {
        "encoder/embeddings/word_embeddings": "VE",
        "encoder/embeddings/position_embeddings": "PE",
        "encoder/embeddings/type_embeddings": "TE",
        "encoder/embeddings/layer_norm/gamma": "E",
        "encoder/embeddings/layer_norm/beta": "E",
    },
    "projection": {
        "encoder/embeddings/projection/kernel": "EH",
        "encoder/embeddings/projection/bias": "H",
    },
    "layers": _prefixed(
        "encoder/layer_{i}/",
        "",
        {
            "attention/query/kernel": "HH",
            "attention/query/bias": "H",
            "attention/key/kernel": "HH",
            "attention/key/bias": "H",
            "attention/value/kernel": "HH",
            "attention/value/bias": "H",
            "attention/output/kernel": "HH",
            "attention/output/bias": "H",
            "attention_layer_norm/gamma": "H",
            "attention_layer_norm/beta": "H",
            "intermediate/kernel": "HI",
            "intermediate/bias": "I",
            "output/kernel": "IH",
            "output/bias": "H",
            "output_layer_norm/gamma": "H",
            "output_layer_norm/beta": "H",
        },
    ),
    "pooler": {"encoder/pooler/kernel": "HH", "encoder/pooler/bias": "H"},
    "bilstm": {
        f"encoder/bilstm/{direction}_lstm/lstm_cell/{name}": letters
        for direction in ("forward", "backward")
        for name, letters in {"kernel": "HG", "recurrent_kernel": "UG", "bias": "G"}.items()
    },
}

# Hugging Face transformers, BertFor…; `bert.` may be missing. Every kernel is transposed
# (torch.nn.Linear holds [outputs, inputs]).
HUGGINGFACE: dict[str, str] = {
    **_prefixed(
        "encoder/",
        "bert.",
        {
            "embeddings/word_embeddings": "embeddings.word_embeddings.weight",
            "embeddings/position_embeddings": "embeddings.position_embeddings.weight",
            "embeddings/type_embeddings": "embeddings.token_type_embeddings.weight",
            "embeddings/layer_norm/gamma": "embeddings.LayerNorm.weight",
            "embeddings/layer_norm/beta": "embeddings.LayerNorm.bias",
            "pooler/kernel": "pooler.dense.weight",
            "pooler/bias": "pooler.dense.bias",
        },
    ),
    **_prefixed(
        "encoder/layer_{i}/",
        "bert.encoder.layer.{i}.",
        {
            "attention/query/kernel": "attention.self.query.weight",
            "attention/query/bias": "attention.self.query.bias",
            "attention/key/kernel": "attention.self.key.weight",
            "attention/key/bias": "attention.self.key.bias",
            "attention/value/kernel": "attention.self.value.weight",
            "attention/value/bias": "attention.self.value.bias",
            "attention/output/kernel": "attention.output.dense.weight",
            "attention/output/bias": "attention.output.dense.bias",
            "attention_layer_norm/gamma": "attention.output.LayerNorm.weight",
            "attention_layer_norm/beta": "attention.output.LayerNorm.bias",
            "intermediate/kernel": "intermediate.dense.weight",
            "intermediate/bias": "intermediate.dense.bias",
            "output/kernel": "output.dense.weight",
            "output/bias": "output.dense.bias",
            "output_layer_norm/gamma": "output.LayerNorm.weight",
            "output_layer_norm/beta": "output.LayerNorm.bias",
        },
    ),
    **_of_heads("huggingface"),
}
# Second names of the same array: they must hold the same values.
HUGGINGFACE_TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
# Not weights: 0, 1, 2, …, and zeros.
HUGGINGFACE_DROPPED = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")

# google-research/bert, TensorFlow 1. Its output layers hold [classes, H].
GOOGLE: dict[str, str] = {
    **_prefixed(
        "encoder/",
        "bert/",
        {
            "embeddings/word_embeddings": "embeddings/word_embeddings",
            "embeddings/position_embeddings": "embeddings/position_embeddings",
            "embeddings/type_embeddings": "embeddings/token_type_embeddings",
            "embeddings/layer_norm/gamma": "embeddings/LayerNorm/gamma",
            "embeddings/layer_norm/beta": "embeddings/LayerNorm/beta",
            "pooler/kernel": "pooler/dense/kernel",
            "pooler/bias": "pooler/dense/bias",
        },
    ),
    **_prefixed(
        "encoder/layer_{i}/",
        "bert/encoder/layer_{i}/",
        {
            "attention/query/kernel": "attention/self/query/kernel",
            "attention/query/bias": "attention/self/query/bias",
            "attention/key/kernel": "attention/self/key/kernel",
            "attention/key/bias": "attention/self/key/bias",
            "attention/value/kernel": "attention/self/value/kernel",
            "attention/value/bias": "attention/self/value/bias",
            "attention/output/kernel": "attention/output/dense/kernel",
            "attention/output/bias": "attention/output/dense/bias",
            "attention_layer_norm/gamma": "attention/output/LayerNorm/gamma",
            "attention_layer_norm/beta": "attention/output/LayerNorm/beta",
            "intermediate/kernel": "intermediate/dense/kernel",
            "intermediate/bias": "intermediate/dense/bias",
            "output/kernel": "output/dense/kernel",
            "output/bias": "output/dense/bias",
            "output_layer_norm/gamma": "output/LayerNorm/gamma",
            "output_layer_norm/beta": "output/LayerNorm/beta",
        },
    ),
    **_of_heads("google"),
}
GOOGLE_TRANSPOSED = tuple(
    f"{part.name}/{name}" for part in PARTS for name in part.google_transposed
)
# Adam's moments stand beside each variable; a variable's own name never ends so.
GOOGLE_DROPPED_SUFFIXES = ("/adam_m", "/adam_v", "/lamb_m", "/lamb_v")
GOOGLE_DROPPED = ("global_step",)

# Model Garden (tf-models-official): the names of the variables, which are the same in a
# BertEncoderV2, in the functional BertEncoder and in a TF Hub export, but for a scope before them.
# The attributes differ, and are what a written checkpoint needs: they are in MODEL_GARDEN_PATHS.
MODEL_GARDEN: dict[str, str] = {
    **_prefixed(
        "encoder/",
        "",
        {
            "embeddings/word_embeddings": "word_embeddings/embeddings",
            "embeddings/position_embeddings": "position_embedding/embeddings",
            "embeddings/type_embeddings": "type_embeddings/embeddings",
            "embeddings/layer_norm/gamma": "embeddings/layer_norm/gamma",
            "embeddings/layer_norm/beta": "embeddings/layer_norm/beta",
            "embeddings/projection/kernel": "embedding_projection/kernel",
            "embeddings/projection/bias": "embedding_projection/bias",
            "pooler/kernel": "pooler_transform/kernel",
            "pooler/bias": "pooler_transform/bias",
        },
    ),
    **_prefixed(
        "encoder/layer_{i}/",
        "transformer/layer_{i}/",
        {
            "attention/query/kernel": "self_attention/query/kernel",
            "attention/query/bias": "self_attention/query/bias",
            "attention/key/kernel": "self_attention/key/kernel",
            "attention/key/bias": "self_attention/key/bias",
            "attention/value/kernel": "self_attention/value/kernel",
            "attention/value/bias": "self_attention/value/bias",
            "attention/output/kernel": "self_attention/attention_output/kernel",
            "attention/output/bias": "self_attention/attention_output/bias",
            "attention_layer_norm/gamma": "self_attention_layer_norm/gamma",
            "attention_layer_norm/beta": "self_attention_layer_norm/beta",
            "intermediate/kernel": "intermediate/kernel",
            "intermediate/bias": "intermediate/bias",
            "output/kernel": "output/kernel",
            "output/bias": "output/bias",
            "output_layer_norm/gamma": "output_layer_norm/gamma",
            "output_layer_norm/beta": "output_layer_norm/beta",
        },
    ),
    **_of_heads("model_garden"),
}
MODEL_GARDEN_HEAD_POOLERS = {
    part.name: part.model_garden_pooler for part in PARTS if part.model_garden_pooler
}
# A token classifier and a span labeler share this name, so that nobody can tell which it was.
MODEL_GARDEN_DROPPED = ("predictions/transform/logits/kernel", "predictions/transform/logits/bias")

# Kernels with separate head axes: [H, N, D], biases [N, D], and [N, D, H] back.
MODEL_GARDEN_SPLIT = _prefixed(
    "encoder/layer_{i}/",
    "",
    {
        "attention/query/kernel": "HND",
        "attention/query/bias": "ND",
        "attention/key/kernel": "HND",
        "attention/key/bias": "ND",
        "attention/value/kernel": "HND",
        "attention/value/bias": "ND",
        "attention/output/kernel": "NDH",
    },
)

# Attributes of BertPretrainerV2 and BertEncoderV2, by which tf.train.Checkpoint finds them.
MODEL_GARDEN_PATHS: dict[str, str] = {
    **_prefixed(
        "encoder/",
        "encoder_network/",
        {
            "embeddings/word_embeddings": "_embedding_layer/embeddings",
            "embeddings/position_embeddings": "_position_embedding_layer/embeddings",
            "embeddings/type_embeddings": "_type_embedding_layer/embeddings",
            "embeddings/layer_norm/gamma": "_embedding_norm_layer/gamma",
            "embeddings/layer_norm/beta": "_embedding_norm_layer/beta",
            "embeddings/projection/kernel": "_embedding_projection/kernel",
            "embeddings/projection/bias": "_embedding_projection/bias",
            "pooler/kernel": "_pooler_layer/kernel",
            "pooler/bias": "_pooler_layer/bias",
        },
    ),
    **_prefixed(
        "encoder/layer_{i}/",
        "encoder_network/_transformer_layers/{i}/",
        {
            "attention/query/kernel": "_attention_layer/_query_dense/kernel",
            "attention/query/bias": "_attention_layer/_query_dense/bias",
            "attention/key/kernel": "_attention_layer/_key_dense/kernel",
            "attention/key/bias": "_attention_layer/_key_dense/bias",
            "attention/value/kernel": "_attention_layer/_value_dense/kernel",
            "attention/value/bias": "_attention_layer/_value_dense/bias",
            "attention/output/kernel": "_attention_layer/_output_dense/kernel",
            "attention/output/bias": "_attention_layer/_output_dense/bias",
            "attention_layer_norm/gamma": "_attention_layer_norm/gamma",
            "attention_layer_norm/beta": "_attention_layer_norm/beta",
            "intermediate/kernel": "_intermediate_dense/kernel",
            "intermediate/bias": "_intermediate_dense/bias",
            "output/kernel": "_output_dense/kernel",
            "output/bias": "_output_dense/bias",
            "output_layer_norm/gamma": "_output_layer_norm/gamma",
            "output_layer_norm/beta": "_output_layer_norm/beta",
        },
    ),
    **_of_heads("model_garden_paths"),
}
