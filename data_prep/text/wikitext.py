"""Wikitext -> the text passages of an article, as sentences.

Devlin et al. 2019, section 3.1: "For Wikipedia we extract only the text passages and ignore lists,
tables, and headers." References, templates, files, formulas, comments and whole sections that are
lists by nature go as well.
"""

from __future__ import annotations

import html
import re
from typing import Any

import mwparserfromhell
from mwparserfromhell import nodes

from data_prep.text.sentences import split_sentences

# Stand in the rendered text for what decides about its line or sentence.
_LIST, _HOLE = "\x01", "\x02"

_LIST_TAGS = {"li", "dd", "dt"}
_DROPPED_TAGS = {
    *("ref", "references", "table", "gallery", "timeline", "imagemap", "score", "hiero", "chem"),
    *("pre", "source", "syntaxhighlight", "ul", "ol", "dl", "categorytree", "inputbox", "section"),
    *("templatestyles", "noinclude", "includeonly", "graph", "mapframe", "tr", "td", "th"),
}
_FORMULA_TAGS = {"math", "code", "ce"}
_DROPPED_LINKS = {"file", "image", "category", "media"}
_INTERLANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]+)*|simple")
# Templates that are part of a sentence: name -> which parameter is the text.
_TEXT_TEMPLATES = {"lang": 1, "nowrap": 0, "nobr": 0, "abbr": 0, "quote": 0}
_MEASURE_TEMPLATES = {"convert", "cvt"}
_NUMBER_OR_JOIN = re.compile(r"[−+-]?[\d.,/]+|to|and|or|by|x|×|-|–|\+/-|±")
_BACK_MATTER = {
    *("references", "notes", "footnotes", "bibliography", "further reading", "external links"),
    *("see also", "sources", "citations", "works cited", "notes and references", "works"),
    *("references and notes", "publications", "discography", "filmography", "gallery"),
    *("selected works", "selected bibliography", "literature", "references and sources"),
}
_SWITCH = re.compile(r"__[A-Z]+__")
# What a dropped template or reference leaves in brackets: "Aristotle (; 384 BC)", "Athens ( )".
_EMPTY_BRACKETS = re.compile(r"\s*\(\W*\)|\s*\[\W*\]")
_BRACKET_START = re.compile(r"\(\s*(?:(?:[,;:–/]|or |and )\s*)?")
_SPACE_BEFORE = re.compile(r"\s+(?=[,;:.!?)](?:\s|$))")
_LEFT_OVER = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|\|\||<[/a-z!]|https?://|''")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’)\]」』]*$")
_MIN_WORDS = 4


def passages(wikitext: str) -> list[list[str]]:
    """The sentences of each text passage of an article.

    Args:
        wikitext: the source of the article.

    Returns:
        a list of sentences for each paragraph that has one.
    """
    result = []
    for line in _render_article(wikitext).split("\n"):
        paragraph = _clean(line)
        if not paragraph or not _SENTENCE_END.search(paragraph):
            continue  # A caption, the introduction of a list, a line of a broken table.
        sentences = [s for s in split_sentences(paragraph) if _is_sentence(s)]
        if sentences:
            result.append(sentences)
    return result


def _render_article(wikitext: str) -> str:
    code = mwparserfromhell.parse(wikitext)
    parts = []
    skip_level = 0  # level of the heading whose section is left out; 0 for none
    for node in code.nodes:
        if isinstance(node, nodes.Heading):
            title = _render(node.title).strip().lower()
            if not skip_level or node.level <= skip_level:
                skip_level = node.level if title in _BACK_MATTER else 0
            parts.append("\n")
        elif not skip_level:
            parts.append(_render_node(node))
    return "".join(parts)


def _render(code: Any) -> str:
    return "".join(map(_render_node, code.nodes)) if code is not None else ""


def _render_node(node: Any) -> str:
    if isinstance(node, nodes.Text):
        return str(node.value)
    if isinstance(node, nodes.Wikilink):
        return _render_link(node)
    if isinstance(node, nodes.Tag):
        return _render_tag(node)
    if isinstance(node, nodes.HTMLEntity):
        return str(node.normalize())
    if isinstance(node, nodes.ExternalLink):
        return _render(node.title)
    if isinstance(node, nodes.Template):
        return _render_template(node)
    return ""  # comments, arguments of templates, headings within other nodes


def _render_link(link: nodes.Wikilink) -> str:
    target = str(link.title).strip()
    prefix, colon, _ = target.partition(":")
    if colon and prefix:
        prefix = prefix.strip().lower()
        if prefix in _DROPPED_LINKS:
            return ""
        if link.text is None and _INTERLANGUAGE.fullmatch(prefix):
            return ""
    if link.text is not None:
        return _render(link.text)
    return target.lstrip(":")


def _render_tag(tag: nodes.Tag) -> str:
    name = str(tag.tag).strip().lower()
    if name in _LIST_TAGS:
        return _LIST
    if name == "br":
        return " "
    if name in _FORMULA_TAGS:
        return _HOLE
    if name in _DROPPED_TAGS or name == "hr":
        return ""
    return _render(tag.contents)


def _render_template(template: nodes.Template) -> str:
    name = str(template.name).strip().lower()
    if name.startswith("lang-"):
        return ""  # "Greek: …", mostly in the brackets behind a title
    values = [_render(param.value).strip() for param in template.params if not param.showkey]
    if name in _MEASURE_TEMPLATES:
        # {{convert|3|to|5|km|mi|abbr=on}} -> "3 to 5 km"
        unit = next((i for i, v in enumerate(values) if not _NUMBER_OR_JOIN.fullmatch(v)), 0)
        return " ".join(values[: unit + 1])
    index = _TEXT_TEMPLATES.get(name, len(values))
    return values[index] if index < len(values) else ""


def _clean(line: str) -> str:
    """One line of rendered text, or "" for a line that is not of a passage."""
    if _LIST in line or line.startswith((" ", "*", "#", ":", ";", "|", "!", "{", "}")):
        return ""
    # Entities within the arguments of links and templates are still there.
    line = _SWITCH.sub("", html.unescape(line))
    line = line.replace("'''", "").replace("''", "")
    line = _EMPTY_BRACKETS.sub("", line)
    line = _BRACKET_START.sub("(", line)
    line = _SPACE_BEFORE.sub("", line)
    return " ".join(line.split())


def _is_sentence(sentence: str) -> bool:
    if _HOLE in sentence or _LEFT_OVER.search(sentence):
        return False
    return len(sentence.split()) >= _MIN_WORDS or not sentence.isascii()
