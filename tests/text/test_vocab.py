from __future__ import annotations

import hashlib

import pytest

from official_bert.errors import InputError
from official_bert.text import Vocab
from tests.public_data import public_data

SPECIAL = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"


def write(folder, content):
    path = folder / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_ids_are_line_numbers(tmp_path):
    vocab = Vocab.from_file(write(tmp_path, SPECIAL + "the\n##ing"))
    assert len(vocab) == 7
    assert vocab.tokens[5:] == ("the", "##ing")
    assert [vocab.id_of(t) for t in ("[PAD]", "the", "##ing")] == [0, 5, 6]
    ids = vocab.pad_id, vocab.unk_id, vocab.cls_id, vocab.sep_id, vocab.mask_id
    assert ids == (0, 1, 2, 3, 4)
    assert vocab.special_ids == {0, 1, 2, 3, 4}
    assert "the" in vocab and "a" not in vocab
    assert vocab.warnings == ()


def test_a_last_line_end_ends_the_last_line(tmp_path):
    ended = Vocab.from_file(write(tmp_path, SPECIAL + "a\n"))
    assert ended.tokens[5:] == ("a",)
    blank_line_more = Vocab.from_file(write(tmp_path, SPECIAL + "a\n\n"))
    assert blank_line_more.tokens[5:] == ("a", "")


def test_lines_end_at_line_feeds_only_and_are_stripped(tmp_path):
    vocab = Vocab.from_file(write(tmp_path, SPECIAL + "\u2028\na\u2028b\n  x \r\n\u3000\n\x85y\n"))
    assert vocab.tokens[5:] == ("", "a\u2028b", "x", "", "y")


def test_warnings_name_blank_and_repeated_lines_with_their_numbers(tmp_path):
    path = write(tmp_path, SPECIAL + "a\n\nb\na\n")
    vocab = Vocab.from_file(path)
    assert vocab.id_of("a") == 8  # as google-research/bert's load_vocab: the last one
    assert vocab.warnings == (
        f"{path}, line 6: 'a' stands again on line 9; the tokenizer answers 8, never 5",
        f"{path}, line 7: blank; its id 6 is never used",
    )


def test_missing_special_tokens_are_named(tmp_path):
    with pytest.raises(InputError, match=r"lacks \[UNK\], \[MASK\]: add them"):
        Vocab.from_file(write(tmp_path, "[PAD]\n[CLS]\n[SEP]\nthe\n"))
    with pytest.raises(InputError, match=r"lacks \[PAD\]: .*byte order mark"):
        Vocab.from_file(write(tmp_path, "\ufeff" + SPECIAL))


def test_other_names_of_special_tokens(tmp_path):
    path = write(tmp_path, "<pad>\n<unk>\n[CLS]\n[SEP]\n[MASK]\n")
    vocab = Vocab.from_file(path, {"pad_token": "<pad>", "unk_token": "<unk>"})
    assert (vocab.pad_id, vocab.unk_id) == (0, 1)


def test_unreadable_files_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*no\.txt: No such file"):
        Vocab.from_file(tmp_path / "no.txt")
    with pytest.raises(InputError, match=r"line 6: b'caf\\xe9' is not UTF-8"):
        Vocab.from_file(write(tmp_path, SPECIAL.encode() + "café\n".encode("latin-1")))
    with pytest.raises(InputError, match="cannot read .*: it is a folder"):
        Vocab.from_file(tmp_path)


def test_an_unknown_token_is_an_input_error():
    with pytest.raises(InputError, match="no token 'the'"):
        Vocab(SPECIAL.split()).id_of("the")


def test_save_writes_the_bytes_that_were_read(tmp_path):
    content = SPECIAL.encode().replace(b"\n", b"\r\n") + b" a \n\na"
    vocab = Vocab.from_file(write(tmp_path, content))
    vocab.save(tmp_path / "copy.txt")
    assert (tmp_path / "copy.txt").read_bytes() == content
    assert vocab.sha256 == hashlib.sha256(content).hexdigest()
    assert Vocab.from_file(tmp_path / "copy.txt") == vocab


def test_added_tokens_come_last_and_known_ones_keep_their_ids(tmp_path):
    vocab = Vocab.from_file(write(tmp_path, SPECIAL + "[unused0]\nthe"))
    more = vocab.with_added_tokens(["New York", "the", "C++", "New York"])
    assert more.tokens[6:] == ("the", "New York", "C++")
    assert more.sha256 != vocab.sha256
    more.save(tmp_path / "more.txt")
    assert Vocab.from_file(tmp_path / "more.txt").tokens == more.tokens
    assert vocab.unused_ids == {5}
    assert vocab.with_added_tokens(["the"]) is vocab


@pytest.mark.parametrize("token", ["", " x", "x\n", "a\nb", "\u3000"])
def test_tokens_that_a_line_cannot_hold_are_refused(token):
    with pytest.raises(InputError, match="added token"):
        Vocab(SPECIAL.split()).with_added_tokens([token])


def test_the_published_vocabularies():
    sizes = {}
    for name in ("uncased", "cased", "chinese", "multilingual-cased"):
        path = public_data(f"vocab/bert-base-{name}/vocab.txt")
        vocab = Vocab.from_file(path)
        sizes[name] = len(vocab), vocab.mask_id, len(vocab.unused_ids), len(vocab.warnings)
        assert vocab.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sizes == {
        "uncased": (30522, 103, 994, 0),
        "cased": (28996, 103, 101, 0),
        "chinese": (21128, 103, 99, 1),  # the line with U+2028
        "multilingual-cased": (119547, 103, 99, 0),
    }
