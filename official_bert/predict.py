"""Answers for lines of text, or the prediction files for prepared data.

  echo "the capital of france is [MASK]." | python -m official_bert.predict --model_dir=MODEL
  python -m official_bert.predict --saved_model=EXPORT --task=next_sentence \\
      --input_file=pairs.txt --output_format=jsonl --output_file=answers.jsonl
  python -m official_bert.predict --model_dir=MODEL --split=test --output_dir=PREDICTIONS
  python -m official_bert.predict --model_dir=MODEL --question="Who?" --context_file=text.txt

A line of several texts has ||| or a TAB between them: `A ||| B`. A JSON line has the row's texts
and the outputs, named as in the signatures of an export.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import pathlib
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, cast

from absl import flags

from official_bert import cli
from official_bert.atomic import atomic_file
from official_bert.checkpoints.heads import ANSWERS
from official_bert.errors import InputError
from official_bert.path import is_url, to_path
from official_bert.regular_file import check_regular
from official_bert.text_file import byte_lines, decode, read_byte_lines, read_text

if TYPE_CHECKING:
    from official_bert.inference.export_info import ExportInfo
    from official_bert.inference.runner import Answerer

_MODEL_DIR = flags.DEFINE_list(
    "model_dir",
    None,
    "Model folder, or another checkpoint; several with commas between answer questions together.",
)
_SAVED_MODEL = flags.DEFINE_string(
    "saved_model", None, "An export instead: EXPORT, whose newest version is taken, or EXPORT/1."
)
_LITERT = flags.DEFINE_string("litert", None, "A folder that export_litert wrote instead.")
_TASK = flags.DEFINE_string(
    "task",
    None,
    f"The answer: {', '.join(ANSWERS)}; without it, what the model is for.",
)
_INPUT_FILE = flags.DEFINE_string("input_file", None, "Text, a row a line; without it, stdin.")
_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "Where to write; without it, stdout.")
_OUTPUT_FORMAT = flags.DEFINE_enum(
    "output_format", "text", ["text", "jsonl"], "For people, or one JSON object a line."
)
_TOP_K = flags.DEFINE_integer(
    "top_k", None, "Candidates where the answer is a choice; 5, or what an export has.", 1
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 32, "Lines that are computed together.", 1)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", None, "Most tokens of a row; an export has its own.", 1
)

_SPLIT = flags.DEFINE_string(
    "split", None, "Predict this split of prepared data, in order, into files in --output_dir."
)
_DATA_PATH = flags.DEFINE_string(
    "data_path", None, "Prepared data for --split; without it, what the model was trained on."
)
_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "Folder for the files of --split.")

_QUESTION = flags.DEFINE_string("question", None, "A question on the text in --context_file.")
_CONTEXT_FILE = flags.DEFINE_string("context_file", None, "A text in UTF-8, for --question.")

_DEFAULT_CANDIDATES = 5
_MOST_CONTEXT_BYTES = 256 << 20


def main() -> None:
    sources = {
        "model_dir": (_MODEL_DIR.value, _from_model),
        "saved_model": (_SAVED_MODEL.value, _from_saved_model),
        "litert": (_LITERT.value, _from_litert),
    }
    given = [opened_from for value, opened_from in sources.values() if value]
    if len(given) != 1:
        raise InputError("give one of --model_dir, --saved_model and --litert")
    if not _MODEL_DIR.value and _MAX_SEQ_LENGTH.value is not None:
        raise InputError("--max_seq_length is fixed in an export: leave it out")
    if _SPLIT.value is not None:
        _predict_split()
        return
    asked = _QUESTION.value is not None
    if asked != (_CONTEXT_FILE.value is not None) or (asked and _INPUT_FILE.value is not None):
        raise InputError("--question and --context_file go together, and without --input_file")
    path = _CONTEXT_FILE.value if asked else _INPUT_FILE.value
    if path is not None:
        check_regular(path)
    with _opened_output() as output:
        name, answerer, candidates = given[0]()

        from official_bert.inference import answer_class
        from official_bert.inference.runner import read_rows

        kind = answer_class(name)
        rows = (
            _question_rows(answerer)
            if asked
            else read_rows(_input_lines(), answerer.inputs, several=answerer.several)
        )
        while batch := list(itertools.islice(rows, _BATCH_SIZE.value)):
            for row, answer in zip(batch, answerer(batch), strict=True):
                texts = [text.decode("utf-8", errors="replace") for text in row]
                tidied = kind.tidy(answer, candidates)
                if _OUTPUT_FORMAT.value == "jsonl":
                    named = answerer.named(texts)
                    output.write(json.dumps({**named, **tidied}, ensure_ascii=False) + "\n")
                else:
                    output.writelines(f"{line}\n" for line in kind.readable(texts, tidied))
            output.flush()


def _predict_split() -> None:
    if not _MODEL_DIR.value or _OUTPUT_DIR.value is None:
        raise InputError("--split needs --model_dir and --output_dir")

    from official_bert.runs.run import Run

    first, *others = _MODEL_DIR.value
    run = Run.of_trained(first, data_path=_DATA_PATH.value)
    for path in run.predict(_SPLIT.value, _OUTPUT_DIR.value, others=others):
        print(path)


def _from_model() -> tuple[str, Answerer, int]:
    from official_bert.inference.load import open_model
    from official_bert.inference.runner import Answerer

    first, *others = _MODEL_DIR.value
    candidates = _TOP_K.value or _DEFAULT_CANDIDATES
    opened = open_model(
        first,
        others=others,
        names=(_TASK.value,) if _TASK.value else (),
        max_seq_length=_MAX_SEQ_LENGTH.value,
        candidates=candidates,
    )
    name, module = next(iter(opened.modules.items()))
    return name, Answerer.from_module(module), candidates


def _from_saved_model() -> tuple[str, Answerer, int]:
    from official_bert.inference.export_info import SAVED_MODEL_FILE, ExportInfo, newest_version

    folder = newest_version(_SAVED_MODEL.value)
    info = ExportInfo.load(folder / SAVED_MODEL_FILE)
    name, candidates = _chosen(info, folder)

    from official_bert.inference.runner import Answerer

    return name, Answerer.from_export(folder, info, name), candidates


def _from_litert() -> tuple[str, Answerer, int]:
    from official_bert.inference.export_info import FILE_NAME, ExportInfo

    folder = to_path(_LITERT.value)
    name, candidates = _chosen(ExportInfo.load(folder / FILE_NAME), folder)

    from official_bert.inference.litert import LiteAnswerer
    from official_bert.inference.runner import Answerer

    lite = LiteAnswerer(folder)
    return name, Answerer(tuple(lite.module.text_inputs), lite), candidates


def _chosen(info: ExportInfo, folder: pathlib.Path) -> tuple[str, int]:
    """The answer and the number of candidates that the flags ask of an export."""
    name = _TASK.value or info.answers[0]
    if name not in info.answers:
        raise InputError(f"--task={name}: {folder} has {', '.join(info.answers)}")
    most = info.options["candidates"]
    candidates = _TOP_K.value or most
    if candidates > most:
        raise InputError(f"--top_k={candidates}: {folder} was exported with --top_k={most}")
    return name, candidates


def _question_rows(answerer: Answerer) -> Iterator[tuple[bytes, ...]]:
    if set(answerer.inputs) != {"question", "context"}:
        raise InputError(
            f"--question: this model takes {' and '.join(answerer.inputs)}, it answers no questions"
        )
    texts = {
        "question": _QUESTION.value.encode(errors="surrogateescape"),
        "context": read_text(_CONTEXT_FILE.value, limit=_MOST_CONTEXT_BYTES).encode(),
    }
    yield tuple(texts[name] for name in answerer.inputs)


class _AsItComes:
    """Standard input; a read gives what is there, so that lines are answered before its end."""

    def read(self, size: int) -> bytes:
        return cast(io.BufferedReader, sys.stdin.buffer).read1(size)


def _input_lines() -> Iterator[bytes]:
    """The lines of --input_file or standard input, all of them UTF-8."""
    if _INPUT_FILE.value is None:
        name, lines = "standard input", byte_lines(_AsItComes(), "standard input")
    else:
        name, lines = _INPUT_FILE.value, read_byte_lines(_INPUT_FILE.value)
    for number, line in enumerate(lines, start=1):
        decode(line, f"{name}, line {number}")
        yield line


def _opened_output() -> contextlib.AbstractContextManager[IO[str]]:
    path = _OUTPUT_FILE.value
    if path is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Answers have every script in them, whatever the terminal's locale says.
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        return contextlib.nullcontext(sys.stdout)
    output = to_path(path)
    if output.is_dir() or not (is_url(output) or output.parent.is_dir()):
        raise InputError(f"cannot write --output_file={path}: no such folder, or a folder itself")
    return atomic_file(path)


if __name__ == "__main__":
    cli.run(main)
