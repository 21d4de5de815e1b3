"""The vocabulary and the tokenizer's settings that lie beside a checkpoint, whoever wrote it."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import tokenizers

from official_bert.atomic import atomic_file
from official_bert.errors import InputError, shown
from official_bert.json_file import read_json
from official_bert.model_folder import TOKENIZER_CONFIG_NAME, VOCAB_NAME
from official_bert.text import tokenizer_config
from official_bert.text.tokenizer import BertTokenizer
from official_bert.text.tokenizer_config import TokenizerConfig, is_cased
from official_bert.text.vocab import Vocab

FAST_NAME = "tokenizer.json"
# That of LaBSE, with 500,000 tokens, has 10 MB.
_MAX_FAST_BYTES = 32 << 20


def find_tokenizer(folder: pathlib.Path) -> tuple[Vocab | None, TokenizerConfig | None]:
    """Reads vocab.txt, tokenizer_config.json and tokenizer.json, as far as they are there.

    Whether text is lower-cased is what tokenizer_config.json or else tokenizer.json says. Where
    neither does (google-research/bert has no such file), the vocabulary tells: one with upper-case
    letters is cased. The name of the folder is never asked.

    Returns:
        None, None where the folder has no vocabulary.

    Raises:
        InputError: one of the files is not what it should be.
    """
    fast_path = folder / FAST_NAME
    fast = read_json(fast_path, limit=_MAX_FAST_BYTES) if fast_path.exists() else {}
    normalizer = _bert_normalizer(fast_path, fast.get("normalizer"))
    settings_path = folder / TOKENIZER_CONFIG_NAME
    vocab_path = folder / VOCAB_NAME
    if not vocab_path.exists() and not fast:
        return None, None
    tokens = None if vocab_path.exists() else _fast_tokens(fast_path, fast)
    config = TokenizerConfig()
    if settings_path.exists():
        vocab, config = tokenizer_config.load(folder, tokens)
    elif tokens is None:
        vocab = Vocab.from_file(vocab_path)
    else:
        vocab = Vocab(tokens, name=str(fast_path))
    said = read_json(settings_path) if settings_path.exists() else {}
    changes: dict[str, Any] = {}
    if said.get("do_lower_case") is None:
        changes["lower_case"] = normalizer.get("lowercase", not is_cased(vocab))
    if said.get("strip_accents") is None and "strip_accents" in normalizer:
        changes["strip_accents"] = normalizer["strip_accents"]
    if said.get("tokenize_chinese_chars") is None and "handle_chinese_chars" in normalizer:
        changes["tokenize_chinese_chars"] = normalizer["handle_chinese_chars"]
    return vocab, dataclasses.replace(config, **changes)


def make_tokenizer(vocab: Vocab, config: TokenizerConfig) -> BertTokenizer:
    """The tokenizer with these settings."""
    return BertTokenizer(vocab, **dataclasses.asdict(config))


def write_fast_tokenizer(folder: pathlib.Path, tokenizer: BertTokenizer) -> None:
    """Writes tokenizer.json, and tokenizer_config.json as Hugging Face's own programs want it."""
    config, special = tokenizer.tokenizer_config, tokenizer.vocab.special_tokens
    fast = tokenizers.BertWordPieceTokenizer(
        {token: id_ for id_, token in enumerate(tokenizer.vocab.tokens)},
        unk_token=special["unk_token"],
        sep_token=special["sep_token"],
        cls_token=special["cls_token"],
        pad_token=special["pad_token"],
        mask_token=special["mask_token"],
        handle_chinese_chars=config.tokenize_chinese_chars,
        strip_accents=config.strip_accents,
        lowercase=config.lower_case,
    )
    fast.add_special_tokens([*special.values(), *config.added_tokens])
    fast.save(str(folder / FAST_NAME))
    fields = tokenizer_config.to_json(tokenizer.vocab, config)
    if not config.keep_special_tokens:
        # Here that is the default for text; there everybody expects "[MASK]" to be the mask, and
        # we read a file without the key as we write it.
        del fields["split_special_tokens"]
    with atomic_file(folder / TOKENIZER_CONFIG_NAME) as file:
        json.dump(fields, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _bert_normalizer(path: pathlib.Path, normalizer: Any) -> dict[str, Any]:
    """The settings of the BertNormalizer in a tokenizer.json; empty without one."""
    if not isinstance(normalizer, dict) or normalizer.get("type") != "BertNormalizer":
        return {}
    settings = {key: value for key, value in normalizer.items() if value is not None}
    for key in ("lowercase", "strip_accents", "handle_chinese_chars"):
        if not isinstance(settings.get(key, True), bool):
            raise InputError(
                f"{path}: {key} of the normalizer must be true or false, got {shown(settings[key])}"
            )
    return settings


def _fast_tokens(path: pathlib.Path, fast: dict[str, Any]) -> list[str]:
    """The tokens of a tokenizer.json in id order."""
    model = fast.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(model, dict) or kind != "WordPiece":
        raise InputError(
            f"{path} is a {kind if isinstance(kind, str) else shown(kind)} tokenizer: BERT's is "
            "WordPiece"
        )
    ids = model.get("vocab")
    if not isinstance(ids, dict) or not all(type(id_) is int for id_ in ids.values()):
        raise InputError(f"{path}: the vocabulary must map tokens to ids, got {shown(ids)}")
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        raise InputError(f"{path}: the ids of the vocabulary have gaps, or stand twice")
    return tokens
