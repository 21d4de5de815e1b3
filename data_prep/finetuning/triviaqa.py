"""TriviaQA (Joshi et al. 2017) in its own layout: questions in JSON, evidence in text files.

It is extra training data for SQuAD (Devlin et al. 2019, section 4.2). Where the answers are is not
given: as in TriviaQA's own conversion to SQuAD's layout, each document is cut behind its first
800 words and the first alias that stands in it is the answer. Here it must stand there as whole
words: "art" is not in "party".
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.base import Example
from data_prep.finetuning.json_lines import check_text, read_json
from data_prep.finetuning.settings import Settings
from data_prep.finetuning.squad import SquadDataSet
from official_bert.errors import InputError, shown
from official_bert.regular_file import read_bytes

_FILES = {"train": "wikipedia-train.json", "dev": "wikipedia-dev.json"}
_MAX_WORDS = 800
_MAX_EVIDENCE_BYTES = 256 << 20
_LAYOUT = "TriviaQA's layout is Data → QuestionId, Question, Answer, EntityPages and SearchResults"
# Where a question lists its documents -> the folder of their files within `evidence`.
_EVIDENCE = {"EntityPages": "wikipedia", "SearchResults": "web"}


class TriviaQaDataSet(SquadDataSet):
    """Pairs of a question and a document, cut into windows.

    Training leaves out, and lists as not found, a document without any alias of the answer.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.flags.version_2_with_negative:
            raise InputError(
                "--version_2_with_negative: every question of TriviaQA has an answer; leave it out"
            )
        super().__init__(settings)

    def examples(self, split: str) -> Iterator[Example]:
        """The pairs of a split, see `read_triviaqa`."""
        path = self.files[split]
        # As triviaqa-rc.tar.gz unpacks: qa/wikipedia-train.json and evidence/wikipedia/….txt.
        evidence = path.absolute().parent.parent / "evidence"
        return read_triviaqa(path, evidence, with_answers=split != "test", bad_rows=self.bad_rows)

    def find_files(self, data_dir: pathlib.Path | None) -> dict[str, pathlib.Path]:
        """The files of the Wikipedia part."""
        if data_dir is None:
            raise InputError("name the folder that triviaqa-rc.tar.gz unpacks to with --data_dir")
        found = {split: data_dir / "qa" / name for split, name in _FILES.items()}
        found = {split: path for split, path in found.items() if path.exists()}
        if not found:
            raise InputError(
                f"--data_dir={data_dir} has none of {', '.join(_FILES.values())} in its folder qa: "
                "name the folder that triviaqa-rc.tar.gz unpacks to"
            )
        return found


def read_triviaqa(
    path: pathlib.Path,
    evidence: pathlib.Path,
    *,
    with_answers: bool,
    bad_rows: BadRows | None = None,
) -> Iterator[Example]:
    """One row for each question and document, in order; see `squad_files` for what a row is.

    Args:
        path: for example qa/wikipedia-train.json.
        evidence: the folder with `wikipedia` and `web`.
        with_answers: whether questions must have them. A row has none where no alias of the answer
            is in the document.
        bad_rows: what becomes of questions and documents that are not as they should be; None: an
            error.

    Raises:
        InputError: a file is missing or of another layout.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    questions = read_json(path, _LAYOUT).get("Data")
    if not isinstance(questions, list) or not questions:
        raise InputError(f"{path} has no list 'Data' with questions: {_LAYOUT}")

    def parts(numbered: tuple[int, Any]) -> tuple[str, str, str, list[str], list[str]]:
        number, question = numbered
        location = f"{path}: Data[{number}]"
        identifier = _text(question, "QuestionId", location)
        text = _text(question, "Question", location)
        aliases = _aliases(question, location) if with_answers else []
        return location, identifier, text, aliases, list(_documents(question, location))

    for location, identifier, text, aliases, names in bad_rows.keep_good(
        enumerate(questions), parts
    ):

        def read(name: str, location: str = location) -> tuple[str, str]:
            return name, _read(evidence / name, location)

        for name, content in bad_rows.keep_good(names, read):
            context = first_words(content, _MAX_WORDS)
            answer = find_alias(context, aliases)
            yield {
                "id": f"{identifier}--{pathlib.Path(name).name}",
                "title": "",
                "question": text,
                "context": context,
                "answers": [] if answer is None else [answer],
                "is_impossible": False,
            }


def first_words(text: str, count: int) -> str:
    """`text` up to the end of its `count`-th word."""
    for number, match in enumerate(re.finditer(r"\S+", text), start=1):
        if number == count:
            return text[: match.end()]
    return text


def find_alias(context: str, aliases: list[str]) -> dict[str, Any] | None:
    """The first of the aliases that stands in the text, as whole words in any case.

        find_alias("born in PARIS", ["City of Light", "Paris"])
        # {"text": "PARIS", "answer_start": 8}

    Returns:
        the answer as the text has it; None if no alias is there.
    """
    for alias in aliases:
        words = [re.escape(word) for word in alias.split()]
        # \b would not do: an alias may begin or end with punctuation.
        pattern = r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)"
        if words and (match := re.search(pattern, context, re.IGNORECASE)):
            return {"text": match.group(), "answer_start": match.start()}
    return None


def _aliases(question: dict[str, Any], location: str) -> list[str]:
    """The value, then the aliases, then their normalised forms, without repetitions."""
    answer = question.get("Answer")
    if not isinstance(answer, dict):
        raise InputError(
            f"{location} has no object 'Answer': {_LAYOUT}; without answers: --test_file"
        )
    value = _text(answer, "Value", f"{location}.Answer")
    further = [
        alias
        for name in ("Aliases", "NormalizedAliases")
        for alias in _list(answer, name, f"{location}.Answer")
    ]
    return list(dict.fromkeys([value, *map(str, further)]))


def _documents(question: dict[str, Any], location: str) -> Iterator[str]:
    """Files of the question's documents, within the folder of evidence."""
    for field, folder in _EVIDENCE.items():
        for number, document in enumerate(_list(question, field, location)):
            name = _text(document, "Filename", f"{location}.{field}[{number}]")
            parts = pathlib.PurePosixPath(name).parts
            if not parts or parts[0] == "/" or ".." in parts:
                raise InputError(
                    f"{location}.{field}[{number}].Filename is {name!r}: it must lie in {folder}"
                )
            yield f"{folder}/{name}"


def _read(path: pathlib.Path, location: str) -> str:
    try:
        return read_bytes(path, limit=_MAX_EVIDENCE_BYTES).decode("utf-8", "replace")
    except InputError as error:
        raise InputError(
            f"{location}: cannot read its evidence {path} ({error}); the folder evidence stands "
            "beside that of the questions"
        ) from error


def _list(parent: dict[str, Any], name: str, location: str) -> list[Any]:
    """parent[name]; [] where it is missing or null."""
    value = parent.get(name) or []
    if not isinstance(value, list):
        raise InputError(f"{location}.{name} is {shown(value)}: it must be a list: {_LAYOUT}")
    return value


def _text(parent: Any, name: str, location: str) -> str:
    if not isinstance(parent, dict) or not isinstance(parent.get(name), str):
        raise InputError(f"{location} has no text {name!r}: {_LAYOUT}")
    return check_text(parent[name], f"{location}.{name}")
