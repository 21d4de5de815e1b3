"""Reads question-answering files: SQuAD's JSON, strictly, into one flat row a question.

A row is {"id", "title", "question", "context", "answers": [{"text", "answer_start"}],
"is_impossible"}; answer_start counts characters of the context.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.base import Example
from data_prep.finetuning.json_lines import check_text, read_json
from official_bert.errors import InputError, shown

_LAYOUT = "SQuAD's layout is data → paragraphs → context and qas → id, question and answers"


def read_squad(
    path: pathlib.Path,
    *,
    allow_impossible: bool,
    with_answers: bool,
    bad_rows: BadRows | None = None,
) -> Iterator[Example]:
    """The questions of a SQuAD 1.1 or 2.0 file, in order.

    Args:
        path: the file; its `title`s and `plausible_answers` may be missing. An id may be a whole
            number.
        allow_impossible: whether questions without an answer are wanted (SQuAD 2.0).
        with_answers: whether every question must have answers, or say that it is impossible; a
            file to predict need not.
        bad_rows: what becomes of articles, paragraphs and questions that are not as they should be;
            None: an error.

    Raises:
        InputError: the file is not readable, not JSON, of another layout, has no question, the same
            id twice, or a question without an answer that is not allowed.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    locations: dict[str, str] = {}

    def article_parts(numbered: tuple[int, Any]) -> tuple[str, str, list[Any]]:
        number, article = numbered
        at = f"{path}: data[{number}]"
        has_title = isinstance(article, dict) and "title" in article
        title = _field(article, "title", str, at) if has_title else ""
        return at, title, _list(article, "paragraphs", at)

    def paragraph_parts(numbered: tuple[str, Any]) -> tuple[str, str, list[Any]]:
        at, paragraph = numbered
        return at, _field(paragraph, "context", str, at), _list(paragraph, "qas", at)

    def question(numbered: tuple[str, Any]) -> Example:
        location, qa = numbered
        row = _row(qa, location, with_answers=with_answers)
        if row["is_impossible"] and not allow_impossible:
            raise InputError(
                f"{location}: question {row['id']!r} is impossible: give --task=squad_v2 "
                "or --version_2_with_negative, or leave such questions out"
            )
        if row["id"] in locations:
            raise InputError(
                f"{location}: id {row['id']!r} is that of {locations[row['id']]} too: "
                "answers are found by their id"
            )
        locations[row["id"]] = location.removeprefix(f"{path}: ")
        return row

    articles = _list(read_json(path, _LAYOUT), "data", str(path))
    for at, title, paragraphs in bad_rows.keep_good(enumerate(articles), article_parts):
        listed = ((f"{at}.paragraphs[{n}]", paragraph) for n, paragraph in enumerate(paragraphs))
        for inside, context, qas in bad_rows.keep_good(listed, paragraph_parts):
            questions = ((f"{inside}.qas[{n}]", qa) for n, qa in enumerate(qas))
            for row in bad_rows.keep_good(questions, question):
                yield {**row, "title": title, "context": context}
    if not locations:
        raise InputError(f"{path} has no question")


def _row(qa: Any, location: str, *, with_answers: bool) -> Example:
    """A question without its context; its `answers` are [] where it is impossible."""
    if isinstance(qa, dict) and type(qa.get("id")) is int:
        qa = {**qa, "id": str(qa["id"])}
    identifier = _field(qa, "id", str, location)
    question = _field(qa, "question", str, location)
    answers = [
        _answer(answer, f"{location}.answers[{number}]")
        for number, answer in enumerate(_list(qa, "answers", location) if "answers" in qa else [])
    ]
    said = _field(qa, "is_impossible", bool, location) if "is_impossible" in qa else None
    if said and answers:
        raise InputError(
            f"{location}: question {identifier!r} is impossible and has {len(answers)} answer(s): "
            "leave out one of the two (answers that only seem right go to plausible_answers)"
        )
    if with_answers and not answers and not said:
        raise InputError(
            f"{location}: question {identifier!r} has no answers and does not say "
            "is_impossible: true; a file without answers can be given as --test_file"
        )
    return {"id": identifier, "question": question, "answers": answers, "is_impossible": bool(said)}


def _answer(answer: Any, location: str) -> dict[str, Any]:
    text = _field(answer, "text", str, location)
    if not text.strip():
        raise InputError(
            f"{location}.text is blank: a question without an answer has answers [] and "
            "is_impossible true"
        )
    return {"text": text, "answer_start": _field(answer, "answer_start", int, location)}


def _list(parent: Any, name: str, location: str) -> list[Any]:
    values: list[Any] = _field(parent, name, list, location)
    return values


def _field(parent: Any, name: str, wanted: type, location: str) -> Any:
    """parent[name], which must be of the type `wanted`."""
    if not isinstance(parent, dict):
        raise InputError(f"{location} is {_shown(parent)}, not an object: {_LAYOUT}")
    if name not in parent:
        raise InputError(f"{location} has no {name!r}, it has {shown(sorted(parent))}: {_LAYOUT}")
    value = parent[name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        kinds = {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}
        raise InputError(f"{location}.{name} is {_shown(value)}: it must be {kinds[wanted]}")
    return check_text(value, f"{location}.{name}") if isinstance(value, str) else value


def _shown(value: Any) -> str:
    """A number, text or constant as JSON has it."""
    return shown(value) if isinstance(value, list | dict) else json.dumps(value)[:60]
