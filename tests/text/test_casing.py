"""Whether text is lower-cased: one rule, by the files beside the vocabulary or by its tokens."""

from __future__ import annotations

import pytest

from official_bert.errors import InputError
from official_bert.text.tokenizer_config import load_beside
from tests.public_data import TESTDATA, public_data

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"]
UNCASED = [*SPECIALS, "the", "##s", "é", "<S>"]
CASED = [*SPECIALS, "the", "The", "##S"]
CASELESS = [*SPECIALS, "中", "文", "1", "."]


def _write(folder, tokens, config=None, name="vocab.txt"):
    (folder / name).write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    if config is not None:
        (folder / "tokenizer_config.json").write_text(config)
    return folder / name


# Tokens, tokenizer_config.json, what the user says, whether text is lower-cased.
RULE = {
    "uncased": (UNCASED, None, None, True),
    "uncased, said": (UNCASED, None, True, True),
    "cased": (CASED, None, None, False),
    "cased, said": (CASED, None, False, False),
    "without cases": (CASELESS, None, None, True),
    "without cases, said": (CASELESS, None, True, True),
    "without cases, the contrary": (CASELESS, None, False, False),
    "a file that says it": (CASED, '{"do_lower_case": true}', None, True),
    "a file and the user": (CASED, '{"do_lower_case": true}', True, True),
    "a file that says the contrary": (UNCASED, '{"do_lower_case": false}', None, False),
    "both say the contrary": (UNCASED, '{"do_lower_case": false}', False, False),
    "a file that does not say": (CASED, "{}", None, False),
    "the same, uncased": (UNCASED, '{"do_lower_case": null}', None, True),
}


@pytest.mark.parametrize("case", RULE)
def test_the_rule(tmp_path, case):
    tokens, config, said, expected = RULE[case]
    vocab, found = load_beside(_write(tmp_path, tokens, config), said)
    assert found.lower_case is expected
    assert list(vocab.tokens) == tokens


CONTRADICTIONS = {
    "uncased": (UNCASED, None, False, "--do_lower_case=false: .*vocab.txt has no token with an up"),
    "cased": (CASED, None, True, "--do_lower_case=true: .*vocab.txt has tokens with upper-case"),
    "a file": (CASED, '{"do_lower_case": false}', True, "=true: .*config.json has do_lower_case f"),
    "the contrary": (UNCASED, '{"do_lower_case": true}', False, "has do_lower_case true: leave"),
    "a file that does not say": (CASED, "{}", True, "has do_lower_case false"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_what_contradicts_is_refused(tmp_path, case):
    tokens, config, said, message = CONTRADICTIONS[case]
    with pytest.raises(InputError, match=message):
        load_beside(_write(tmp_path, tokens, config), said)


def test_a_file_beside_a_vocabulary_of_another_name_does_not_count(tmp_path):
    path = _write(tmp_path, CASED, '{"do_lower_case": true}', "cased.txt")
    assert load_beside(path)[1].lower_case is False


@pytest.mark.parametrize(("name", "lower_case"), [("vocab", True), ("cased_vocab", False)])
def test_vocabularies_of_a_few_hundred_tokens(name, lower_case):
    vocab, found = load_beside(TESTDATA / f"{name}.txt")
    assert found.lower_case is lower_case
    assert vocab.warnings == ()


@pytest.mark.parametrize(
    ("name", "lower_case"),
    [
        ("bert-base-uncased", True),
        ("bert-base-cased", False),
        ("bert-base-multilingual-cased", False),
        ("bert-base-chinese", True),
    ],
)
def test_published_vocabularies(tmp_path, name, lower_case):
    content = (public_data("vocab") / name / "vocab.txt").read_bytes()
    (tmp_path / "vocab.txt").write_bytes(content)
    assert load_beside(tmp_path / "vocab.txt")[1].lower_case is lower_case
