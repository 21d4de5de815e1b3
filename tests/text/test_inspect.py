from __future__ import annotations

import subprocess
import sys

from official_bert.text import BertTokenizer, Vocab
from tests.public_data import ROOT
from tests.text.conftest import SPECIAL


def inspect(*arguments, stdin=b""):
    return subprocess.run(
        [sys.executable, "-m", "official_bert.text.inspect", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
    )


def test_pieces_ids_offsets_and_sources(tmp_path):
    vocab = Vocab([*SPECIAL, "", "zu", "##rich", "in"])
    BertTokenizer(vocab, keep_special_tokens=True).save(tmp_path)
    done = inspect(
        f"--model_dir={tmp_path}",
        "in Zürich [MASK]",
        b"\xff\xe2\x80\x8bin \xf0\x9f\x99\x82x".decode("utf-8", "surrogateescape"),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (
        done.stdout.decode()
        == """text: 'in Zürich [MASK]'
4 pieces, 0 unknown
id  piece   bytes  characters  from
 8  in      0:2    0:2         'in'
 6  zu      3:6    3:5         'Zü'
 7  ##rich  6:10   5:9         'rich'
 4  [MASK]  11:17  10:16       '[MASK]'
read again: in zurich [MASK]

text: '\\xff\\u200bin 🙂x'
2 pieces, 1 unknown
id  piece  bytes  characters  from
 8  in     4:6    2:4         'in'
 1  [UNK]  7:12   5:7         '🙂x'
read again: in [UNK]

"""
    )
    assert b"line 6: blank" in done.stderr


def test_lines_of_stdin_and_a_vocabulary_alone(tmp_path):
    Vocab([*SPECIAL, "IN"]).save(tmp_path / "vocab.txt")
    done = inspect(f"--vocab_file={tmp_path}/vocab.txt", "--nodo_lower_case", stdin=b"IN in\r\n\n")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split("\n")[:5] == [
        "text: 'IN in'",
        "2 pieces, 1 unknown",
        "id  piece  bytes  characters  from",
        " 5  IN     0:2    0:2         'IN'",
        " 1  [UNK]  3:5    3:5         'in'",
    ]
    assert done.stdout.decode().count("text: ") == 2


def test_mistakes_are_one_line(tmp_path):
    for arguments, message in (
        ((), "error: give one of --model_dir and --vocab_file"),
        ((f"--vocab_file={tmp_path}/no.txt", "x"), f"error: cannot read {tmp_path}/no.txt: "),
        ((f"--model_dir={tmp_path}", "x"), f"error: {tmp_path}/tokenizer_config.json: cannot read"),
    ):
        done = inspect(*arguments)
        assert done.returncode == 2
        assert done.stderr.decode().startswith(message)
        assert done.stderr.count(b"\n") == 1
