"""Hidden states of a model for lines of text, as vectors of pieces, words or whole lines.

  python -m official_bert.extract_features --model_dir=MODEL --input_file=text.txt \\
      --output_file=features.jsonl --layers=-1,-2,-3,-4
  python -m official_bert.extract_features --model_dir=MODEL --input_file=text.txt \\
      --output_file=features.npz --output_format=npz --layers=concat_last_four --vectors=words,mean

A line is a text, or two with ||| between them: `A ||| B`. Lines of any length are read in windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from absl import flags

from official_bert import cli
from official_bert.errors import InputError
from official_bert.path import is_url, to_path
from official_bert.regular_file import check_regular
from official_bert.text_file import read_lines

_MODEL_DIR = flags.DEFINE_string(
    "model_dir", None, "Model folder, or another checkpoint.", required=True
)
_INPUT_FILE = flags.DEFINE_string("input_file", None, "Text, a row a line.", required=True)
_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "Where to write.", required=True)
_OUTPUT_FORMAT = flags.DEFINE_enum(
    "output_format", "jsonl", ["jsonl", "npz", "tfrecord"], "jsonl is google-research/bert's form."
)
_LAYERS = flags.DEFINE_list(
    "layers",
    ["-1", "-2", "-3", "-4"],
    "Numbers of layers (0 the first, -1 the last), embeddings, sum_last_four, concat_last_four, "
    "sum_all.",
)
_VECTORS = flags.DEFINE_list(
    "vectors",
    ["tokens"],
    "Of what: tokens (pieces), words (between white space: the mean of their pieces), and of the "
    "whole line cls and mean.",
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", None, "Tokens of a window; without it, as many as the model reads.", 1
)
_STRIDE = flags.DEFINE_integer(
    "stride", None, "Tokens from window to window; without it, half a window.", 1
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "Windows that are computed together.", 1)

_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")
# A letter may be a token, and the vectors of a token take some kilobytes.
_LINES_AT_ONCE, _LETTERS_AT_ONCE = 64, 50_000


def main() -> None:
    _check_input()
    output = to_path(_OUTPUT_FILE.value)
    if output.is_dir() or not (is_url(output) or output.parent.is_dir()):
        raise InputError(
            f"cannot write --output_file={_OUTPUT_FILE.value}: no such folder, or a folder itself"
        )

    from official_bert.checkpoints.load import load_pretrained
    from official_bert.features.extractor import FeatureExtractor, TextFeatures
    from official_bert.features.writers import KINDS, write_features

    for name, given, known in (("vectors", _VECTORS.value, KINDS), ("layers", _LAYERS.value, None)):
        if not given or len(set(given)) < len(given):
            raise InputError(f"--{name}={','.join(given)}: give some, each once")
        for kind in given:
            if known and kind not in known:
                raise InputError(f"--{name}={kind}: it must be of {', '.join(known)}")
    bundle = load_pretrained(_MODEL_DIR.value)
    if "cls" in _VECTORS.value and bundle.config.attention == "causal":
        raise InputError(
            f"--vectors=cls: attention of {_MODEL_DIR.value} is causal, so its [CLS] sees nothing "
            "else and is the same for all texts; give mean"
        )
    extractor = FeatureExtractor(
        bundle,
        _LAYERS.value,
        max_seq_length=_MAX_SEQ_LENGTH.value,
        stride=_STRIDE.value,
        batch_size=_BATCH_SIZE.value,
    )

    def features() -> Iterator[TextFeatures]:
        texts = (_parts(line.strip()) for line in read_lines(_INPUT_FILE.value))
        for chunk in _chunks(texts):
            yield from extractor(chunk)

    write_features(_OUTPUT_FILE.value, _OUTPUT_FORMAT.value, features(), _VECTORS.value)


def _check_input() -> None:
    path = _INPUT_FILE.value
    if not check_regular(path):
        raise InputError(f"--input_file={path} is empty: give a text a line")


def _chunks(texts: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    """The texts in lists that are short in lines and in letters; a long text is the last of one."""
    chunk: list[list[str]] = []
    letters = 0
    for text in texts:
        chunk.append(text)
        letters += sum(map(len, text))
        if len(chunk) == _LINES_AT_ONCE or letters > _LETTERS_AT_ONCE:
            yield chunk
            chunk, letters = [], 0
    if chunk:
        yield chunk


def _parts(line: str) -> list[str]:
    """`A ||| B` -> [A, B]; anything else is one text."""
    match = _PAIR.match(line)
    return [line] if match is None else list(match.groups())


if __name__ == "__main__":
    cli.run(main)
