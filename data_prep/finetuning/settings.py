"""What every data set for fine-tuning is told."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from official_bert.text.tokenizer import BertTokenizer
from official_bert.text.vocab import Vocab


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one run of `create_finetuning_data`.

    Attributes:
        task: the data set, as `--task` names it.
        data_dir: the folder with the published files; None where single files are given.
        files: split -> file, for those that were given one by one.
        tokenizer: cuts the text.
        vocab: of the tokenizer.
        max_seq_length: S, the longest record in tokens.
        seed: of every random choice.
        flags: the flags of single tasks, by name.
    """

    task: str
    data_dir: pathlib.Path | None
    files: Mapping[str, pathlib.Path]
    tokenizer: BertTokenizer
    vocab: Vocab
    max_seq_length: int
    seed: int
    flags: Mapping[str, Any]
