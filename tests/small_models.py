"""Small models for all tests: configs, inputs, weights of a fixed seed, settings of small runs.

`TINY` is for tests of layers and models alone, `tiny_config` for those that have a vocabulary.
"""

from __future__ import annotations

import pathlib

import numpy as np
import tensorflow as tf
import tf_keras

from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.inference.base import AnswerOptions
from official_bert.models.pretrainer import BertPretrainer
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import TokenizerConfig

WORDS = ("the", "capital", "of", "france", "is", "paris", "##ian", ".", "w1", "w2", "w3", "w4")
TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
MAX_POSITIONS = 24
TINY = BertConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=24,
    initializer_range=0.3,
)
# Overrides of a config, for a run that takes seconds.
SMALL_ENCODER = (
    "model.encoder.hidden_size=16",
    "model.encoder.num_hidden_layers=2",
    "model.encoder.num_attention_heads=2",
    "model.encoder.intermediate_size=32",
    "model.encoder.max_position_embeddings=16",
)


def inputs(*lengths: int, width: int | None = None, seed: int = 0) -> dict[str, tf.Tensor]:
    """Random ids in rows of these lengths, padded to `width` (the longest by default)."""
    rng = np.random.default_rng(seed)
    width = width or max(lengths)
    mask = (np.arange(width) < np.array(lengths)[:, None]).astype(np.int32)
    return {
        "input_word_ids": tf.constant(rng.integers(1, 50, mask.shape) * mask, tf.int32),
        "input_mask": tf.constant(mask),
        "input_type_ids": tf.constant(rng.integers(0, 2, mask.shape) * mask, tf.int32),
    }


def tiny_bundle(**config_changes: object) -> Pretrained:
    """A pretrainer; half of everything is dropped while it trains."""
    config = tiny_config(hidden_dropout_prob=0.5, **config_changes)
    return bundle_of("pretrainer", BertPretrainer(config))


def tiny_config(**changes: object) -> BertConfig:
    """Two layers of 16 for `TOKENS`."""
    return BertConfig(
        vocab_size=len(TOKENS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=MAX_POSITIONS,
    ).replace(**changes)


def bundle_of(
    kind: str,
    model: tf_keras.Model,
    *,
    labels: tuple[str, ...] = (),
    tokens: tuple[str, ...] = TOKENS,
    tokenizer_config: TokenizerConfig | None = None,
    seed: int = 7,
) -> Pretrained:
    """A model as if loaded. Its weights are wide, so that the answers are far from uniform."""
    generator = tf.random.Generator.from_seed(seed)
    for variable in model.variables:
        shift = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(shift + 0.5 * generator.normal(variable.shape))
    return Pretrained(
        path=pathlib.Path(),
        format="official_bert",
        kind=kind,
        model=model,
        vocab=Vocab(tokens),
        labels=labels,
        tokenizer_config=tokenizer_config or TokenizerConfig(),
        dropped={},
        new_variables=(),
    )


def options(**changes: object) -> AnswerOptions:
    return AnswerOptions(**{"max_seq_length": MAX_POSITIONS, "candidates": 3, **changes})  # type: ignore[arg-type]


def write_model_folder(folder: pathlib.Path, bundle: Pretrained) -> pathlib.Path:
    """The model folder that training would leave."""
    (folder / "best").mkdir(parents=True)
    bundle.tokenizer.save(folder)
    (folder / "bert_config.json").write_text(bundle.config.to_json())
    (folder / "config.yaml").write_text("task: pretraining\n")
    (folder / "eval_results.json").write_text('{"masked_lm_accuracy": 0.5}\n')
    tf.train.Checkpoint(model=bundle.model).write(str(folder / "best" / "ckpt"))
    return folder
