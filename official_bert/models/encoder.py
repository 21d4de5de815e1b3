"""The BERT encoder as a model (Devlin et al. 2019, section 3).

B batch, S sequence, H hidden, P positions, N packed sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tf_keras

from official_bert.config import BertConfig
from official_bert.layers.attention import attention_bias
from official_bert.layers.dense import Dense, build_child
from official_bert.layers.embeddings import Embeddings
from official_bert.layers.positions import gather_positions
from official_bert.layers.transformer import TransformerLayer
from official_bert.models.inputs import check_inputs, check_packing

ENCODER_INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
OPTIONAL_ENCODER_INPUTS = ("position_ids", "pack_ids")


class BertEncoder(tf_keras.Model):
    """Token ids -> hidden states.

        encoder = BertEncoder(BertConfig(num_hidden_layers=2))
        encoder(dict(input_word_ids=…, input_mask=…, input_type_ids=…))   # int32 [B, S] each
          -> dict(sequence_output [B, S, H], pooled_output [B, H],
                  encoder_outputs: list of L [B, S, H])

    Optional inputs, int32 [B, S]: `position_ids` (0, 1, 2, … by default) and `pack_ids` (which
    packed sequence a token belongs to, 0 for padding), which needs `position_ids`.

    Where the states of some tokens are all that is wanted, `encoder.states_at(inputs, positions)`
    runs all layers but the last, and that for these tokens alone, which saves five sixths of a
    layer for a classifier. `encoder(inputs, positions=…)`, int [B, P], has the same
    `states_at_positions` [B, P, H] beside the rest. There a graph has the last layer twice, for
    these tokens and for all, and runs what its outputs need; eagerly it runs once.

    The variables exist once the model is made. Their names are fixed and begin with the model's:
    `bert_encoder/layer_0/attention/query/kernel`. Checkpoints go by the attributes: `embeddings`,
    `transformer_layers`, `bilstm`, `pooler`.

    With `bilstm` in the config (section 5.1) `sequence_output` is what a BiLSTM over the last layer
    gives, H / 2 numbers from each direction; `encoder_outputs` stay those of the layers.

    The pooler reads the state of [CLS], at position 0. Where attention is causal, that state has
    seen [CLS] alone and is the same for all texts; the pooler then reads the last token that is no
    padding, which has seen all of them. It is how Radford et al. 2018 (section 3.2) classify with a
    left-to-right model; Devlin et al. do not say how theirs does (section 5.1). With a BiLSTM it is
    position 0 again, to which the backward direction has come from the end.

    Args:
        config: sizes and rates.
        name: name of the model.
    """

    def __init__(self, config: BertConfig, name: str = "bert_encoder", **kwargs: Any):
        super().__init__(name=name, **kwargs)
        self.config = config
        self.embeddings = Embeddings(
            vocab_size=config.vocab_size,
            embedding_size=config.embedding_width,
            hidden_size=config.hidden_size,
            max_positions=config.max_position_embeddings,
            type_vocab_size=config.type_vocab_size,
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            layer_norm_eps=config.layer_norm_eps,
            name="embeddings",
        )
        self.transformer_layers = [
            TransformerLayer(
                num_heads=config.num_attention_heads,
                intermediate_size=config.intermediate_size,
                activation=config.hidden_act,
                dropout=config.hidden_dropout_prob,
                attention_dropout=config.attention_probs_dropout_prob,
                initializer_range=config.initializer_range,
                layer_norm_eps=config.layer_norm_eps,
                name=f"layer_{index}",
            )
            for index in range(1 if config.share_layers else config.num_hidden_layers)
        ]
        self.bilstm = (
            tf_keras.layers.Bidirectional(
                # A name of its own: Keras would number it, and checkpoints go by names.
                tf_keras.layers.LSTM(config.hidden_size // 2, return_sequences=True, name="lstm"),
                name="bilstm",
            )
            if config.bilstm
            else None
        )
        self.pooler = (
            Dense(config.hidden_size, "tanh", config.initializer_range, name="pooler")
            if config.use_pooler
            else None
        )
        self.built = False
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Creates the variables; their shapes follow from the config alone."""
        if self.built:
            return
        with tf.name_scope(self.name):
            build_child(self.embeddings, [None, None])
            for layer in (*self.transformer_layers, *filter(None, [self.bilstm, self.pooler])):
                build_child(layer, tf.TensorShape([None, None, self.config.hidden_size]))
        self.built = True
        # What the model reads when it is saved before its first call.
        self._set_save_spec(
            {key: tf.TensorSpec([None, None], tf.int32, name=key) for key in ENCODER_INPUTS}
        )

    def call(
        self,
        inputs: Mapping[str, tf.Tensor],
        training: bool | None = None,
        positions: tf.Tensor | None = None,
    ) -> dict[str, Any]:
        inputs = self._checked(inputs)
        below, bias = self._below_last_layer(inputs, training)
        states = self.transformer_layers[-1](below[-1], bias, training=training)
        encoder_outputs = [*below[1:], states]
        if self.bilstm is not None:
            states = self.bilstm(states, mask=tf.not_equal(inputs["input_mask"], 0))
        outputs = {"sequence_output": states, "encoder_outputs": encoder_outputs}
        if self.pooler is not None:
            firsts = gather_positions(states, self.pooled_positions(inputs))
            outputs["pooled_output"] = self.pooler(firsts[:, 0])
        if positions is not None:
            outputs["states_at_positions"] = (
                gather_positions(states, positions)
                if self.bilstm is not None or tf.executing_eagerly()
                else self.transformer_layers[-1](below[-1], bias, positions, training=training)
            )
        return outputs

    def states_at(
        self,
        inputs: Mapping[str, tf.Tensor],
        positions: tf.Tensor,
        training: bool | None = None,
    ) -> tf.Tensor:
        """The last states of some tokens [B, P, H]; the last layer is computed for these alone.

        A BiLSTM on top needs all of them, and they are computed.

        Args:
            inputs: of the encoder.
            positions: int [B, P].
            training: whether there is dropout.

        Raises:
            InputError: not the encoder's inputs.
        """
        if self.bilstm is not None:
            return gather_positions(self(inputs, training=training)["sequence_output"], positions)
        with tf.name_scope(self.name):
            below, bias = self._below_last_layer(self._checked(inputs), training)
            return self.transformer_layers[-1](below[-1], bias, positions, training=training)

    def _below_last_layer(
        self, inputs: Mapping[str, tf.Tensor], training: bool | None
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """The embeddings and the states of all layers but the last, and the attention bias."""
        if "pack_ids" in inputs:
            check_packing(self.config, pooled=False)
        states = self.embeddings(
            inputs["input_word_ids"],
            inputs["input_type_ids"],
            inputs.get("position_ids"),
            training=training,
        )
        bias = attention_bias(
            inputs["input_mask"], inputs.get("pack_ids"), self.config.attention == "causal"
        )
        below = [states]
        for index in range(self.config.num_hidden_layers - 1):
            layer = self.transformer_layers[0 if self.config.share_layers else index]
            below.append(layer(below[-1], bias, training=training))
        return below, bias

    def pooled_positions(
        self, inputs: Mapping[str, tf.Tensor], cls_positions: tf.Tensor | None = None
    ) -> tf.Tensor:
        """Where the tokens stand that the pooler reads: int32 [B, 1]; packed rows: [B, N].

        Args:
            inputs: of the encoder.
            cls_positions: int [B, N], where the packed sequences of each row start.

        Raises:
            InputError: not the encoder's inputs; or packed sequences of a causal encoder.
        """
        if cls_positions is not None:
            check_packing(self.config, pooled=True)
            return tf.cast(cls_positions, tf.int32)
        mask = self._checked(inputs)["input_mask"]
        if self.config.first_sees_all:
            return tf.zeros_like(mask[:, :1], tf.int32)
        of_tokens = tf.range(tf.shape(mask)[1]) * tf.cast(tf.not_equal(mask, 0), tf.int32)
        return tf.reduce_max(of_tokens, axis=1, keepdims=True)

    def _checked(self, inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return check_inputs(
            inputs, ENCODER_INPUTS, OPTIONAL_ENCODER_INPUTS, self.config.max_position_embeddings
        )

    def pooled(
        self,
        inputs: Mapping[str, tf.Tensor],
        cls_positions: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        """The pooled output of each row, or of each packed sequence, and nothing else.

        Args:
            inputs: of the encoder.
            cls_positions: int [B, N], where the packed sequences of each row start.
            training: whether there is dropout.

        Returns:
            [B, H], or [B, N, H] with `cls_positions`.

        Raises:
            InputError: see `pooled_positions`.
        """
        assert self.pooler is not None
        positions = self.pooled_positions(inputs, cls_positions)
        pooled = self.pooler(self.states_at(inputs, positions, training))
        return pooled[:, 0] if cls_positions is None else pooled

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> BertEncoder:
        return cls(**{**config, "config": BertConfig.from_dict(config["config"])})
