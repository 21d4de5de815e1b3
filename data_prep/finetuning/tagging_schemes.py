"""The conventions in which entities are written as tags; IOB2 out of each.

Ann  von  Hagen  Paris  Ltd        (a person; at once behind it a company of two words)
IOB1   I-PER I-PER I-PER I-ORG I-ORG   B- only between two entities of one type
IOB2   B-PER I-PER I-PER B-ORG I-ORG   B- at the start of each
BIOES  B-PER I-PER E-PER B-ORG E-ORG   also E- at the end, and S- for one word alone
BILOU  B-PER I-PER L-PER B-ORG L-ORG   the same with L- and U-
BMES   B-PER M-PER E-PER B-ORG E-ORG   the same as BIOES with M- for I-
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Violation = tuple[int, str]


class _Letters(NamedTuple):
    """The prefixes of a convention for the parts of an entity; "" for those that it has not."""

    begin: str
    inside: str
    end: str = ""
    single: str = ""


_LETTERS = {
    "iob1": _Letters("B", "I"),
    "iob2": _Letters("B", "I"),
    "bioes": _Letters("B", "I", "E", "S"),
    "bilou": _Letters("B", "I", "L", "U"),
    "bmes": _Letters("B", "M", "E", "S"),
}
SCHEMES = tuple(_LETTERS)
_PREFIXES = frozenset("".join(map("".join, _LETTERS.values())))
# Conventions by prefixes that no earlier one has.
_BY_PREFIX = (("bmes", "M"), ("bilou", "LU"), ("bioes", "ES"))


def is_tag(tag: str) -> bool:
    """Whether it is "O", or a prefix of some convention with a type behind it."""
    return tag == "O" or (tag[:1] in _PREFIXES and tag[1:2] == "-" and len(tag) > 2)


def find_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """The convention of a file: the one whose rules hold, or are broken least.

    M- is BMES alone, L- and U- are BILOU, E- and S- else BIOES. A file in which no rule of either
    IOB1 or IOB2 is broken has no entity at all.

    Args:
        sentences: tags of each, of which `is_tag` is true.
    """
    prefixes = {tag[0] for tags in sentences for tag in tags}
    for scheme, own in _BY_PREFIX:
        if prefixes & set(own):
            return scheme
    broken = {
        scheme: sum(len(list(violations(tags, scheme))) for tags in sentences)
        for scheme in ("iob2", "iob1")
    }
    return min(broken, key=lambda scheme: broken[scheme])


def violations(tags: Sequence[str], scheme: str) -> Iterator[Violation]:
    """Where a sentence breaks the rules of a convention, and how.

    list(violations(["B-PER", "I-LOC"], "iob2"))
    # [(1, "I-LOC after B-PER: an entity starts with B-LOC in IOB2")]
    """
    name, letters = scheme.upper(), _LETTERS[scheme]
    begins, goes_on = (letters.begin, letters.inside), (letters.inside, letters.end)
    for index, tag in enumerate(tags):
        prefix, kind = tag[0], tag[2:]
        previous = tags[index - 1] if index else "O"
        following = tags[index + 1] if index + 1 < len(tags) else "O"
        after = f"{tag} after {previous}" if index else f"{tag} at the start of a sentence"
        if prefix == "O":
            continue
        if prefix not in filter(None, letters):
            yield index, f"{tag}: {name} has only {'-, '.join(filter(None, letters))}- and O"
        elif scheme == "iob1":
            if prefix == "B" and previous[2:] != kind:
                yield index, f"{after}: B- only parts two entities of one type in IOB1"
        elif scheme == "iob2":
            if prefix == "I" and previous[2:] != kind:
                yield index, f"{after}: an entity starts with B-{kind} in IOB2"
        elif prefix in goes_on and not (previous[0] in begins and previous[2:] == kind):
            start = letters.single if prefix == letters.end else letters.begin
            yield index, f"{after}: an entity starts with {start}-{kind} in {name}"
        elif prefix in begins and not (following[0] in goes_on and following[2:] == kind):
            yield (
                index,
                f"{tag} before {following}: an entity ends with {letters.end}-{kind} in {name}",
            )


def to_iob2(tags: Sequence[str], scheme: str) -> list[str]:
    """The same entities in IOB2.

    to_iob2(["I-PER", "B-PER", "I-LOC"], "iob1")  # ["B-PER", "B-PER", "B-LOC"]

    Args:
        tags: of a sentence. Where it has `violations`, a tag that continues no entity starts one.
        scheme: their convention.
    """
    letters = _LETTERS[scheme]
    converted = []
    previous = "O"
    for tag in tags:
        continues = (
            tag[0] in (letters.inside, letters.end)
            and previous[0] in (letters.begin, letters.inside)
            and previous[2:] == tag[2:]
        )
        converted.append("O" if tag == "O" else f"{'I' if continues else 'B'}-{tag[2:]}")
        previous = tag
    return converted


def types_of(sentences: Sequence[Sequence[str]]) -> list[str]:
    """The entity types in tags, sorted."""
    return sorted({tag[2:] for tags in sentences for tag in tags if tag != "O"})


def iob2_labels(types: Sequence[str]) -> list[str]:
    """iob2_labels(["LOC", "PER"])  # ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]"""
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")]
