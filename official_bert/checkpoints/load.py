"""`load_pretrained`: a model, its vocabulary and its tokenizer from any checkpoint."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib

import tf_keras
from absl import logging

from official_bert.checkpoints.convert import make_model
from official_bert.checkpoints.detect import find_source
from official_bert.checkpoints.heads import HEADS
from official_bert.checkpoints.resize import resize_positions, resize_vocab
from official_bert.checkpoints.tokenizer_files import make_tokenizer
from official_bert.checkpoints.variables import named_variables
from official_bert.config import BertConfig
from official_bert.models.encoder import BertEncoder
from official_bert.models.pretrainer import BertPretrainer
from official_bert.path import to_path
from official_bert.text.tokenizer import BertTokenizer
from official_bert.text.tokenizer_config import TokenizerConfig
from official_bert.text.vocab import Vocab


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """A loaded checkpoint.

    Attributes:
        path: where it was.
        format: "official_bert", "huggingface", "google_tf1", "model_garden" or "tf_hub".
        kind: a key of `heads.HEADS`: "encoder", "pretrainer", "classifier", …
        model: the whole model with its head.
        vocab: None where the checkpoint has none.
        labels: names of the classes in id order; empty where nobody says.
        tokenizer_config: None where there is no vocabulary.
        dropped: names of arrays that were left out on purpose, and why.
        new_variables: our names of variables that start from random values.
    """

    path: pathlib.Path
    format: str
    kind: str
    model: tf_keras.Model
    vocab: Vocab | None
    labels: tuple[str, ...]
    tokenizer_config: TokenizerConfig | None
    dropped: dict[str, str]
    new_variables: tuple[str, ...]

    @property
    def encoder(self) -> BertEncoder:
        """The encoder, which is the model itself or part of it."""
        return getattr(self.model, "encoder", self.model)

    @property
    def config(self) -> BertConfig:
        """Of the encoder."""
        return self.encoder.config

    @property
    def pretrainer(self) -> BertPretrainer | None:
        """The model with the pretraining heads; None where there is no masked-LM head."""
        return self.model if isinstance(self.model, BertPretrainer) else None

    @property
    def missing_heads(self) -> tuple[str, ...]:
        """Those of "masked_lm" and "next_sentence" that the checkpoint has not."""
        names = named_variables(self.model)
        return tuple(p.name for p in HEADS["pretrainer"].parts if not p.is_in(names))

    @functools.cached_property
    def tokenizer(self) -> BertTokenizer | None:
        """The tokenizer with the checkpoint's settings; None where there is no vocabulary."""
        if self.vocab is None or self.tokenizer_config is None:
            return None
        return make_tokenizer(self.vocab, self.tokenizer_config)


def load_pretrained(
    path: str | os.PathLike[str],
    *,
    new_heads: bool = False,
    add_bilstm: bool = False,
    vocab_file: str | os.PathLike[str] | None = None,
    max_position_embeddings: int | None = None,
) -> Pretrained:
    """Loads a checkpoint of any known format, which is found out by looking.

        bundle = load_pretrained("uncased_L-12_H-768_A-12")
        bundle.encoder, bundle.config, bundle.vocab, bundle.tokenizer, bundle.pretrainer

    Known are our model folders, google-research/bert (TensorFlow 1), the Model Garden, TF Hub
    encoders and Hugging Face folders. Every array is used and every variable filled, or it is an
    error with both lists.

    Args:
        path: a folder, or the prefix of a TensorFlow checkpoint.
        new_heads: a pooler, a BiLSTM or a head that the checkpoint lacks starts from random values.
        add_bilstm: the encoder gets a BiLSTM (`BertConfig.bilstm`) unless it has one; it is new, so
            this needs `new_heads`.
        vocab_file: another vocabulary: its new tokens get new rows (see `resize.resize_vocab`).
        max_position_embeddings: another number of positions (see `resize.resize_positions`).

    Raises:
        InputError: nothing known is there, or it does not fit.
    """
    source = find_source(to_path(path))
    if vocab_file is not None:
        resize_vocab(source, Vocab.from_file(vocab_file))
    if max_position_embeddings is not None:
        resize_positions(source, max_position_embeddings)
    if add_bilstm:
        source.config = source.config.replace(bilstm=True)
    model, new = make_model(source, new_heads=new_heads)
    logging.info("%s: %s, %s", path, source.format, source.kind)
    return Pretrained(
        path=to_path(path),
        format=source.format,
        kind=source.kind,
        model=model,
        vocab=source.vocab,
        labels=source.labels,
        tokenizer_config=source.tokenizer,
        dropped=source.dropped,
        new_variables=tuple(new),
    )
