"""Docstrings of the installed Python packages -> documents of English sentences."""

from __future__ import annotations

import inspect
import pathlib
import pydoc_data.topics
import re
import sysconfig
from collections.abc import Iterator

# Found by its looks: a parser needs minutes for all packages, this needs seconds.
_DOCSTRING = re.compile(r'^[ \t]*[rR]?"""(.*?)"""', re.DOTALL | re.MULTILINE)
# A paragraph is prose if it starts like a sentence, ends like one and is made of words.
_PROSE = re.compile(r"[A-Z][^\n]*[.!?][\"')]*")
_WORD = re.compile(r"[A-Za-z][a-z'-]*[,.;:!?)]*")
_MIN_WORDS = 6
_MIN_WORD_SHARE = 0.75
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])")
# Tests describe fixtures, not the world; vendored copies repeat what stands elsewhere.
_SKIPPED_FOLDERS = {"test", "tests", "testing", "_vendor", "__pycache__", "idlelib"}


def documents() -> Iterator[list[str]]:
    """One document a module, in the order of the paths; a sentence is given once in all of them.

    Yields:
        The sentences of a module that has at least two.
    """
    seen: set[int] = set()
    for paragraphs in _paragraphs_by_module():
        sentences = []
        for paragraph in filter(is_prose, paragraphs):
            for sentence in split_sentences(paragraph):
                if hash(sentence) not in seen:
                    seen.add(hash(sentence))
                    sentences.append(sentence)
        if len(sentences) > 1:
            yield sentences


def is_prose(paragraph: str) -> bool:
    """True for "Returns the first item of the list, or None." and false for code, tables, lists."""
    words = paragraph.split()
    if len(words) < _MIN_WORDS or words[0].endswith(":") or not _PROSE.fullmatch(paragraph):
        return False
    return sum(bool(_WORD.fullmatch(w)) for w in words) >= _MIN_WORD_SHARE * len(words)


def split_sentences(paragraph: str) -> list[str]:
    """ "Opens a file. It must exist." -> ["Opens a file.", "It must exist."]"""
    return _SENTENCE_END.split(paragraph)


def paragraphs(docstring: str) -> list[str]:
    """The blocks between empty lines, each on one line."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _paragraphs_by_module() -> Iterator[list[str]]:
    for topic in sorted(pydoc_data.topics.topics):
        yield paragraphs(pydoc_data.topics.topics[topic])
    roots = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    for root in sorted(roots):
        for path in sorted(pathlib.Path(root).rglob("*.py")):
            if not _SKIPPED_FOLDERS.intersection(path.relative_to(root).parts[:-1]):
                yield [p for text in _docstrings(path) for p in paragraphs(text)]


def _docstrings(path: pathlib.Path) -> list[str]:
    """The triple-quoted strings that stand alone on their lines."""
    return [match[1] for match in _DOCSTRING.finditer(path.read_text("utf-8", errors="replace"))]
