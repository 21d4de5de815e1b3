"""Reads question-answering files: SQuAD's JSON, strictly, into one flat row a question.

A row is {"id", "title", "question", "context", "answers": [{"text", "answer_start"}],
"is_impossible"}; answer_start counts characters of the context.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from data_prep.finetuning.base import Example
from official_bert.errors import InputError

_LAYOUT = "SQuAD's layout is data → paragraphs → context and qas → id, question and answers"


def read_squad(
    path: pathlib.Path, *, allow_impossible: bool, with_answers: bool
) -> Iterator[Example]:
    """The questions of a SQuAD 1.1 or 2.0 file, in order.

    Args:
        path: the file; its `title`s and `plausible_answers` may be missing.
        allow_impossible: whether questions without an answer are wanted (SQuAD 2.0).
        with_answers: whether every question must have answers, or say that it is impossible; a
            file to predict need not.

    Raises:
        InputError: the file is not readable, not JSON, of another layout, has no question, the same
            id twice, or a question without an answer that is not allowed.
    """
    locations: dict[str, str] = {}
    for number, article in enumerate(_list(read_json(path), "data", str(path))):
        at = f"{path}: data[{number}]"
        title = _field(article, "title", str, at) if "title" in article else ""
        for paragraph_number, paragraph in enumerate(_list(article, "paragraphs", at)):
            in_article = f"{at}.paragraphs[{paragraph_number}]"
            context = _field(paragraph, "context", str, in_article)
            for question_number, qa in enumerate(_list(paragraph, "qas", in_article)):
                location = f"{in_article}.qas[{question_number}]"
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
                yield {**row, "title": title, "context": context}
    if not locations:
        raise InputError(f"{path} has no question")


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: it cannot be read, is not JSON in UTF-8, or is not an object.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: byte {error.start} is {error.reason}") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, not an object: {_LAYOUT}")
    return content


def check_text(text: str, location: str) -> str:
    """`text`, if it is one that UTF-8 can hold.

    Raises:
        InputError: it has half of a surrogate pair, which a JSON escape can make.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{location} has {ascii(text[error.start])} at character {error.start}, which is "
            "half of a character: mend the escape"
        ) from error
    return text


def _row(qa: Any, location: str, *, with_answers: bool) -> Example:
    """A question without its context; its `answers` are [] where it is impossible."""
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
    return _field(parent, name, list, location)


def _field(parent: Any, name: str, wanted: type, location: str) -> Any:
    """parent[name], which must be of the type `wanted`."""
    if not isinstance(parent, dict):
        raise InputError(f"{location} is {_shown(parent)}, not an object: {_LAYOUT}")
    if name not in parent:
        raise InputError(f"{location} has no {name!r}, it has {sorted(parent)}: {_LAYOUT}")
    value = parent[name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        kinds = {str: "a string", int: "a whole number", bool: "true or false", list: "a list"}
        raise InputError(f"{location}.{name} is {_shown(value)}: it must be {kinds[wanted]}")
    return check_text(value, f"{location}.{name}") if isinstance(value, str) else value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
