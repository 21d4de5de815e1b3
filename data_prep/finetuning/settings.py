"""The settings of one run of `create_finetuning_data`."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

from official_bert.text.tokenizer import BertTokenizer
from official_bert.text.vocab import Vocab


@dataclasses.dataclass(frozen=True)
class DataSetFlags:
    """The flags that only some data sets read, under their names on the command line.

    Attributes:
        text_columns: tables: the columns with the text, one or two.
        label_column: tables: the column with the label.
        problem: tables: "classification", "multi_label" or "regression".
        language: XNLI: the language of the rows.
        skip_bad_rows: leave out rows that are not as they should be, and list them.
        doc_stride: questions: tokens between the starts of two windows.
        max_query_length: questions: the most tokens of one.
        version_2_with_negative: questions: whether some have no answer; None: by the data set.
        document_context: tagging: whether neighbouring sentences are the context of each one.
        tag_scheme: tagging: the convention of the tags; "auto" finds it out.
    """

    text_columns: Sequence[str] = ()
    label_column: str = "label"
    problem: str = "classification"
    language: str = "en"
    skip_bad_rows: bool = False
    doc_stride: int = 128
    max_query_length: int = 64
    version_2_with_negative: bool | None = None
    document_context: bool = False
    tag_scheme: str = "auto"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a data set gets.

    Attributes:
        dataset: the name of the data set, as `--task` gives it.
        data_dir: the folder with the published files; None where single files are given.
        files: split -> file, for those that were given one by one.
        tokenizer: cuts the text.
        vocab: of the tokenizer.
        max_seq_length: S, the longest record in tokens.
        seed: of every random choice.
        flags: the flags that only some data sets read.
    """

    dataset: str
    data_dir: pathlib.Path | None
    files: Mapping[str, pathlib.Path]
    tokenizer: BertTokenizer
    vocab: Vocab
    max_seq_length: int
    seed: int
    flags: DataSetFlags = DataSetFlags()
