"""CoNLL files: every form that is read, every mistake that is named, the three conventions."""

import pytest

from data_prep.finetuning.tagging_files import read_sentences, read_tagged_file
from data_prep.finetuning.tagging_schemes import (
    find_scheme,
    iob2_labels,
    to_iob2,
    types_of,
    violations,
)
from official_bert.errors import InputError
from tests.public_data import TESTDATA, public_data

# One text in each convention: a person; a company next to another; a place of one word.
IOB2 = [["B-PER", "I-PER", "O", "B-ORG", "I-ORG", "B-ORG", "O"], ["B-LOC", "O"]]
IOB1 = [["I-PER", "I-PER", "O", "I-ORG", "I-ORG", "B-ORG", "O"], ["I-LOC", "O"]]
BIOES = [["B-PER", "E-PER", "O", "B-ORG", "E-ORG", "S-ORG", "O"], ["S-LOC", "O"]]


def _write(path, sentences, separator=" "):
    path.write_text(
        "\n".join(
            "".join(f"w{i}{separator}{tag}\n" for i, tag in enumerate(tags)) for tags in sentences
        )
    )
    return path


@pytest.mark.parametrize(("name", "tags"), [("iob1", IOB1), ("iob2", IOB2), ("bioes", BIOES)])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_all_conventions_give_the_same_entities(tmp_path, name, tags, separator):
    path = _write(tmp_path / "a.conll", tags, separator)
    for scheme in ("auto", name):
        sentences, found = read_tagged_file(path, scheme)
        assert found == name
        assert [sentence.tags for sentence in sentences] == IOB2
        assert sentences[0].words == ["w0", "w1", "w2", "w3", "w4", "w5", "w6"]


def test_types_and_labels():
    assert types_of(IOB2) == ["LOC", "ORG", "PER"]
    assert iob2_labels(["LOC", "creative-work"]) == [
        "O",
        "B-LOC",
        "I-LOC",
        "B-creative-work",
        "I-creative-work",
    ]
    assert find_scheme([["O", "O"]]) == "iob2"


def test_an_inside_tag_after_another_type():
    tags = ["B-PER", "I-LOC"]
    assert list(violations(tags, "iob2")) == [
        (1, "I-LOC after B-PER: an entity starts with B-LOC in IOB2")
    ]
    assert list(violations(tags, "bioes")) == [
        (0, "B-PER before I-LOC: an entity ends with E-PER in BIOES"),
        (1, "I-LOC after B-PER: an entity starts with B-LOC in BIOES"),
    ]
    assert list(violations(["I-PER", "I-LOC"], "iob1")) == []
    assert to_iob2(["I-PER", "I-LOC"], "iob1") == ["B-PER", "B-LOC"]


def test_documents_lines_and_what_stands_between(tmp_path):
    path = tmp_path / "a.conll"
    path.write_bytes(
        b"\xef\xbb\xbfa x O\r\nb y B-X\r\n\r\n-DOCSTART- -X- O\r\n\r\nc\xc2\xa0d z B-X\n"
        b"-DOCSTART- O\ne z O\n \n\n\n"
    )
    sentences = list(read_sentences(path))
    assert [s.words for s in sentences] == [["a", "b"], ["c\xa0d"], ["e"]]
    assert [s.tags for s in sentences] == [["O", "B-X"], ["B-X"], ["O"]]
    assert [s.document for s in sentences] == [0, 1, 2]
    assert [s.line for s in sentences] == [1, 6, 8]
    assert [s.lines for s in sentences] == [["a x O", "b y B-X"], ["c\xa0d z B-X"], ["e z O"]]
    assert [s.before for s in sentences] == [[], ["", "-DOCSTART- -X- O", ""], ["-DOCSTART- O"]]
    assert [s.after for s in sentences] == [[], [], [" ", "", ""]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a O\nb\n", "line 2: 'b' is one column: write a word and its tag, O where it has none"),
        ("a O\n\tB-X\n", "line 2: the word in front of 'B-X' is empty"),
        ("a O\nb PER\n", "line 2: 'PER' is not a tag: write O, or B-, I-, E- or S-"),
        ("a B-\n", "line 1: 'B-' is not a tag"),
        ("a\tO\t\n", "line 1: '' is not a tag"),
        ("a O\n\n\nb O\n", r"line 3: an empty sentence \(two blank lines in a row\): take one out"),
        ("a B-X\nb I-Y\n", "line 2: I-Y after B-X: an entity starts with B-Y in IOB2; --tag_sch"),
        ("a O\nb I-X\n\nc B-X\n\nd B-X\n", "line 2: I-X after O: an entity starts with B-X"),
        ("a I-X\nb O\n\nc B-X\n\nd I-X\n", "line 4: B-X at the start of a sentence: B- only parts"),
        ("a B-X\nb E-Y\n", "line 1: B-X before E-Y: an entity ends with E-X in BIOES"),
        ("", "a.conll has no sentence"),
        ("\n\n", "a.conll has no sentence"),
        ("-DOCSTART- O\n", "a.conll has no sentence"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    path = tmp_path / "a.conll"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_tagged_file(path)


def test_a_convention_that_was_given_is_held(tmp_path):
    path = _write(tmp_path / "a.conll", BIOES)
    with pytest.raises(InputError, match="line 2: E-PER: IOB2 has only B-, I- and O"):
        read_tagged_file(path, "iob2")
    with pytest.raises(InputError, match="line 1: B-PER at the start of a sentence: B- only"):
        read_tagged_file(_write(path, IOB2), "iob1")


def test_bytes_that_are_no_text_and_a_missing_file(tmp_path):
    path = tmp_path / "a.conll"
    path.write_bytes(b"a O\n\xff O\n")
    with pytest.raises(InputError, match=r"line 2: b'\\xff O' is not UTF-8"):
        read_tagged_file(path)
    with pytest.raises(InputError, match="cannot read .*nowhere: No such file"):
        read_tagged_file(tmp_path / "nowhere")


def test_sentences_of_two_documents():
    read, found = read_tagged_file(TESTDATA / "entities.conll")
    assert found == "iob2"
    assert [len(sentence.words) for sentence in read] == [9, 9, 12, 3]
    assert read[0].document == read[1].document != read[2].document == read[3].document
    assert list(read[2].words[:4]) == ["In", "Zürich", "Geneva", "trains"]
    assert list(read[2].tags[:4]) == ["O", "B-LOC", "B-LOC", "O"]
    assert list(read[3].tags) == ["O", "O", "O"]


@pytest.mark.parametrize(
    ("name", "scheme", "sentences", "words", "documents", "entities"),
    [
        ("ner/wnut17/wnut17train.conll", "iob2", 3394, 62730, 1, 1975),
        ("ner/wnut17/emerging.dev.conll", "iob2", 1009, 15733, 1, 836),
        ("ner/wnut17/emerging.test.annotated", "iob2", 1287, 23394, 1, 1079),
        ("ner/wikigold/wikigold.conll.txt", "iob1", 1696, 39007, 145, 3558),
        ("fixtures/hf_transformers/GermEval/dev.txt", "iob2", 11, 192, 1, 18),
    ],
)
def test_published_files(name, scheme, sentences, words, documents, entities):
    read, found = read_tagged_file(public_data(name))
    assert found == scheme
    assert len(read) == sentences
    assert sum(len(sentence.words) for sentence in read) == words
    assert len({sentence.document for sentence in read}) == documents
    assert sum(tag[0] == "B" for sentence in read for tag in sentence.tags) == entities
