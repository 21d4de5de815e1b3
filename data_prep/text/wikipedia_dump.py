"""A Wikipedia dump -> its articles -> their text."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import xml.etree.ElementTree
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

import mwxml
from mwxml.element_iterator import ElementIterator
from mwxml.errors import MalformedXML

from data_prep.text.wikitext import passages
from official_bert.errors import InputError
from official_bert.path import local_copy, size_of, to_path

_ARTICLES = 0  # the namespace
# What mwxml raises for an element that lacks something, or has something else in it.
_ODD_ELEMENT = (AssertionError, AttributeError, TypeError)
# What the readers raise for files that are cut off or of another format.
_FAULTS = (
    *_ODD_ELEMENT,
    EOFError,
    OSError,
    ValueError,
    zlib.error,
    xml.etree.ElementTree.ParseError,
    MalformedXML,
)
_CHARACTERS_PER_BATCH = 1 << 20


@dataclasses.dataclass(frozen=True)
class Article:
    """A page of the dump.

    Attributes:
        title: of the page.
        wikitext: its source, of the last revision.
    """

    title: str
    wikitext: str


class DumpReader:
    """Reads a dump once through: `.xml`, `.xml.bz2` (multistream too) or `.xml.gz`.

    Args:
        path: the dump.

    Attributes:
        position: how many bytes of the file have been read.
        counts: "articles", "redirects", "pages of other namespaces" seen so far.
        broken: once the pages ended, what was wrong with the file; "" for a whole dump.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.position = 0
        self.counts: Counter[str] = Counter()
        self.broken = ""
        self._raw: IO[bytes] = open(local_copy(path), "rb")  # noqa: SIM115
        self._size = size_of(to_path(path))

    def __iter__(self) -> Iterator[Article]:
        last = "the first page"
        try:
            for page in self._pages():
                article = self._article(page)
                self.position = self._raw.tell()
                last = f"page {page.title!r} (id {page.id})"
                if article is not None:
                    yield article
        except _FAULTS as error:
            what = str(error)[:80]  # The XML reader shows a piece of the file behind that.
            if isinstance(error, _ODD_ELEMENT):
                what = "an element is not as MediaWiki writes it"
            if last == "the first page":
                raise InputError(
                    f"--input_file={self.path} is not a MediaWiki dump: {what}; "
                    "give a file such as enwiki-latest-pages-articles.xml.bz2"
                ) from error
            self.broken = (
                f"{self.path} breaks off after {last}, at byte {self._raw.tell():,} of "
                f"{self._size:,}: {what}"
            )
        finally:
            self._raw.close()

    def _pages(self) -> Iterator[Any]:
        """The pages; <siteinfo>, which some programs leave out, is needed where pages lack <ns>."""
        root = ElementIterator.from_file(self._open())
        if root.tag != "mediawiki":
            raise ValueError(f"its first element is <{root.tag}>, not <mediawiki>")
        namespaces = None
        for element in root:
            if element.tag == "siteinfo":
                found = mwxml.SiteInfo.from_element(element).namespaces
                namespaces = {namespace.name: namespace for namespace in found} if found else None
            elif element.tag == "page":
                yield mwxml.Page.from_element(element, namespaces)
            elif element.tag != "logitem":
                raise ValueError(f"<{element.tag}> stands where a page is expected")

    def _open(self) -> Any:
        if self.path.endswith(".bz2"):
            return bz2.open(self._raw)
        if self.path.endswith(".gz"):
            return gzip.open(self._raw)
        return self._raw

    def _article(self, page: Any) -> Article | None:
        text = ""
        for revision in page:
            text = revision.text or ""
        if page.namespace != _ARTICLES:
            self.counts["pages of other namespaces"] += 1
            return None
        if page.redirect is not None or text.lstrip()[:9].lower() == "#redirect":
            self.counts["redirects"] += 1
            return None
        self.counts["articles"] += 1
        return Article(page.title, text)


def batches(articles: Iterable[Article]) -> Iterator[list[Article]]:
    """Articles in groups that are worth sending to a worker."""
    batch: list[Article] = []
    size = 0
    for article in articles:
        batch.append(article)
        size += len(article.wikitext)
        if size >= _CHARACTERS_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def extract(context: None, articles: list[Article]) -> list[str]:
    """Job of a worker: the document of each article, a sentence a line; "" for one without text."""
    del context
    return [
        "".join(f"{sentence}\n" for passage in passages(article.wikitext) for sentence in passage)
        for article in articles
    ]


def no_context(settings: None) -> None:
    """Workers that extract need nothing prepared."""
