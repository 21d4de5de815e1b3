"""Strings to encoder inputs as a TF Hub module, for programs written for the published ones.

B batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from official_bert.text import BertTokenizer, Vocab
from official_bert.text.segments import join_segments, truncate_segments

# A restored function can do no more than it was traced for; the published modules take two.
MOST_SEGMENTS = 4
_STRINGS = (tf.TensorSpec([None], tf.string, name="sentences"),)


def make_hub_preprocessor(
    tokenizer: BertTokenizer, seq_length: int
) -> tuple[tf.train.Checkpoint, dict[str, Any]]:
    """What `hub.load` gives back.

        preprocessor(["a sentence", …])                  # the three inputs, int32 [B, seq_length]
        tokens = preprocessor.tokenize(["a sentence"])   # int32 [B, (words), (pieces)]
        preprocessor.tokenize_with_offsets([…])          # tokens, starts, limits (bytes, int64)
        preprocessor.bert_pack_inputs([tokens, …], seq_length=64)
        preprocessor.tokenize.get_special_tokens_dict()  # padding_id, mask_id, vocab_size, …

    Args:
        tokenizer: the model's.
        seq_length: of what the call gives, and of `bert_pack_inputs` by default.

    Returns:
        The module and its signatures.
    """
    vocab = tokenizer.vocab
    starts_word = tf.constant([not token.startswith("##") for token in vocab.tokens])

    def by_words(sentences: tf.Tensor) -> list[tf.RaggedTensor]:
        ids, starts, ends = tokenizer.tokenize_with_offsets(sentences)
        words = words_of_pieces(ids, starts_word)
        offsets = [tf.cast(ragged.values, tf.int64) for ragged in (starts, ends)]
        return [words, *(words.with_flat_values(values) for values in offsets)]

    def one_sentence(sentences: tf.Tensor) -> dict[str, tf.Tensor]:
        return pack([tokenizer.tokenize(sentences)], vocab, seq_length)

    preprocessor = _module(one_sentence)
    preprocessor.tokenize = _module(
        lambda sentences: words_of_pieces(tokenizer.tokenize(sentences), starts_word)
    )
    preprocessor.tokenize_with_offsets = _module(by_words)
    special_tokens = _special_tokens(vocab)
    for tokenize in (preprocessor.tokenize, preprocessor.tokenize_with_offsets):
        tokenize.get_special_tokens_dict = special_tokens
    preprocessor.bert_pack_inputs = _packer(vocab, seq_length)
    preprocessor.vocab_file = tokenizer.vocab_asset
    return preprocessor, {"serving_default": preprocessor.__call__.get_concrete_function()}


def words_of_pieces(ids: tf.RaggedTensor, starts_word: tf.Tensor) -> tf.RaggedTensor:
    """Pieces -> the pieces of each word: the -> [the], ##s belongs to the word before it.

    Args:
        ids: int32 [B, (tokens)].
        starts_word: bool [V], whether a piece is the first of its word.

    Returns:
        int32 [B, (words), (pieces)].
    """
    is_start = tf.gather(starts_word, ids.values)  # [tokens]
    starts = tf.where(is_start)[:, 0]
    count = tf.size(ids.values, tf.int64)
    words = tf.RaggedTensor.from_row_splits(
        ids.values, tf.concat([starts, [count]], axis=0), validate=False
    )
    words_in_row = tf.reduce_sum(ids.with_values(tf.cast(is_start, tf.int64)), axis=1)  # [B]
    return tf.RaggedTensor.from_row_lengths(words, words_in_row, validate=False)


def pack(
    segments: list[tf.RaggedTensor], vocab: Vocab, seq_length: int | tf.Tensor
) -> dict[str, tf.Tensor]:
    """[CLS] A [SEP] B [SEP] in exactly `seq_length` tokens.

    Args:
        segments: int32 [B, (tokens)] each.
        vocab: for the special tokens.
        seq_length: int or int32 scalar.

    Returns:
        input_word_ids, input_mask and input_type_ids, int32 [B, seq_length] each.
    """
    cut = truncate_segments(segments, seq_length - len(segments) - 1)
    joined = join_segments(cut, vocab, max_seq_length=2**30)  # as long as the longest row
    fill = {"input_word_ids": vocab.pad_id}
    packed = {}
    for name, values in joined.items():
        missing = seq_length - tf.shape(values)[1]
        padded = tf.pad(values, [[0, 0], [0, missing]], constant_values=fill.get(name, 0))
        packed[name] = tf.ensure_shape(
            padded, [None, seq_length if isinstance(seq_length, int) else None]
        )
    return packed


def _module(function: Callable[[tf.Tensor], Any]) -> tf.train.Checkpoint:
    """A callable on sentences, string [B]."""
    module = tf.train.Checkpoint()

    @tf.function(input_signature=_STRINGS, autograph=False)
    def call(sentences: tf.Tensor) -> Any:
        return function(sentences)

    module.__call__ = call  # type: ignore[method-assign]
    return module


def _special_tokens(vocab: Vocab) -> tf.train.Checkpoint:
    values = {
        "vocab_size": len(vocab),
        "start_of_sequence_id": vocab.cls_id,
        "end_of_segment_id": vocab.sep_id,
        "padding_id": vocab.pad_id,
        "mask_id": vocab.mask_id,
    }
    module = tf.train.Checkpoint()
    module.__call__ = tf.function(  # type: ignore[method-assign]
        lambda: {name: tf.constant(value) for name, value in values.items()}, input_signature=[]
    )
    return module


def _packer(vocab: Vocab, default_seq_length: int) -> tf.train.Checkpoint:
    module = tf.train.Checkpoint()

    @tf.function(autograph=False)
    def pack_tokens(segments: list[tf.RaggedTensor], seq_length: tf.Tensor) -> dict[str, tf.Tensor]:
        return pack(segments, vocab, seq_length)

    @tf.function(autograph=False)
    def call(
        inputs: list[tf.RaggedTensor], seq_length: int | tf.Tensor = default_seq_length
    ) -> dict[str, tf.Tensor]:
        """Takes segments [B, (tokens)] or [B, (words), (pieces)]."""
        segments = [s.merge_dims(1, -1) if s.shape.rank == 3 else s for s in inputs]
        return pack_tokens(segments, tf.convert_to_tensor(seq_length, tf.int32))

    module.__call__ = call  # type: ignore[method-assign]
    for rank in (2, 3):
        for count in range(1, MOST_SEGMENTS + 1):
            call.get_concrete_function(
                [tf.RaggedTensorSpec([None] * rank, tf.int32) for _ in range(count)],
                seq_length=tf.TensorSpec([], tf.int32),
            )
    return module
