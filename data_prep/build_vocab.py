"""Learns a WordPiece vocabulary from text files.

    python -m data_prep.build_vocab --input_file='wiki/*.txt' --vocab_size=30000 \\
        --output_file=vocab.txt

The words are those of the tokenizer with the same --do_lower_case. [PAD], [unusedN], [UNK], [CLS],
[SEP] and [MASK] stand where the published vocabularies have them.
"""

from __future__ import annotations

from absl import flags

from official_bert import cli
from official_bert.path import size_of, to_path

_INPUT_FILE = flags.DEFINE_string(
    "input_file",
    None,
    "Text files: names, globs, several with commas between; .gz too.",
    required=True,
)
_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "The vocab.txt to write.", required=True)
_VOCAB_SIZE = flags.DEFINE_integer("vocab_size", 30_000, "Number of entries.")
_DO_LOWER_CASE = flags.DEFINE_bool("do_lower_case", True, "Lower-case and strip accents.")
_NUM_UNUSED = flags.DEFINE_integer(
    "num_unused", 99, "[unusedN] entries; with the default [UNK] is 100, as published."
)
_LIMIT_ALPHABET = flags.DEFINE_integer(
    "limit_alphabet", 1000, "Most different characters to keep, by frequency."
)
_MIN_FREQUENCY = flags.DEFINE_integer(
    "min_frequency", 2, "How often two pieces must stand together to become one entry."
)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace --output_file if it is there.")


def main() -> None:
    """Reads the flags, counts words, learns and writes."""

    from absl import logging
    from tqdm import tqdm

    from data_prep.text.corpus import expand_inputs, invalid_bytes, read_blocks
    from data_prep.text.vocab_learning import WordCounts, learn_vocabulary
    from data_prep.text.words import WordSplitter
    from official_bert.atomic import check_free
    from official_bert.errors import InputError
    from official_bert.text.vocab import Vocab

    for flag, least in ((_VOCAB_SIZE, 5), (_NUM_UNUSED, 0), (_LIMIT_ALPHABET, 1)):
        if flag.value < least:
            raise InputError(f"--{flag.name}={flag.value} is below {least}")
    paths = expand_inputs(_INPUT_FILE.value)
    output = to_path(_OUTPUT_FILE.value)
    check_free(output, overwrite=_OVERWRITE.value)
    split = WordSplitter(_DO_LOWER_CASE.value)
    words = WordCounts()
    invalid = 0
    size = sum(size_of(to_path(path)) for path in paths)
    with tqdm(total=size, unit="B", unit_scale=True, desc="count words", disable=None) as bar:
        for block in read_blocks(paths):
            invalid += invalid_bytes(block)
            words.add(split(block.text.decode("utf-8", "ignore")))
            bar.update(block.source_bytes)
    tokens = learn_vocabulary(
        words.counts,
        _VOCAB_SIZE.value,
        num_unused=_NUM_UNUSED.value,
        max_characters=_LIMIT_ALPHABET.value,
        min_frequency=_MIN_FREQUENCY.value,
    )
    if len(tokens) < _VOCAB_SIZE.value:
        logging.warning(
            "the text gives only %d entries of the %d that --vocab_size asks for",
            len(tokens),
            _VOCAB_SIZE.value,
        )
    if invalid:
        logging.warning("left out %d bytes that are not UTF-8", invalid)
    output.parent.mkdir(parents=True, exist_ok=True)
    Vocab(tokens).save(output)
    print(f"{words.counts.total():,} words, {len(words.counts):,} different ones")
    print(f"written: {output}, {len(tokens):,} entries")


if __name__ == "__main__":
    cli.run(main)
