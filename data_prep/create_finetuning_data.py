"""Makes fine-tuning data: sentence prediction, question answering, tagging, multiple choice.

    python -m data_prep.create_finetuning_data --task=cola --data_dir=glue/CoLA \\
        --vocab_file=vocab.txt --output_dir=data/cola
    python -m data_prep.create_finetuning_data --task=csv --train_file=train.csv \\
        --dev_file=dev.csv --text_columns=review --label_column=stars --vocab_file=vocab.txt \\
        --output_dir=data/reviews

Output: a folder with TFRecords of each split, the raw rows, vocab.txt, tokenizer_config.json and
manifest.json. The tokenizer's settings are read from a tokenizer_config.json beside the vocabulary.
For a data set of one's own, see data_prep/finetuning/base.py: --task=package.module:Class.
"""

from __future__ import annotations

import sys

from absl import flags

from data_prep.finetuning.datasets import DATA_SETS
from data_prep.finetuning.tagging_schemes import SCHEMES
from official_bert import cli
from official_bert.errors import InputError
from official_bert.path import local_copy, to_path

_TASK = flags.DEFINE_string(
    "task",
    None,
    f"The data set: {', '.join(DATA_SETS)} (csv: a table of your own), or a class of your own, as "
    "package.module:Class.",
    required=True,
)
_DATA_DIR = flags.DEFINE_string("data_dir", None, "The folder with the files as published.")
_FILES = {
    split: flags.DEFINE_string(f"{split}_file", None, f"The {split} file, in place of --data_dir.")
    for split in ("train", "dev", "test")
}
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The folder to make.", required=True)
_VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "The vocabulary.", required=True)
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Lower-case the text and strip accents; without it, what tokenizer_config.json beside the "
    "vocabulary says, or else whether the vocabulary has no upper-case letters.",
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length",
    None,
    "Longest record in tokens, [CLS] and [SEP] counted; default: 384 for questions, else 128.",
)
_SEED = flags.DEFINE_integer("seed", 12345, "Seed of every random choice.")
_NUM_SHARDS = flags.DEFINE_integer("num_shards", 1, "Files for each split.", 1)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace the folder if it is there.")

# Flags that only some data sets read: the fields of `settings.DataSetFlags`.
_DATA_SET_FLAGS = [
    flags.DEFINE_list("text_columns", [], "csv: the columns with the text, one or two."),
    flags.DEFINE_string("label_column", "label", "csv: the column with the label."),
    flags.DEFINE_enum(
        "problem",
        "classification",
        ["classification", "multi_label", "regression"],
        "csv: one class a row; any number of classes, with | between; or a number.",
    ),
    flags.DEFINE_string("language", "en", "xnli: the language of the rows."),
    flags.DEFINE_bool(
        "skip_bad_rows",
        False,
        "Leave out rows that are not as they should be, mend what can be mended, and list both in "
        "manifest.json; without it the first such row ends the run.",
    ),
    flags.DEFINE_integer("doc_stride", 128, "Questions: tokens between starts of two windows."),
    flags.DEFINE_integer("max_query_length", 64, "Questions: longer ones are cut, in tokens."),
    flags.DEFINE_bool(
        "version_2_with_negative", None, "Questions: some have no answer; default: by the data set."
    ),
    flags.DEFINE_bool(
        "document_context", False, "conll: neighbouring sentences as context of each one."
    ),
    flags.DEFINE_enum(
        "tag_scheme",
        "auto",
        ["auto", *SCHEMES],
        "conll: the convention of the tags; auto finds it out for each file.",
    ),
]


def main() -> None:
    vocab_path = to_path(_VOCAB_FILE.value)
    if not vocab_path.is_file():
        raise InputError(f"--vocab_file={vocab_path}: there is no such file")
    files = {split: local_copy(flag.value) for split, flag in _FILES.items() if flag.value}
    for path in files.values():
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")
    if files and _DATA_DIR.value:
        raise InputError("give --data_dir or single files, not both")
    if _DATA_DIR.value and not to_path(_DATA_DIR.value).is_dir():
        raise InputError(f"--data_dir={_DATA_DIR.value}: there is no such folder")

    from official_bert.atomic import check_free

    check_free(to_path(_OUTPUT_DIR.value), overwrite=_OVERWRITE.value)

    from data_prep.finetuning.datasets import find_class
    from data_prep.finetuning.folder import write_folder
    from data_prep.finetuning.settings import DataSetFlags, Settings
    from official_bert.text import tokenizer_config
    from official_bert.text.tokenizer import BertTokenizer

    vocab, config = tokenizer_config.load_beside(vocab_path, _DO_LOWER_CASE.value)
    settings_of_tokenizer = config.settings()
    data_set_class = find_class(_TASK.value)
    max_seq_length = _MAX_SEQ_LENGTH.value
    if max_seq_length is None:
        max_seq_length = data_set_class.default_max_seq_length
    if max_seq_length < 5:
        raise InputError(f"--max_seq_length={max_seq_length}: at least 5, for two texts")
    settings_of_tokenizer["model_max_length"] = max_seq_length
    settings = Settings(
        dataset=_TASK.value,
        data_dir=local_copy(_DATA_DIR.value) if _DATA_DIR.value else None,
        files=files,
        tokenizer=BertTokenizer(vocab, **settings_of_tokenizer),
        vocab=vocab,
        max_seq_length=max_seq_length,
        seed=_SEED.value,
        flags=DataSetFlags(**{flag.name: flag.value for flag in _DATA_SET_FLAGS}),
    )
    manifest = write_folder(
        data_set_class(settings),
        settings,
        _OUTPUT_DIR.value,
        num_shards=_NUM_SHARDS.value,
        overwrite=_OVERWRITE.value,
    )
    for split, counts in manifest.splits.items():
        mean = counts["num_tokens"] / counts["num_records"]
        print(
            f"{split}: {counts['num_examples']:,} examples, {counts['num_records']:,} records, "
            f"{mean:.1f} tokens on average, {counts['longest_record']} at most",
            file=sys.stderr,
        )
    for name, value in manifest.statistics.items():
        if value:
            shown = f"{len(value)} (listed in manifest.json)" if isinstance(value, list) else value
            print(f"{name.replace('_', ' ')}: {shown}", file=sys.stderr)
    print(_OUTPUT_DIR.value)


if __name__ == "__main__":
    cli.run(main)
