"""CoNLL files as they are published: read, mended where the user asks for it, or refused."""

from __future__ import annotations

import os

import pytest

from data_prep.finetuning.bad_rows import BadRows
from data_prep.finetuning.tagging_files import read_tagged_file
from official_bert.errors import InputError
from tests.limits import limits
from tests.public_data import public_data


def _read(path, *, skip=False, scheme="auto"):
    bad_rows = BadRows(skip=skip)
    sentences, found = read_tagged_file(path, scheme, bad_rows)
    pairs = [list(zip(s.words, s.tags, strict=True)) for s in sentences]
    return pairs, found, bad_rows.statistics()


ONE = [[("EU", "B-ORG"), ("rejects", "O")]]
TWO = [*ONE, [("Peter", "B-PER"), ("Blackburn", "I-PER")]]
GOOD = {
    "CR": ("EU B-ORG\rrejects O\r\rPeter B-PER\rBlackburn I-PER\r", TWO),
    "CRLF": ("EU B-ORG\r\nrejects O\r\n\r\nPeter B-PER\r\nBlackburn I-PER\r\n", TWO),
    "a byte-order mark": ("\ufeffEU B-ORG\nrejects O\n", ONE),
    "comments with ids": (
        "# id 5239d808\tdomain=en\nEU _ _ B-ORG\nrejects _ _ O\n\n# id 7\tdomain=en\n"
        "Peter _ _ B-PER\nBlackburn _ _ I-PER\n",
        TWO,
    ),
    "comments of CoNLL-U": ("# sent_id = 1\n# text = EU rejects\nEU\tB-ORG\nrejects\tO\n", ONE),
    "a number sign as word": ("# O\nEU B-ORG\n", [[("#", "O"), ("EU", "B-ORG")]]),
    "a number sign with a tag, by TABs": ("#\tO\n#a\tO\n# b\tO\n\nx\tB-Y\n", None),
    "spaces behind each row": ("EU B-ORG \nrejects O  \n", ONE),
    "blank lines at the end": ("EU B-ORG\nrejects O\n\n\n\n", ONE),
    "breaks of lines that are none": ("a\u2028b B-X\nc\x85d O\n", None),
    "BILOU": ("Peter B-PER\nvan I-PER\nB. L-PER\nEU U-ORG\nrejects O\n", "bilou"),
    "BMES": ("Peter B-PER\nvan M-PER\nB. E-PER\nEU S-ORG\nrejects O\n", "bmes"),
    "BIOES": ("Peter B-PER\nvan I-PER\nB. E-PER\nEU S-ORG\nrejects O\n", "bioes"),
}
THREE = [[("Peter", "B-PER"), ("van", "I-PER"), ("B.", "I-PER"), ("EU", "B-ORG"), ("rejects", "O")]]


@pytest.mark.parametrize("case", GOOD)
def test_files_that_are_read(tmp_path, case):
    text, expected = GOOD[case]
    (tmp_path / "a.conll").write_bytes(text.encode())
    pairs, found, mended = _read(tmp_path / "a.conll")
    assert mended == {}
    if isinstance(expected, str):
        assert (pairs, found) == (THREE, expected)
        assert _read(tmp_path / "a.conll", scheme=expected)[:2] == (THREE, expected)
    elif expected is not None:
        assert pairs == expected
    else:
        assert sum(map(len, pairs)) == sum(bool(line) for line in text.split("\n"))


# Text, what is said without --skip_bad_rows, words and tags with it, what is listed then.
BAD = {
    "a row without its last column": (
        "EU NNP B-NP B-ORG\nrejects VBZ B-VP \n\nPeter NN B-NP B-PER\n",
        "line 2: 3 columns, the rows before have 4: the last one must be the tag",
        [[("Peter", "B-PER")]],
        "skipped_rows",
    ),
    "a row with one more": (
        "EU B-ORG\n\na b O\n\nc O\n",
        "line 3: 3 columns, the rows before have 2",
        [[("EU", "B-ORG")], [("c", "O")]],
        "skipped_rows",
    ),
    "an empty word": (
        "Ann\tB-PER\n\tO\nleft\tO\n",
        "line 2: the word in front of 'O' is empty; --skip_bad_rows leaves such rows out",
        [[("Ann", "B-PER"), ("left", "O")]],
        "mended_rows",
    ),
    "an empty word that is an entity": (
        "Ann\tB-PER\n\tI-PER\n\nleft\tO\n",
        "line 2: the word in front of 'I-PER' is empty",
        [[("left", "O")]],
        "skipped_rows",
    ),
    "two blank lines": (
        "EU B-ORG\n\n\nPeter B-PER\n",
        "line 3: an empty sentence .*: take one out, or give --skip_bad_rows",
        [[("EU", "B-ORG")], [("Peter", "B-PER")]],
        "mended_rows",
    ),
    "a stray I- in IOB2": (
        "a O\nb I-X\nc I-X\n\nd B-X\n\ne B-X\n",
        "line 2: I-X after O: an entity starts with B-X in IOB2; .*--skip_bad_rows",
        [[("a", "O"), ("b", "B-X"), ("c", "I-X")], [("d", "B-X")], [("e", "B-X")]],
        "mended_rows",
    ),
    "a B- in IOB1": (
        "a I-X\nb O\n\nc B-X\n\nd I-X\n",
        "line 4: B-X at the start of a sentence",
        [[("a", "B-X"), ("b", "O")], [("c", "B-X")], [("d", "B-X")]],
        "mended_rows",
    ),
    "a stray I- in BIOES": (
        "a S-X\nb I-X\nc E-X\n",
        "line 2: I-X after S-X: an entity starts with B-X in BIOES",
        [[("a", "B-X"), ("b", "B-X"), ("c", "I-X")]],
        "mended_rows",
    ),
    "an E- of another type in BIOES": (
        "a B-X\nb E-Y\nc S-X\n",
        "line 1: B-X before E-Y: an entity ends with E-X in BIOES",
        [[("a", "B-X"), ("b", "B-Y"), ("c", "B-X")]],
        "mended_rows",
    ),
    "a stray I- in BILOU": (
        "a U-X\nb I-X\nc L-X\n",
        "line 2: I-X after U-X: an entity starts with B-X in BILOU",
        [[("a", "B-X"), ("b", "B-X"), ("c", "I-X")]],
        "mended_rows",
    ),
    "an L- alone": (
        "a O\nb L-X\n",
        "line 2: L-X after O: an entity starts with U-X in BILOU",
        [[("a", "O"), ("b", "B-X")]],
        "mended_rows",
    ),
    "an M- that nothing begins": (
        "a M-X\nb E-X\n",
        "line 1: M-X at the start of a sentence: an entity starts with B-X in BMES",
        [[("a", "B-X"), ("b", "I-X")]],
        "mended_rows",
    ),
    "a tag that is none": (
        "a PER\n\nb B-X\n",
        "line 1: 'PER' is not a tag",
        [[("b", "B-X")]],
        "skipped_rows",
    ),
    "a comment within a sentence": (
        "a\tO\n# id 7\n\nb\tB-X\n",
        "line 2: .* is one column|line 2: .* columns, the rows before have 2",
        [[("b", "B-X")]],
        "skipped_rows",
    ),
    "Latin-1": (
        b"a O\nsch\xf6n O\n\nb B-X\n",
        r"line 2: b'sch\\xf6n O' is not UTF-8: .*iconv -f WINDOWS-1252",
        [[("b", "B-X")]],
        "skipped_rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_files_that_are_refused_or_mended(tmp_path, case):
    text, message, pairs, listed = BAD[case]
    path = tmp_path / "a.conll"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message) as caught:
        _read(path)
    assert "\n" not in str(caught.value)
    found, _, statistics = _read(path, skip=True)
    assert found == pairs
    assert list(statistics) == [listed]
    assert all("a.conll, line " in line for line in statistics[listed])


def test_a_list_has_an_end(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("a PER\n\n" * 1500 + "b B-X\n")
    _, _, statistics = _read(path, skip=True)
    assert len(statistics["skipped_rows"]) == 1000
    assert statistics["skipped_rows_not_listed"] == 500


OTHER = {
    "UTF-16": ("EU B-ORG\nrejects O\n".encode("utf-16"), "is UTF-16, .*iconv -f UTF-16 -t UTF-8"),
    "zero bytes": (bytes(100), "is no text: 100 of its first 100 bytes are zero"),
    "nothing but bad rows": (b"a\nb\n\nc\n", "has no sentence"),
}


@pytest.mark.parametrize("case", OTHER)
def test_files_that_are_refused_whole(tmp_path, case):
    content, message = OTHER[case]
    (tmp_path / "a.conll").write_bytes(content)
    with pytest.raises(InputError, match=message):
        _read(tmp_path / "a.conll", skip=True)


def test_a_pipe_and_gigabytes_in_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with limits(seconds=5), pytest.raises(InputError, match="it is a named pipe"):
        _read(tmp_path / "pipe")
    with open(tmp_path / "a.conll", "wb") as file:
        file.write(b"x" * 8192)
        file.truncate(5 << 30)
    with limits(), pytest.raises(InputError, match="line 1 has more than 16777216 bytes"):
        _read(tmp_path / "a.conll")


PUBLIC = {
    "cr_only.conll": (None, [["EU", "rejects"], ["Peter"]]),
    "empty_word.conll": ("line 2: the word in front of 'O' is empty", [["Ann", "left"]]),
    "missing_last_column.conll": ("line 2: 3 columns, the rows before have 4", None),
    "two_blank_lines.conll": ("line 4: an empty sentence", [["EU", "rejects"], ["Peter"]]),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_odd_files(name):
    path = public_data("odd_files") / name
    message, words = PUBLIC[name]
    if message is not None:
        with pytest.raises(InputError, match=message):
            _read(path)
    if words is not None:
        pairs, _, _ = _read(path, skip=message is not None)
        assert [[word for word, _ in sentence] for sentence in pairs] == words
