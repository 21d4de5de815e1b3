import json

import pytest

from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.errors import InputError
from official_bert.text import Vocab
from official_bert.text.tokenizer_config import is_cased
from tests.public_data import public_data

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def fast(model="WordPiece", **normalizer):
    return {
        "normalizer": {"type": "BertNormalizer", **normalizer},
        "model": {"type": model, "vocab": {token: i for i, token in enumerate([*SPECIAL, "a"])}},
    }


@pytest.mark.parametrize(
    ("tokens", "settings", "tokenizer_json", "lower_case"),
    [
        # The vocabulary alone.
        (["paris", "##s"], None, None, True),
        (["Paris", "##s"], None, None, False),
        # Words in brackets do not count: the Chinese vocabulary, which is uncased, has them.
        (["<S>", "[X]", "paris"], None, None, True),
        # What the files say goes before.
        (["Paris"], {"do_lower_case": True}, None, True),
        (["paris"], {"do_lower_case": False}, fast(lowercase=True), False),
        (["Paris"], {}, fast(lowercase=True), True),
        (["Paris"], {}, None, False),
    ],
)
def test_lower_case(tokens, settings, tokenizer_json, lower_case, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL, *tokens]) + "\n")
    for name, content in (("tokenizer_config", settings), ("tokenizer", tokenizer_json)):
        if content is not None:
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
    vocab, config = find_tokenizer(tmp_path)
    assert vocab.tokens == (*SPECIAL, *tokens)
    assert config.lower_case is lower_case


def test_everything_from_tokenizer_json(tmp_path):
    content = fast(lowercase=True, strip_accents=False, handle_chinese_chars=False)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    vocab, config = find_tokenizer(tmp_path)
    assert vocab.tokens == (*SPECIAL, "a")
    assert (config.lower_case, config.strip_accents, config.tokenize_chinese_chars) == (
        True,
        False,
        False,
    )


def test_another_kind_of_tokenizer(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(fast(model="BPE")))
    with pytest.raises(InputError, match="tokenizer.json is a BPE tokenizer: BERT's is WordPiece"):
        find_tokenizer(tmp_path)


def test_no_vocabulary(tmp_path):
    assert find_tokenizer(tmp_path) == (None, None)


@pytest.mark.parametrize(
    ("name", "cased"),
    [
        ("bert-base-uncased", False),
        ("bert-base-cased", True),
        ("bert-base-chinese", False),
        ("bert-base-multilingual-cased", True),
    ],
)
def test_the_official_vocabularies(name, cased):
    assert is_cased(Vocab.from_file(public_data(f"vocab/{name}/vocab.txt"))) is cased
