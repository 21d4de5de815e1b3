"""CoNLL files: a word and its tag a line, an empty line behind each sentence.

Columns stand between TABs, or else between spaces; the word is the first one and the tag the last.
A line whose word is -DOCSTART- begins a document.
"""

from __future__ import annotations

import codecs
import dataclasses
import itertools
import pathlib
import re
from collections.abc import Iterator

from data_prep.finetuning.tagging_schemes import SCHEMES, find_scheme, is_tag, to_iob2, violations
from official_bert.errors import InputError

DOCUMENT_START = "-DOCSTART-"
_SPACES = re.compile(" +")


@dataclasses.dataclass
class TaggedSentence:
    """A sentence of a CoNLL file.

    Attributes:
        words: its words.
        tags: their tags, as written in the file.
        document: number of its document in the file; all have 0 where no document is marked.
        line: number of its first line, from 1.
        lines: its lines as they are, without line ends.
        before: the lines between the sentence before and this one.
        after: of the last sentence, the lines behind it.
    """

    words: list[str]
    tags: list[str]
    document: int
    line: int
    lines: list[str]
    before: list[str]
    after: list[str] = dataclasses.field(default_factory=list)


def read_tagged_file(path: pathlib.Path, scheme: str = "auto") -> tuple[list[TaggedSentence], str]:
    """The sentences of a file with tags in IOB2, and the convention that the file has.

    Args:
        path: UTF-8.
        scheme: "iob1", "iob2" or "bioes"; "auto" finds it out.

    Raises:
        InputError: it cannot be read, has no sentence, or a line is not as it should be.
    """
    sentences = list(read_sentences(path))
    if not sentences:
        raise InputError(f"{path} has no sentence: give a file with a word and its tag a line")
    given = scheme in SCHEMES
    found = scheme if given else find_scheme([sentence.tags for sentence in sentences])
    for sentence in sentences:
        for index, message in violations(sentence.tags, found):
            line = sentence.line + index
            hint = "" if given else "; --tag_scheme says so if the file has another convention"
            raise InputError(f"{path}, line {line}: {message}{hint}")
        sentence.tags = to_iob2(sentence.tags, found)
    return sentences, found


def read_sentences(path: pathlib.Path) -> Iterator[TaggedSentence]:
    """The sentences of a CoNLL file with the tags that it has.

    Raises:
        InputError: it cannot be read; a line is not UTF-8, has one column, an empty word or a tag
            that is none; or there is an empty sentence.
    """
    sentence: TaggedSentence | None = None
    last: TaggedSentence | None = None
    between: list[str] = []
    document = 0
    for number, line in _lines(path):
        columns = line.split("\t") if "\t" in line else _SPACES.split(line.strip(" "))
        starts_document = columns[0] == DOCUMENT_START
        if starts_document or not line.strip():
            if sentence:
                yield sentence
                sentence = None
            document += starts_document
            between.append(line)
            continue
        word, tag = _word_and_tag(columns, f"{path}, line {number}")
        if sentence is None:
            _check_no_empty_sentence(between, path, number)
            last = sentence = TaggedSentence([], [], document, number, [], between)
            between = []
        sentence.words.append(word)
        sentence.tags.append(tag)
        sentence.lines.append(line)
    if last:
        last.after = between
    if sentence:
        yield sentence


def _lines(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1, without line ends and byte-order mark."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    lines = content.removeprefix(codecs.BOM_UTF8).split(b"\n")
    if not lines[-1]:
        lines.pop()  # What follows the last line end is not a line.
    for number, line in enumerate(lines, start=1):
        try:
            yield number, line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(
                f"{path}, line {number}: {line!r} is not UTF-8: save the file as UTF-8"
            ) from None


def _word_and_tag(columns: list[str], where: str) -> tuple[str, str]:
    if len(columns) == 1:
        raise InputError(
            f"{where}: {columns[0]!r} is one column: write a word and its tag, O where it has none"
        )
    word, tag = columns[0], columns[-1].strip(" ")
    if not word.strip():
        raise InputError(f"{where}: the word in front of {tag!r} is empty")
    if not is_tag(tag):
        raise InputError(
            f"{where}: {tag!r} is not a tag: write O, or B-, I-, E- or S- with a type behind it"
        )
    return word, tag


def _check_no_empty_sentence(between: list[str], path: pathlib.Path, number: int) -> None:
    """Raises InputError if two of the lines in front of line `number` are blank one after other."""
    for index, (line, following) in enumerate(itertools.pairwise(between)):
        if not line.strip() and not following.strip():
            place = number - len(between) + index + 1
            raise InputError(
                f"{path}, line {place}: an empty sentence (two blank lines in a row): take one out"
            )
