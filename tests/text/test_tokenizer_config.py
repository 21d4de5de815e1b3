from __future__ import annotations

import json

import pytest

from official_bert.errors import InputError
from official_bert.text import BertTokenizer, Vocab, tokenizer_config
from official_bert.text.tokenizer_config import TokenizerConfig
from tests.public_data import TESTDATA, peer
from tests.text.conftest import SPECIAL


def folder_with(tmp_path, fields, tokens=(*SPECIAL, "the")):
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), "utf-8")
    content = fields if isinstance(fields, str) else json.dumps(fields)
    (tmp_path / "tokenizer_config.json").write_text(content, "utf-8")
    return tmp_path


def test_the_keys_of_hugging_face(tmp_path):
    fields = {
        "do_lower_case": False,
        "strip_accents": True,
        "tokenize_chinese_chars": False,
        "split_special_tokens": False,
        "model_max_length": 512,
        "unk_token": {"content": "<unk>", "lstrip": False, "__type": "AddedToken"},
        "pad_token": "[PAD]",
        "never_split": None,
        "do_basic_tokenize": True,
    }
    tokens = ["[PAD]", "<unk>", *SPECIAL[2:]]
    vocab, config = tokenizer_config.load(folder_with(tmp_path, fields, tokens))
    assert config == TokenizerConfig(
        lower_case=False,
        strip_accents=True,
        tokenize_chinese_chars=False,
        keep_special_tokens=True,
        model_max_length=512,
    )
    assert vocab.unk_id == 1


def test_what_is_not_said(tmp_path):
    fields = {"model_max_length": 1000000000000000019884624838656, "strip_accents": None}
    _, config = tokenizer_config.load(folder_with(tmp_path, fields))
    assert config == TokenizerConfig()  # lower case, as Hugging Face; special tokens are text


def test_added_tokens_of_hugging_face(tmp_path):
    fields = {
        "added_tokens_decoder": {
            "0": {"content": "[PAD]", "special": True},
            "7": {"content": "C++", "special": False},
            "6": {"content": "New York", "special": False},
        },
        "additional_special_tokens": ["<e1>", "New York"],
    }
    vocab, config = tokenizer_config.load(folder_with(tmp_path, fields))
    assert config.added_tokens == ("New York", "C++", "<e1>")
    assert vocab.tokens == (*SPECIAL, "the", "New York", "C++", "<e1>")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{", "tokenizer_config.json is not a JSON file"),
        ("[]", "must hold a JSON object, got list"),
        ({"do_lower_case": "yes"}, "do_lower_case must be bool, not 'yes'"),
        ({"model_max_length": 0}, "model_max_length must be a number from 1, not 0"),
        ({"unk_token": 7}, "unk_token must be a token, not 7"),
        ({"unk_token": "<unk>"}, "lacks <unk>"),
        ({"added_tokens_decoder": {"9": {"content": "x"}}}, "gives 'x' the id 9, .* has it as 6"),
        ({"added_tokens_decoder": {"x": {"content": "x"}}}, "ids must be numbers"),
        ({"added_tokens_decoder": {"6": {"content": " x"}}}, "added token ' x'"),
    ],
)
def test_wrong_fields_are_input_errors(tmp_path, fields, message):
    with pytest.raises(InputError, match=message):
        tokenizer_config.load(folder_with(tmp_path, fields))


def test_a_folder_without_the_file_says_what_is_missing(tmp_path):
    Vocab(SPECIAL).save(tmp_path / "vocab.txt")
    with pytest.raises(InputError, match=r"tokenizer_config\.json: cannot read .*do_lower_case"):
        BertTokenizer.from_folder(tmp_path)


def test_save_and_load_give_the_same_tokenizer(tmp_path):
    tokenizer = BertTokenizer(
        Vocab([*SPECIAL, "the", "ü"]),
        lower_case=True,
        strip_accents=False,
        keep_special_tokens=True,
        added_tokens=["C++", "the"],
        model_max_length=128,
    )
    tokenizer.save(tmp_path / "saved")
    again = BertTokenizer.from_folder(tmp_path / "saved")
    assert again.config() == tokenizer.config()
    assert again.config() == {
        "lower_case": True,
        "strip_accents": False,
        "tokenize_chinese_chars": True,
        "keep_special_tokens": True,
        "model_max_length": 128,
        "added_tokens": ("the", "C++"),
    }
    assert again.vocab == tokenizer.vocab
    again.save(tmp_path / "again")
    for name in ("vocab.txt", "tokenizer_config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "saved" / name).read_bytes()


def test_hugging_face_reads_what_is_saved(tmp_path):
    transformers = peer("transformers")
    vocab = Vocab.from_file(TESTDATA / "vocab.txt")
    ours = BertTokenizer(
        vocab, keep_special_tokens=True, added_tokens=["New York", "C++"], model_max_length=512
    )
    ours.save(tmp_path)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    assert len(theirs) == len(ours.vocab) == 348
    assert theirs.model_max_length == 512
    for text in ("The [MASK] of New York, new york", "unaffable C++ c++ Élan", "漢字 [SEP] 1990s"):
        ids = theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.tokenize(text).numpy().tolist() == ids
