"""Small files of SQuAD's layout."""

from __future__ import annotations

import json
import pathlib
from typing import Any


def question(
    identifier: str, text: str, *answers: tuple[str, int], impossible: bool | None = None
) -> dict[str, Any]:
    """A question with its answers (text, answer_start)."""
    qa: dict[str, Any] = {
        "id": identifier,
        "question": text,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
    }
    return qa if impossible is None else {**qa, "is_impossible": impossible}


def write_squad(path: pathlib.Path, *paragraphs: tuple[str, list[dict[str, Any]]]) -> pathlib.Path:
    """A file with one article of paragraphs (context, questions)."""
    article = {
        "title": "Paris",
        "paragraphs": [{"context": context, "qas": qas} for context, qas in paragraphs],
    }
    path.write_text(json.dumps({"version": "1.1", "data": [article]}), encoding="utf-8")
    return path
