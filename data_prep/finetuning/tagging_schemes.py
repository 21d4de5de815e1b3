"""The conventions in which entities are written as tags: IOB1, IOB2 and BIOES; IOB2 out of each.

Ann  von  Hagen  Paris  Ltd        (a person; at once behind it a company of two words)
IOB1   I-PER I-PER I-PER I-ORG I-ORG   B- only between two entities of one type
IOB2   B-PER I-PER I-PER B-ORG I-ORG   B- at the start of each
BIOES  B-PER I-PER E-PER B-ORG E-ORG   also E- at the end, and S- for one word alone
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

SCHEMES = ("iob1", "iob2", "bioes")
_PREFIXES = {"iob1": "BI", "iob2": "BI", "bioes": "BIES"}

Violation = tuple[int, str]


def is_tag(tag: str) -> bool:
    """Whether it is "O" or one of B-, I-, E- and S- with a type behind it."""
    return tag == "O" or (tag[:1] in set("BIES") and tag[1:2] == "-" and len(tag) > 2)


def find_scheme(sentences: Sequence[Sequence[str]]) -> str:
    """The convention of a file: the one whose rules hold, or are broken least.

    E- and S- are BIOES alone. A file in which no rule of either IOB1 or IOB2 is broken has no
    entity at all.

    Args:
        sentences: tags of each, of which `is_tag` is true.
    """
    if any(tag[0] in "ES" for tags in sentences for tag in tags):
        return "bioes"
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
    name = scheme.upper()
    for index, tag in enumerate(tags):
        prefix, kind = tag[0], tag[2:]
        previous = tags[index - 1] if index else "O"
        following = tags[index + 1] if index + 1 < len(tags) else "O"
        after = f"{tag} after {previous}" if index else f"{tag} at the start of a sentence"
        if prefix == "O":
            continue
        if prefix not in _PREFIXES[scheme]:
            yield index, f"{tag}: {name} has only {'-, '.join(_PREFIXES[scheme])}- and O"
        elif scheme == "iob1" and prefix == "B" and previous[2:] != kind:
            yield index, f"{after}: B- only parts two entities of one type in IOB1"
        elif scheme == "iob2" and prefix == "I" and previous[2:] != kind:
            yield index, f"{after}: an entity starts with B-{kind} in IOB2"
        elif scheme == "bioes":
            if prefix in "IE" and not (previous[0] in "BI" and previous[2:] == kind):
                start = "S" if prefix == "E" else "B"
                yield index, f"{after}: an entity starts with {start}-{kind} in BIOES"
            elif prefix in "BI" and not (following[0] in "IE" and following[2:] == kind):
                yield index, f"{tag} before {following}: an entity ends with E-{kind} in BIOES"


def to_iob2(tags: Sequence[str], scheme: str) -> list[str]:
    """The same entities in IOB2.

    to_iob2(["I-PER", "B-PER", "I-LOC"], "iob1")  # ["B-PER", "B-PER", "B-LOC"]

    Args:
        tags: of a sentence without `violations`.
        scheme: their convention.
    """
    converted = []
    previous = "O"
    for tag in tags:
        prefix = tag[0]
        if prefix == "S" or (prefix == "I" and previous[2:] != tag[2:]):
            prefix = "B"
        elif prefix == "E":
            prefix = "I"
        converted.append("O" if prefix == "O" else prefix + tag[1:])
        previous = tag
    return converted


def types_of(sentences: Sequence[Sequence[str]]) -> list[str]:
    """The entity types in tags, sorted."""
    return sorted({tag[2:] for tags in sentences for tag in tags if tag != "O"})


def iob2_labels(types: Sequence[str]) -> list[str]:
    """iob2_labels(["LOC", "PER"])  # ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]"""
    return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")]
