"""A small pretrainer with weights of a fixed seed, in memory and as a model folder."""

from __future__ import annotations

import pathlib

import tensorflow as tf

from official_bert.answering.base import AnswerOptions
from official_bert.checkpoints.load import Pretrained
from official_bert.config import BertConfig
from official_bert.models.pretrainer import BertPretrainer
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import TokenizerConfig

WORDS = ("the", "capital", "of", "france", "is", "paris", "##ian", ".", "w1", "w2", "w3", "w4")
TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)
MAX_POSITIONS = 24


def tiny_bundle(**config_changes: object) -> Pretrained:
    """Weights are wide, so that the answers are far from uniform."""
    config = BertConfig(
        vocab_size=len(TOKENS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=MAX_POSITIONS,
        hidden_dropout_prob=0.5,
    ).replace(**config_changes)
    model = BertPretrainer(config)
    generator = tf.random.Generator.from_seed(7)
    for variable in model.variables:
        shift = 1.0 if "gamma" in variable.name else 0.0
        variable.assign(shift + 0.5 * generator.normal(variable.shape))
    return Pretrained(
        path=pathlib.Path(),
        format="official_bert",
        kind="pretrainer",
        model=model,
        vocab=Vocab(TOKENS),
        labels=(),
        tokenizer_config=TokenizerConfig(),
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
