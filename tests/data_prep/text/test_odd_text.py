"""Corpora and dumps that are not what they should be: one line, or read as they are meant."""

from __future__ import annotations

import bz2
import gzip
import os
import subprocess
import sys

import pytest

from data_prep.text.corpus import Block, expand_inputs, invalid_bytes, read_blocks
from data_prep.text.wikipedia_dump import DumpReader
from official_bert.errors import InputError
from tests.limits import limits
from tests.public_data import ROOT, public_data

DOCUMENTS = "".join(f"The {number}. sentence.\nAnd one more: schön.\n\n" for number in range(40))

CORPORA = {
    "UTF-16": (DOCUMENTS.encode("utf-16"), "is UTF-16, by .*: iconv -f UTF-16 -t UTF-8"),
    "UTF-16, big-endian": (b"\xfe\xff" + DOCUMENTS.encode("utf-16-be"), "is UTF-16"),
    "UTF-16 without a mark": (DOCUMENTS.encode("utf-16-le"), "seems to be UTF-16LE"),
    "UTF-32": (DOCUMENTS.encode("utf-32"), "is UTF-32"),
    "CR": (DOCUMENTS.replace("\n", "\r").encode(), r"carriage return: convert it: tr '\\r' '\\n'"),
    "zero bytes": (bytes(10_000), "is no text: 4096 of its first 4096 bytes are zero"),
    "a zip archive": (b"PK\x03\x04\0\0" + b"x" * 100, "is a zip archive"),
    "gzip under another name": (gzip.compress(DOCUMENTS.encode()), "gzip-compressed: unpack it"),
    "bzip2": (bz2.compress(DOCUMENTS.encode()), "bzip2-compressed: unpack it with bunzip2"),
    "a long line": (b"a " * (9 << 20), "a line has more than 16,777,216 bytes, the most"),
    "a long line behind others": (b"a\n" * 100 + b"a " * (9 << 20), "a line has more than 16,777"),
    "a document of one line of 50 MB": (b"word " * 10_000_000, "a line has more than 16,777,216"),
}


@pytest.mark.parametrize("case", CORPORA)
def test_corpora_that_are_refused(tmp_path, case):
    content, message = CORPORA[case]
    (tmp_path / "a.txt").write_bytes(content)
    with limits(), pytest.raises(InputError, match=message) as caught:
        list(read_blocks([str(tmp_path / "a.txt")]))
    assert "a.txt" in str(caught.value)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(content, 1))
    with limits(), pytest.raises(InputError, match=message):
        list(read_blocks([str(tmp_path / "a.txt.gz")]))


def test_lines_up_to_the_limit_are_read(tmp_path):
    content = b"\xef\xbb\xbfa\n" + b"b" * (16 << 20) + b"\r\nc"
    (tmp_path / "a.txt").write_bytes(content)
    blocks = list(read_blocks([str(tmp_path / "a.txt")]))
    assert b"".join(block.text for block in blocks) == content[3:]
    assert [block.ends_file for block in blocks] == [False] * (len(blocks) - 1) + [True]


INVALID = {
    "none": ("schön " * 1000, "utf-8", 0),
    "a few": ("sch\xf6n " * 99, "latin-1", 99),
    "ASCII": ("plain " * 1000, "latin-1", 0),
    "Latin-1": ("sch\xf6n " * 100, "latin-1", "of 100 such bytes: .* .*WINDOWS-1252"),
    "Windows": ("“so” " * 100, "cp1252", "is not UTF-8: if it is Windows-1252"),
    "Shift JIS": ("日本語 " * 100, "shift-jis", "is not UTF-8"),
    "GBK": ("中文文本 " * 100, "gbk", "is not UTF-8: convert"),
    "EUC-KR": ("한국어 " * 100, "euc-kr", "is not UTF-8: convert"),
    "KOI8-R": ("слово " * 100, "koi8-r", "is not UTF-8: convert"),
}


@pytest.mark.parametrize("case", INVALID)
def test_bytes_that_are_not_utf8(case):
    text, encoding, expected = INVALID[case]
    block = Block("a.txt", 0, text.encode(encoding), True, 0)
    if isinstance(expected, int):
        assert invalid_bytes(block) == expected
        return
    with pytest.raises(InputError, match=expected) as caught:
        invalid_bytes(block)
    assert str(caught.value).startswith("a.txt, bytes 0-")


def test_few_bad_bytes_among_many_good_ones_are_counted():
    text = "schön ".encode() * 1000 + b"\xff " * 300
    assert invalid_bytes(Block("a.txt", 0, text, True, 0)) == 300


def test_a_pipe_is_no_corpus(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with limits(seconds=5), pytest.raises(InputError, match="it is a named pipe"):
        expand_inputs(str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("command", "further"),
    [
        ("create_pretraining_data", ["--vocab_file={}/vocab.txt", "--output_dir={}/out"]),
        ("build_vocab", ["--output_file={}/out"]),
    ],
)
def test_the_commands_refuse_utf16(tmp_path, command, further):
    (tmp_path / "a.txt").write_bytes(DOCUMENTS.encode("utf-16"))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "sentence"]
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    done = subprocess.run(
        [sys.executable, "-m", f"data_prep.{command}", f"--input_file={tmp_path}/a.txt"]
        + [argument.format(tmp_path) for argument in further],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "a.txt is UTF-16, by its byte-order mark: convert it: iconv" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


PAGE = (
    "<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id>"
    "<timestamp>2017-10-29T00:56:32Z</timestamp><text>The house is old.</text></revision></page>"
)
SITE = "<siteinfo><sitename>W</sitename><namespaces></namespaces></siteinfo>"

GOOD_DUMPS = {
    "without siteinfo": f"<mediawiki>{PAGE}</mediawiki>",
    "with it": f"<mediawiki>{SITE}{PAGE}</mediawiki>",
    "with a log item": f"<mediawiki>{SITE}<logitem><id>5</id></logitem>{PAGE}</mediawiki>",
    "in UTF-16": f'<?xml version="1.0" encoding="utf-16"?><mediawiki>{PAGE}</mediawiki>',
}


@pytest.mark.parametrize("case", GOOD_DUMPS)
def test_dumps_that_are_read(tmp_path, case):
    encoding = "utf-16" if "UTF-16" in case else "utf-8"
    (tmp_path / "a.xml").write_bytes(GOOD_DUMPS[case].encode(encoding))
    reader = DumpReader(str(tmp_path / "a.xml"))
    assert [article.wikitext for article in reader] == ["The house is old."]
    assert reader.broken == ""


WHOLE = f"<mediawiki>{SITE}{PAGE}</mediawiki>".encode()
BAD_DUMPS = {
    "a feed": (b"<rss><channel><item>x</item></channel></rss>", "its first element is <rss>, not"),
    "HTML": (b"<html><body>x</body></html>", "its first element is <html>"),
    "an unknown element": (b"<mediawiki><entry/></mediawiki>", "<entry> stands where a page is"),
    "no XML": (b"The house is old.\n", "is not a MediaWiki dump: syntax error"),
    "nothing": (b"", "is not a MediaWiki dump"),
    "JSON": (b'{"title": "A"}', "is not a MediaWiki dump"),
    "an id that is none": (WHOLE.replace(b"<id>1<", b"<id>x<"), "is not a MediaWiki dump"),
    "an empty id": (WHOLE.replace(b"<id>1<", b"<id><"), "is not a MediaWiki dump"),
    "a page without a title": (WHOLE.replace(b"<title>A</title>", b""), "is not a MediaWiki dump"),
    "no namespaces in namespaces": (
        WHOLE.replace(b"<namespaces>", b"<namespaces><x/>"),
        "is not a MediaWiki dump",
    ),
    "a namespace without a key": (
        WHOLE.replace(b"<namespaces>", b"<namespaces><namespace/>"),
        "is not a MediaWiki dump",
    ),
    "zero bytes": (bytes(1000), "is not a MediaWiki dump"),
    "elements that cross": (b"<mediawiki><page></mediawiki></page>", "is not a MediaWiki dump"),
    "entities of entities": (
        b'<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
        + b"]><mediawiki><page><title>&m;</title></page></mediawiki>",
        "is not a MediaWiki dump",
    ),
}


@pytest.mark.parametrize("case", BAD_DUMPS)
def test_dumps_that_are_refused(tmp_path, case):
    content, message = BAD_DUMPS[case]
    (tmp_path / "a.xml").write_bytes(content)
    with limits(), pytest.raises(InputError, match=message) as caught:
        list(DumpReader(str(tmp_path / "a.xml")))
    assert "\n" not in str(caught.value)


CUT = {
    "a.xml.bz2": (bz2.compress(WHOLE)[:-10], "not a MediaWiki dump: Compressed file ended"),
    "a.xml.gz": (gzip.compress(WHOLE)[:-10], "not a MediaWiki dump: Compressed file ended"),
    "b.xml.bz2": (WHOLE, "not a MediaWiki dump: Invalid data stream"),
    "b.xml.gz": (WHOLE, "not a MediaWiki dump: Not a gzipped file"),
}


@pytest.mark.parametrize("name", CUT)
def test_archives_that_are_cut_or_none(tmp_path, name):
    content, message = CUT[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(DumpReader(str(tmp_path / name)))


def test_odd_files():
    folder = public_data("odd_files")
    articles = list(DumpReader(str(folder / "no_siteinfo.xml")))
    assert [article.wikitext for article in articles] == [
        "The house is old and stands near a river."
    ]
    with pytest.raises(InputError, match="its first element is <rss>, not <mediawiki>"):
        list(DumpReader(str(folder / "other_root.xml")))
    with pytest.raises(InputError, match="line_utf16.txt is UTF-16"):
        list(read_blocks([str(folder / "line_utf16.txt")]))
