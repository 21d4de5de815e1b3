"""Text files -> blocks of whole lines -> sentences and documents."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from data_prep.pretraining import tokenizing
from data_prep.text.corpus import Block, expand_inputs, read_blocks
from official_bert.errors import InputError
from official_bert.text import Vocab

VOCAB = Vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##c", "d", "."])


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizing.BlockTokenizer(VOCAB, lower_case=True)


def _block(text: bytes) -> Block:
    return Block("corpus.txt", 0, text, True, len(text))


def _documents(blocks, tokenizer) -> list[list[list[int]]]:
    """Documents of sentences of coded tokens."""
    tokenized = ((tokenizer(block), block.ends_file) for block in blocks)
    return [
        [sentence.tolist() for sentence in np.split(tokens, np.cumsum(lengths)[:-1])]
        for tokens, lengths in tokenizing.documents(tokenized)
    ]


A, B, BC, D = [10], [12], [12, 15], [16]  # 2 * id, + 1 for ##c


def test_lines_and_documents(tokenizer):
    text = b"a bc\n\nd\na\n\n\n  \t\nb\n"
    assert _documents([_block(text)], tokenizer) == [[A + BC], [D, A], [B]]


def test_what_ends_a_document(tokenizer):
    # An ideographic space is whitespace to Python; a zero width space is an invisible character,
    # and a line that holds nothing else is left out without ending the document.
    assert _documents([_block("a\n\u3000\nb\n".encode())], tokenizer) == [[A], [B]]
    assert _documents([_block("a\n\u200b\nb\n".encode())], tokenizer) == [[A, B]]
    assert _documents([_block(b"a\r\n\r\nb\r\n")], tokenizer) == [[A], [B]]
    assert _documents([_block(b"a\n\x00\nb")], tokenizer) == [[A, B]]
    assert _documents([_block(b"a\n\xff\nb")], tokenizer) == [[A, B]]


def test_counts(tokenizer):
    text = "a xyz\n\u200b\n".encode() + b"b\xff\xfe d\n\nd\n"
    result = tokenizer(_block(text))
    assert result.counts == {
        "sentences": 3,
        "tokens": 5,
        "unknown_tokens": 1,
        "lines_without_token": 1,
        "invalid_utf8_bytes": 2,
    }
    assert result.starts_document.tolist() == [False, False, True]
    assert not result.ends_document


def test_block_borders_change_nothing(tokenizer, tmp_path):
    rng = np.random.default_rng(0)
    lines = rng.choice(["a bc", "d", "", "\u200b", "b b b", "a"], 300)
    (tmp_path / "x.txt").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    (tmp_path / "y.txt").write_text("b\n")
    paths = [str(tmp_path / "x.txt"), str(tmp_path / "y.txt")]
    whole = _documents(read_blocks(paths), tokenizer)
    assert whole[-1] == [B]  # a file ends a document
    for size in (1, 7, 64):
        blocks = list(read_blocks(paths, size))
        assert len(blocks) > 5
        assert _documents(blocks, tokenizer) == whole
        assert b"".join(b.text for b in blocks) == "\n".join(lines).encode() + b"b\n"


def test_long_sentences_can_be_cut():
    tokenizer = tokenizing.BlockTokenizer(VOCAB, lower_case=True, max_sentence=3)
    result = tokenizer(_block(b"a\n\na b d a b d a\nb\n"))
    assert result.lengths.tolist() == [1, 3, 3, 1, 1]
    assert result.starts_document.tolist() == [False, True, False, False, False]


def test_gzip_and_a_byte_order_mark(tmp_path, tokenizer):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress("\ufeffa\n\nb\n".encode()))
    assert _documents(read_blocks([str(path)]), tokenizer) == [[A], [B]]
    path.write_bytes(gzip.compress(b"a b d a\n" * 1000)[:-20])
    with pytest.raises(InputError, match=r"x\.txt\.gz is not a whole gzip file"):
        list(read_blocks([str(path)]))
    path.write_bytes(b"plain")
    with pytest.raises(InputError, match="not a whole gzip file"):
        list(read_blocks([str(path)]))


def test_an_empty_file_is_one_empty_block(tmp_path, tokenizer):
    path = tmp_path / "empty.txt"
    path.touch()
    blocks = list(read_blocks([str(path)]))
    assert [(b.text, b.ends_file) for b in blocks] == [(b"", True)]
    assert _documents(blocks, tokenizer) == []


def test_expand_inputs(tmp_path):
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).touch()
    texts = [f"{tmp_path}/a.txt", f"{tmp_path}/b.txt"]
    assert expand_inputs(f"{tmp_path}/*.txt") == texts
    assert expand_inputs(f"{tmp_path}/b.txt, {tmp_path}/*.txt") == [texts[1], texts[0]]
    for pattern, message in [
        (f"{tmp_path}/z.txt", r"z\.txt does not exist"),
        (f"{tmp_path}/*.doc", "matches no file"),
        (str(tmp_path), "is a folder"),
        (",", "names no file"),
    ]:
        with pytest.raises(InputError, match=message):
            expand_inputs(pattern)
