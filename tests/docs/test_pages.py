"""What the pages of documentation point to is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import PAGES, ROOT
from tests.test_floors import FLOORS, FOR_DATA_PREP, GROUND, SIDEWAYS

_OURS = ("official_bert", "data_prep", "export", "configs", "tests", "docs", "examples", ".ci")
_page = pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


def _anchors(page: str) -> set[str]:
    """ "## A new kind of head" -> "a-new-kind-of-head", as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@_page
def test_links_lead_somewhere(path):
    page = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        linked = path.parent / name if name else path
        assert linked.exists(), f"{path}: {target}"
        assert not anchor or anchor in _anchors(linked.read_text(encoding="utf-8")), target


@_page
def test_paths_exist(path):
    """`official_bert/x.py`, configs/x.yaml with or without *; `x.py` stands somewhere."""
    page = path.read_text(encoding="utf-8")
    rooted = re.findall(
        rf"(?<![\w/.-])((?:{'|'.join(map(re.escape, _OURS))})/[\w./*-]*[\w*/])", page
    )
    for name in rooted:
        # A name that ends without a suffix is a folder.
        assert list(ROOT.glob(name)), f"{path}: {name}"
    for name in re.findall(r"`(\w+\.(?:py|md|toml))`", page):
        assert list(ROOT.glob(name)) or any(
            list((ROOT / folder).rglob(name)) for folder in ("official_bert", "data_prep", "export")
        ), f"{path}: {name}"


@_page
def test_commands_exist(path):
    page = path.read_text(encoding="utf-8")
    for module in re.findall(r"python -m ((?:official_bert|data_prep|export)[\w.]*)", page):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), f"{path}: {module}"


@_page
def test_names_are_in_the_files_that_are_said_to_have_them(path):
    """`warm_up_and_decay` in `official_bert/training/optimization.py`."""
    page = path.read_text(encoding="utf-8")
    for names, module in re.findall(r"((?:`[\w.]+`(?:,| and)? )+)in `([\w/]+\.py)`", page):
        source = (ROOT / module).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w.]+)`", names):
            own = name.rpartition(".")[2]
            assert re.search(rf"^ *(def |class )?{own}\b", source, re.MULTILINE), f"{path}: {name}"


def test_the_floors_are_those_that_are_held():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (.+) \|$", page, re.MULTILINE)
    named = {int(floor): re.findall(r"`(\w+)`", parts) for floor, parts in rows}
    assert {floor: set(parts) for floor, parts in named.items()} == dict(enumerate(FLOORS))
    assert tuple(named[0]) == (*GROUND, "text", "layers")
    # The sentence about floor 0 has no other exceptions.
    assert SIDEWAYS["text"] == set(GROUND) - {"config"}
    assert SIDEWAYS["layers"] == {"errors", "config"}
    assert set(SIDEWAYS) == set(named[0])
    seen = page.partition("`data_prep` sees of official_bert: ")[2].partition(".\n")[0]
    assert set(re.findall(r"`([\w.]+)`", seen)) == FOR_DATA_PREP
