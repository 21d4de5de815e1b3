"""Wikipedia: sentences, passages of wikitext, dumps whole and broken."""

from __future__ import annotations

import bz2
import itertools
import re
import subprocess
import sys

import pytest

from data_prep.text.sentences import split_sentences
from data_prep.text.wikipedia_dump import DumpReader, extract
from data_prep.text.wikitext import passages
from official_bert.errors import InputError
from tests.public_data import public_data


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("He came. She left.", ["He came.", "She left."]),
        ("Dr. No met J. Bond in St. Ives.", ["Dr. No met J. Bond in St. Ives."]),
        (
            'He said "Go!" They went. "Why?" asked all.',
            ['He said "Go!"', "They went.", '"Why?" asked all.'],
        ),
        ("It is 3.5 m long. 5 more follow.", ["It is 3.5 m long.", "5 more follow."]),
        ("In the U.S. Army, e.g. Patton.", ["In the U.S. Army, e.g. Patton."]),
        ("Is it (really)? Yes.) And on.", ["Is it (really)?", "Yes.)", "And on."]),
        ("她来了。他走了！", ["她来了。", "他走了！"]),
        ("no end here", ["no end here"]),
        ("", []),
    ],
)
def test_split_sentences(paragraph, sentences):
    assert split_sentences(paragraph) == sentences


ARTICLE = """{{Infobox person
| name = Ada
| note = [[File:x.png|thumb]]
}}
[[File:Ada.jpg|thumb|A [[portrait]] of Ada. It is old.]]
'''Ada Lovelace''' ({{lang-el|Άντα}}; 10 December 1815 – 1852) was an [[England|English]] ''mathematician''.<ref>{{cite book|title=Ada}}</ref> She wrote about [[Charles Babbage]]'s engine<ref name="b" />, which weighed {{convert|3|to|5|t|lb|abbr=on}}.<!-- hidden -->
It was built of {{nowrap|10 parts}} &amp; more, says [http://x.org the museum] today.
These were its parts:
* a list item. With two sentences.
# numbered item. Here.
; term : definition. Here.
: indented remark. Here too.

== Life ==
{| class="wikitable"
! Year !! Event
|-
| 1815 || She was born in London.
|}
The sum <math>x^2</math> is not here. But this sentence is here.
Too short. <br/>
__NOTOC__
<gallery>
File:A.jpg|A caption that is a sentence.
</gallery>
[[Category:Mathematicians]]
[[de:Ada Lovelace]]

=== Death ===
She died in {{lang|fr|Marylebone}} at the age of 36.

== References ==
<references />
This is text in the references section.
=== Further ===
This one as well, one level down.

== Legacy ==
The language ''Ada'' is named [[Ada (programming language)|after her]].
"""  # noqa: E501


def test_passages():
    assert passages(ARTICLE) == [
        [
            "Ada Lovelace (10 December 1815 – 1852) was an English mathematician.",
            "She wrote about Charles Babbage's engine, which weighed 3 to 5 t.",
        ],
        ["It was built of 10 parts & more, says the museum today."],
        ["But this sentence is here."],
        ["She died in Marylebone at the age of 36."],
        ["The language Ada is named after her."],
    ]


def test_broken_markup_gives_no_markup():
    text = "{{Infobox\n| a = b\nIt goes on and on.\n\n[[Some link is never closed. And on it goes."
    for sentence in (s for passage in passages(text) for s in passage):
        assert not re.search(r"[{}\[\]|]", sentence)


def _page(title: str, text: str, namespace: int = 0, redirect: bool = False) -> str:
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>7</id>"
        + ('<redirect title="X" />' if redirect else "")
        + "<revision><id>1</id><timestamp>2014-10-26T04:50:23Z</timestamp>"
        + f"<text>{text}</text></revision></page>\n"
    )


DUMP = (
    "<mediawiki><siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>"
    '<namespaces><namespace key="0" case="first-letter" />'
    '<namespace key="14" case="first-letter">Category</namespace></namespaces></siteinfo>\n'
    + _page("A", "The first article is this one.")
    + _page("B", "#REDIRECT [[A]]", redirect=True)
    + _page("Category:C", "A page about a category here.", namespace=14)
    + _page("D", "The second article is that one. It has two sentences.")
    + "</mediawiki>\n"
)


def test_a_dump_in_several_streams(tmp_path):
    path = tmp_path / "dump.xml.bz2"
    half = len(DUMP) // 2
    path.write_bytes(bz2.compress(DUMP[:half].encode()) + bz2.compress(DUMP[half:].encode()))
    reader = DumpReader(str(path))
    assert [article.title for article in reader] == ["A", "D"]
    assert reader.counts == {"articles": 2, "redirects": 1, "pages of other namespaces": 1}
    assert reader.broken == ""
    assert reader.position == path.stat().st_size


def test_a_dump_that_breaks_off(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(DUMP[: DUMP.index("It has two")])
    reader = DumpReader(str(path))
    assert [article.title for article in reader] == ["A"]
    assert "breaks off after page 'Category:C' (id 7), at byte" in reader.broken
    path.write_text("no dump")
    with pytest.raises(InputError, match="is not a MediaWiki dump: .* give a file such as"):
        list(DumpReader(str(path)))


def test_the_command(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "cut.xml").write_text(DUMP[:-40])

    def run(name: str, output: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(sys.executable, "-m", "data_prep.extract_wikipedia"),
                *(f"--input_file={tmp_path}/{name}", f"--output_dir={tmp_path}/{output}"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    done = run("dump.xml", "whole")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "whole" / "wiki-00000.txt").read_text() == (
        "The first article is this one.\n\n"
        "The second article is that one.\nIt has two sentences.\n\n"
    )
    done = run("cut.xml", "cut")
    assert done.returncode == 2
    assert "cut.xml breaks off after page 'Category:C'" in done.stderr
    assert (tmp_path / "cut" / "wiki-00000.txt").read_text() == "The first article is this one.\n\n"
    assert "is there already" in run("dump.xml", "whole").stderr


def test_real_articles():
    dump = public_data("wikipedia") / (
        "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    )
    articles = list(itertools.islice(DumpReader(str(dump)), 12))
    text = "".join(extract(None, articles))
    assert len(text) > 200_000
    # No template, table, link, heading, reference, list or tag is left. (Braces and stars that
    # are part of a sentence exist: an article tells of ASCII.)
    assert not re.search(
        r"\{\{|\}\}|\{\||\|\}|\[\[|\]\]|==|<ref|</|^[*#:;|!]|\x01|\x02", text, re.M
    )
    assert not re.search(r"\b(File|Image|Category|thumb\|)\s*:", text)
    lines = text.splitlines()
    assert sum(bool(re.search(r"[.!?][\"'”’)\]]*$", line)) for line in lines) > 0.99 * len(lines)
