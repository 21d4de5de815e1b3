"""Shows what a model sees of a text: the pieces, their ids, and where in the text each came from.

  python -m official_bert.text.inspect --vocab_file=vocab.txt "Don't go to Zürich."
  python -m official_bert.text.inspect --model_dir=MODEL --keep_special_tokens < lines.txt

Without a text on the command line, each line of stdin is one. Offsets are printed in bytes and in
characters; the last column is the part of the text between them.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from absl import flags

from official_bert import cli
from official_bert.errors import InputError

if TYPE_CHECKING:
    from official_bert.text.tokenizer import BertTokenizer

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Folder with vocab.txt and tokenizer_config.json, such as a model's."
)
_VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "A vocab.txt alone, instead of --model_dir.")
_DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case",
    None,
    "With --vocab_file: lower-case the text, as for an uncased vocabulary; without it, what the "
    "vocabulary is.",
)
_KEEP_SPECIAL_TOKENS = flags.DEFINE_bool(
    "keep_special_tokens",
    None,
    "Keep [MASK] and the like whole; without it, as the folder says, or no.",
)


def main(*texts: str) -> None:
    if (_MODEL_DIR.value is None) == (_VOCAB_FILE.value is None):
        raise InputError("give one of --model_dir and --vocab_file")
    tokenizer = _tokenizer()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal may not know all of Unicode
        sys.stdout.reconfigure(errors="backslashreplace")
    for warning in tokenizer.vocab.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for text in texts or (line.rstrip(b"\r\n") for line in sys.stdin.buffer):
        # What the shell gave and is not UTF-8 comes as surrogates.
        string = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        print("\n".join(_report(tokenizer, string)), flush=True)


def _tokenizer() -> BertTokenizer:
    from official_bert.text import tokenizer_config

    if _MODEL_DIR.value is not None:
        vocab, config = tokenizer_config.load(_MODEL_DIR.value)
    else:
        vocab, config = tokenizer_config.load_beside(_VOCAB_FILE.value, _DO_LOWER_CASE.value)
    settings = config.settings()
    if _KEEP_SPECIAL_TOKENS.value is not None:
        settings["keep_special_tokens"] = _KEEP_SPECIAL_TOKENS.value

    from official_bert.text.tokenizer import BertTokenizer

    return BertTokenizer(vocab, **settings)


def _report(tokenizer: BertTokenizer, string: bytes) -> Iterator[str]:
    """The lines of the report on one text."""
    from official_bert.text.offsets import byte_to_char_offsets

    ids, starts, ends = tokenizer.tokenize_with_offsets([string])
    from_chars = byte_to_char_offsets([string], starts).to_list()[0]
    to_chars = byte_to_char_offsets([string], ends).to_list()[0]
    rows = [("id", "piece", "bytes", "characters", "from")]
    tokens = [tokenizer.vocab.tokens[id_] for id_ in ids.to_list()[0]]
    for i, (id_, start, end) in enumerate(
        zip(ids.to_list()[0], starts.to_list()[0], ends.to_list()[0], strict=True)
    ):
        source = _shown(string[start:end])
        chars = f"{from_chars[i]}:{to_chars[i]}"
        rows.append((str(id_), tokens[i], f"{start}:{end}", chars, source))
    unknown = ids.to_list()[0].count(tokenizer.vocab.unk_id)
    yield f"text: {_shown(string)}"
    yield f"{len(tokens)} pieces, {unknown} unknown"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join([row[0].rjust(widths[0]), *cells[1:]]).rstrip()
    yield f"read again: {tokenizer.detokenize(ids).numpy()[0].decode()}"
    yield ""


def _shown(string: bytes) -> str:
    """As a Python literal, so that invisible characters and invalid bytes are seen."""
    return repr(string.decode(errors="surrogateescape")).replace("\\udc", "\\x")


if __name__ == "__main__":
    cli.run(main, takes_arguments=True)
