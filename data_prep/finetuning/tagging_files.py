"""CoNLL files: a word and its tag a line, an empty line behind each sentence.

Columns stand between TABs, or else between spaces; the word is the first one and the tag the last.
A line whose word is -DOCSTART- begins a document. A line that begins with "# ", between sentences
and without a tag, is a comment.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
from collections.abc import Iterator

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.tagging_schemes import SCHEMES, find_scheme, is_tag, to_iob2, violations
from official_bert.errors import InputError
from official_bert.text_file import decode, read_byte_lines

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
        numbers: the number of each of its lines.
    """

    words: list[str]
    tags: list[str]
    document: int
    line: int
    lines: list[str]
    before: list[str]
    after: list[str] = dataclasses.field(default_factory=list)
    numbers: list[int] = dataclasses.field(default_factory=list)


def read_tagged_file(
    path: pathlib.Path, scheme: str = "auto", bad_rows: BadRows | None = None
) -> tuple[list[TaggedSentence], str]:
    """The sentences of a file with tags in IOB2, and the convention that the file has.

    Args:
        path: UTF-8.
        scheme: one of `SCHEMES`; "auto" finds it out.
        bad_rows: what becomes of rows and tags that are not as they should be; None: an error. A
            tag that breaks the convention is kept: it starts an entity where it continues none.

    Raises:
        InputError: it cannot be read, has no sentence, or a line is not as it should be.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    sentences = list(read_sentences(path, bad_rows))
    if not sentences:
        raise InputError(f"{path} has no sentence: give a file with a word and its tag a line")
    given = scheme in SCHEMES
    found = scheme if given else find_scheme([sentence.tags for sentence in sentences])
    for sentence in sentences:
        for index, message in violations(sentence.tags, found):
            message = f"{path}, line {sentence.numbers[index]}: {message}"
            if bad_rows.skip:
                bad_rows.add_mended(f"{message}: it starts an entity, or ends one, as it is")
                continue
            hint = "" if given else "; --tag_scheme says so if the file has another convention"
            raise InputError(f"{message}{hint}; --skip_bad_rows takes it as the start of one")
        sentence.tags = to_iob2(sentence.tags, found)
    return sentences, found


def read_sentences(path: pathlib.Path, bad_rows: BadRows | None = None) -> Iterator[TaggedSentence]:
    """The sentences of a CoNLL file with the tags that it has.

    Args:
        path: UTF-8.
        bad_rows: what becomes of rows that are not as they should be; None: an error. Else the
            sentence of such a row is left out; a row with the tag O and no word is left out alone,
            and an empty sentence is taken for the end of one.

    Raises:
        InputError: it cannot be read; a line is not UTF-8, has one column or another number of
            columns than the first row, an empty word or a tag that is none; or there is an empty
            sentence.
    """
    bad_rows = bad_rows or BadRows(skip=False)
    sentence: TaggedSentence | None = None
    last: TaggedSentence | None = None
    between: list[str] = []
    document = width = 0
    is_bad = False
    for number, raw in enumerate(read_byte_lines(path), start=1):
        location = f"{path}, line {number}"
        try:
            line = decode(raw, location)
            columns = line.split("\t") if "\t" in line else _SPACES.split(line.strip(" "))
            starts_document = columns[0] == DOCUMENT_START
            if starts_document or not line.strip():
                if sentence and not is_bad:
                    yield sentence
                    last = sentence
                if starts_document or not is_bad:  # No empty line of a sentence that is not there.
                    between.append(line)
                sentence, is_bad = None, False
                document += starts_document
                continue
            if sentence is None and line.startswith("# ") and not is_tag(columns[-1].strip(" ")):
                between.append(line)
                continue
            _check_columns(columns, width, location)
            width = len(columns)
            word, tag = columns[0], columns[-1].strip(" ")
            if not word.strip() and tag == "O" and bad_rows.skip:
                bad_rows.add_mended(f"{location}: a row without a word is left out")
                continue
            _check_word_and_tag(word, tag, location)
        except InputError as error:
            bad_rows.add(error)
            is_bad = True
            continue
        if sentence is None:
            _check_no_empty_sentence(between, path, number, bad_rows)
            sentence = TaggedSentence([], [], document, number, [], between)
            between = []
        sentence.words.append(word)
        sentence.tags.append(tag)
        sentence.lines.append(line)
        sentence.numbers.append(number)
    if sentence and not is_bad:
        yield sentence
    elif last:
        last.after = between


def _check_columns(columns: list[str], width: int, location: str) -> None:
    """Raises InputError for one column, or not as many as the rows before have."""
    if len(columns) == 1:
        raise InputError(
            f"{location}: {columns[0]!r} is one column: write a word and its tag, O where it has "
            "none"
        )
    if width and len(columns) != width:
        raise InputError(
            f"{location}: {len(columns)} columns, the rows before have {width}: the last one must "
            "be the tag in each"
        )


def _check_word_and_tag(word: str, tag: str, location: str) -> None:
    if not word.strip():
        raise InputError(
            f"{location}: the word in front of {tag!r} is empty; --skip_bad_rows leaves such rows "
            "out"
        )
    if not is_tag(tag):
        raise InputError(
            f"{location}: {tag!r} is not a tag: write O, or B-, I-, E- or S- with a type behind it"
        )


def _check_no_empty_sentence(
    between: list[str], path: pathlib.Path, number: int, bad_rows: BadRows
) -> None:
    """Two of the lines in front of line `number` that are blank, one after the other, are bad."""
    for index, (line, following) in enumerate(itertools.pairwise(between)):
        if not line.strip() and not following.strip():
            location = f"{path}, line {number - len(between) + index + 1}"
            message = f"{location}: an empty sentence (two blank lines in a row)"
            if not bad_rows.skip:
                raise InputError(f"{message}: take one out, or give --skip_bad_rows")
            bad_rows.add_mended(f"{message} counts for nothing")
