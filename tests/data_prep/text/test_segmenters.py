"""Whole words of Chinese text."""

from __future__ import annotations

import numpy as np
import pytest

from data_prep.pretraining import tokenizing
from data_prep.text.corpus import Block
from data_prep.text.segmenters import make_segmenter
from official_bert.errors import InputError
from official_bert.text import Vocab


def test_unknown_segmenter():
    with pytest.raises(InputError, match="word_segmenter='spaces' is not one of"):
        make_segmenter("spaces")


def test_words_of_several_characters_hang_together():
    pytest.importorskip("jieba", reason="jieba is not installed: pip install .[chinese]")
    text = "我来到北京清华大学, playing 3.14\n\nplain\n"
    pieces = dict.fromkeys("我来到北京清华大学,3.14")
    vocab = Vocab(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, "14", "play", "##ing", "plain"]
    )
    tokenizer = tokenizing.BlockTokenizer(vocab, lower_case=True, segmenter=make_segmenter("jieba"))
    result = tokenizer(Block("x", 0, text.encode() + b"\xff\xe5\n", True, 0))
    words: list[str] = []
    for coded in result.tokens:
        token = vocab.tokens[coded // 2].removeprefix("##")
        if coded % 2:
            words[-1] += token
        else:
            words.append(token)
    # Numbers and punctuation are not joined, though jieba takes 3.14 for a word.
    assert words == ["我", "来到", "北京", "清华大学", ",", "playing", "3", ".", "14", "plain"]
    np.testing.assert_array_equal(result.lengths, [15, 1])
