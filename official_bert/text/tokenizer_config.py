"""tokenizer_config.json: a tokenizer's settings under the keys that Hugging Face gives them."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any

from official_bert.atomic import atomic_file
from official_bert.errors import InputError, shown
from official_bert.json_file import read_json
from official_bert.model_folder import TOKENIZER_CONFIG_NAME, VOCAB_NAME
from official_bert.path import to_path
from official_bert.text.vocab import SPECIAL_TOKENS, Vocab

# Hugging Face writes int(1e30) for "no limit".
_NO_LIMIT = 10**9
# Letters of a token, added ones included.
_MAX_TOKEN = 1000
# [CLS], [unused3], and the <S> of the Chinese vocabulary, which is uncased.
_BRACKETED = re.compile(r"\[.*\]|<.*>")


@dataclasses.dataclass(frozen=True)
class TokenizerConfig:
    """The settings of a BertTokenizer.

    Attributes:
      lower_case: lower-case the text, as for an uncased vocabulary (do_lower_case).
      strip_accents: drop the accents; None: just where lower_case is true.
      tokenize_chinese_chars: make each CJK character a word of its own.
      keep_special_tokens: match the special, [unusedN] and added tokens in the text before anything
        else and keep them whole; the contrary of Hugging Face's split_special_tokens.
      model_max_length: how many tokens the model takes; None: not known.
      added_tokens: what a user added to the vocabulary.
    """

    lower_case: bool = True
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    keep_special_tokens: bool = False
    model_max_length: int | None = None
    added_tokens: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """The settings by name, as BertTokenizer takes them."""
        return dataclasses.asdict(self)


def load(
    folder: str | os.PathLike[str], tokens: Sequence[str] | None = None
) -> tuple[Vocab, TokenizerConfig]:
    """Reads vocab.txt and tokenizer_config.json of `folder`, ours or Hugging Face's.

    Where do_lower_case is not said, the vocabulary tells, see `is_cased`. Added tokens whose ids
    come after vocab.txt, as Hugging Face stores them, are added to the vocabulary.

    Args:
      folder: with both files.
      tokens: the vocabulary in id order, where vocab.txt is not to be read.

    Raises:
      InputError: a file is missing or not what it should be; an id of an added token does not agree
        with the vocabulary.
    """
    path = to_path(folder) / TOKENIZER_CONFIG_NAME
    fields = _read(path)
    config = TokenizerConfig(
        strip_accents=_typed(path, fields, "strip_accents", bool, None),
        tokenize_chinese_chars=_typed(path, fields, "tokenize_chinese_chars", bool, True),
        # Absent: plain text stays plain, as in google-research/bert.
        keep_special_tokens=not _typed(path, fields, "split_special_tokens", bool, True),
        model_max_length=_max_length(path, fields),
    )
    special_tokens = {
        role: _content(path, role, fields[role])
        for role in SPECIAL_TOKENS
        if fields.get(role) is not None
    }
    if tokens is None:
        vocab = Vocab.from_file(to_path(folder) / VOCAB_NAME, special_tokens)
    else:
        vocab = Vocab(tokens, special_tokens, name=str(folder))
    config = dataclasses.replace(
        config, lower_case=_typed(path, fields, "do_lower_case", bool, not is_cased(vocab))
    )
    return _with_added_tokens(path, fields, vocab, config)


def load_beside(
    vocab_path: str | os.PathLike[str], do_lower_case: bool | None = None
) -> tuple[Vocab, TokenizerConfig]:
    """Reads a vocabulary and the tokenizer's settings that belong to it.

    Whether text is lower-cased is what tokenizer_config.json beside a vocab.txt says. Where there
    is none, as in the folders of google-research/bert, the vocabulary tells: one with upper-case
    letters is cased. `load_pretrained` has the same rule.

    Args:
      vocab_path: the vocabulary; a tokenizer_config.json beside it counts if this is a vocab.txt.
      do_lower_case: what the user says; None: nothing.

    Raises:
      InputError: a file is missing or not what it should be; `do_lower_case` is not what the rule
        finds, so that words would become [UNK] or tokens of another case.
    """
    path = to_path(vocab_path)
    beside = path.parent / TOKENIZER_CONFIG_NAME
    if path.name == VOCAB_NAME and beside.exists():
        vocab, config = load(path.parent)
        if do_lower_case not in (None, config.lower_case):
            raise InputError(
                f"--do_lower_case={_flag(do_lower_case)}: {beside} has do_lower_case "
                f"{_flag(config.lower_case)}: leave the flag out, or correct the file"
            )
        return vocab, config
    vocab = Vocab.from_file(path)
    cased = is_cased(vocab)
    if do_lower_case and cased:
        raise InputError(
            f"--do_lower_case=true: {path} has tokens with upper-case letters, it is cased: leave "
            f'the flag out, or to insist write {{"do_lower_case": true}} into {beside}'
        )
    if do_lower_case is False and not cased and _has_lower_case(vocab):
        raise InputError(
            f"--do_lower_case=false: {path} has no token with an upper-case letter, so each word "
            "with one would become [UNK]: leave the flag out, or to insist write "
            f'{{"do_lower_case": false}} into {beside}'
        )
    return vocab, TokenizerConfig(lower_case=not cased if do_lower_case is None else do_lower_case)


def is_cased(vocab: Vocab) -> bool:
    """Whether a token has an upper-case letter; an uncased vocabulary cannot."""
    return any(token != token.lower() and not _BRACKETED.fullmatch(token) for token in vocab.tokens)


def save(folder: str | os.PathLike[str], vocab: Vocab, config: TokenizerConfig) -> None:
    """Writes vocab.txt and tokenizer_config.json into `folder`."""
    path = to_path(folder)
    path.mkdir(parents=True, exist_ok=True)
    vocab.save(path / VOCAB_NAME)
    with atomic_file(path / TOKENIZER_CONFIG_NAME) as file:
        json.dump(to_json(vocab, config), file, indent=2, ensure_ascii=False)
        file.write("\n")


def to_json(vocab: Vocab, config: TokenizerConfig) -> dict[str, Any]:
    """The fields of tokenizer_config.json."""
    kept = [*vocab.special_tokens.values(), *config.added_tokens]
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": config.lower_case,
        "strip_accents": config.strip_accents,
        "tokenize_chinese_chars": config.tokenize_chinese_chars,
        "split_special_tokens": not config.keep_special_tokens,
        "model_max_length": config.model_max_length,
        **vocab.special_tokens,
        "added_tokens_decoder": {
            str(id_): {
                "content": token,
                "lstrip": False,
                "normalized": False,
                "rstrip": False,
                "single_word": False,
                "special": token not in config.added_tokens,
            }
            for id_, token in sorted((vocab.id_of(token), token) for token in dict.fromkeys(kept))
        },
    }


def _read(path: pathlib.Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(
            f"{path}: cannot read it: no such file; vocab.txt alone does not say whether the "
            'text is lower-cased: write {"do_lower_case": true} or false into it'
        )
    return read_json(path)


def _has_lower_case(vocab: Vocab) -> bool:
    """False for a vocabulary of a script without cases."""
    return any(token != token.upper() and not _BRACKETED.fullmatch(token) for token in vocab.tokens)


def _flag(value: bool | None) -> str:
    return str(value).lower()


def _typed(path: pathlib.Path, fields: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise InputError(f"{path}: {name} must be {kind.__name__}, not {shown(value)}")
    return value


def _max_length(path: pathlib.Path, fields: dict[str, Any]) -> int | None:
    value = fields.get("model_max_length")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 1:
        raise InputError(f"{path}: model_max_length must be a number from 1, not {shown(value)}")
    return None if value > _NO_LIMIT else int(value)


def _content(path: pathlib.Path, name: str, value: Any) -> str:
    """A token, which Hugging Face writes as a string or as an object with flags."""
    if isinstance(value, dict):
        value = value.get("content")
    if not isinstance(value, str) or len(value) > _MAX_TOKEN:
        raise InputError(f"{path}: {name} must be a token, not {shown(value)}")
    return value


def _with_added_tokens(
    path: pathlib.Path, fields: dict[str, Any], vocab: Vocab, config: TokenizerConfig
) -> tuple[Vocab, TokenizerConfig]:
    decoder = _typed(path, fields, "added_tokens_decoder", dict, {})
    special = set(vocab.special_tokens.values())
    try:
        ids = {id_: int(id_) for id_ in decoder}
    except ValueError as error:
        raise InputError(f"{path}: added_tokens_decoder: ids must be numbers: {error}") from error
    by_id = {ids[id_]: _content(path, f"token {id_}", v) for id_, v in decoder.items()}
    extra = _typed(path, fields, "additional_special_tokens", list, [])
    contents = [_content(path, "additional_special_tokens", value) for value in extra]
    added = [by_id[id_] for id_ in sorted(by_id)] + contents
    added = [token for token in dict.fromkeys(added) if token not in special]
    vocab = vocab.with_added_tokens(added)
    for id_, token in by_id.items():
        if vocab.id_of(token) != id_:
            raise InputError(
                f"{path}: added_tokens_decoder gives {token!r} the id {id_}, the vocabulary has it "
                f"as {vocab.id_of(token)}: the two files do not belong together"
            )
    return vocab, dataclasses.replace(config, added_tokens=tuple(added))
