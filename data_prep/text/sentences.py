"""Paragraphs -> sentences, by rule.

Pretraining wants sentence borders, not perfect ones. A border is a full stop, question or
exclamation mark (with closing quotes and brackets) before a space and something that can begin a
sentence, but not behind an abbreviation or an initial. Chinese and Japanese marks need no space.
"""

from __future__ import annotations

import re

_BORDER = re.compile(
    r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[¿¡]*[^\W_a-z])"  # "… home. He …", "… home.” “He …"
    r"|(?<=[。！？])[」』”’）]*"
)
_LAST_WORD = re.compile(r"[\w.&'’-]+\.[\"'”’)\]]*$")
_INITIALS = re.compile(r"(?:[A-Z]\.)*[A-Z]\.")
# Words whose full stop hardly ever ends a sentence, in lower case and without it.
_ABBREVIATIONS = frozenset(
    re.split(
        r"\s+",
        "mr mrs ms messrs dr prof rev fr sr jr st mt ft gen col lt capt cpt maj sgt cmdr adm gov "
        "sen rep pres hon esq ca c cf viz vs v e.g i.e ed eds vol vols no nos pp p par fig figs ch "
        "sec al jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun dept "
        "univ inst assn bros co corp inc ltd approx est b d r fl orig trans",
    )
)


def split_sentences(paragraph: str) -> list[str]:
    """Splits a paragraph, given on one line, into its sentences.

    `split_sentences("Dr. No met J. Bond. They (both) left.")` gives
    ["Dr. No met J. Bond.", "They (both) left."].
    """
    sentences = []
    start = 0
    for border in _BORDER.finditer(paragraph):
        sentence = paragraph[start : border.end()].strip()
        if not sentence or _ends_in_abbreviation(sentence):
            continue
        sentences.append(sentence)
        start = border.end()
    last = paragraph[start:].strip()
    return [*sentences, last] if last else sentences


def _ends_in_abbreviation(sentence: str) -> bool:
    last = _LAST_WORD.search(sentence)
    if last is None or last[0][-1] != ".":
        return False
    word = last[0]
    return bool(_INITIALS.fullmatch(word)) or word[:-1].lower() in _ABBREVIATIONS
