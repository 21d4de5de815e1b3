from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import sys

import tensorflow as tf

from official_bert.text import BertTokenizer, Vocab
from official_bert.text.segments import join_segments
from tests.text.comparison import random_strings
from tests.text.conftest import SPECIAL

SCRIPT = pathlib.Path(__file__).with_name("load_and_run.py")
TOKENS = (
    [
        "the",
        "cat",
        "##s",
        "sat",
        "un",
        "##aff",
        "##able",
        ".",
        ",",
        "é",
        "漢",
        "σ",
        "##ς",
        "ᄀ",
        "##ᅡ",
    ]
    + [chr(code) for code in range(ord("a"), ord("z") + 1)]
    + [f"##{chr(code)}" for code in range(ord("a"), ord("z") + 1)]
)
PAIRS = [["the cats sat.", "unaffable"], ["a", "b c d e f g h i j k l m n"]]


class Joiner(tf.Module):
    """What an export does with the tokenizer, in small."""

    def __init__(self, tokenizer: BertTokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)] * 2)
    def joined(self, first, second):
        tokenized = [self.tokenizer.tokenize(first), self.tokenizer.tokenize(second)]
        return join_segments(tokenized, self.tokenizer.vocab, 16)


def run_elsewhere(folder, strings, *save_to):
    given = {"strings": [base64.b64encode(s).decode() for s in strings], "pairs": PAIRS}
    done = subprocess.run(
        [sys.executable, SCRIPT, folder, *save_to],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=folder,
        env={"TF_CPP_MIN_LOG_LEVEL": "3", "LC_ALL": "tr_TR.UTF-8"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_exported_moved_and_exported_again_it_answers_the_same(tmp_path):
    vocab_file = tmp_path / "vocab.txt"
    vocab_file.write_text("".join(f"{token}\n" for token in SPECIAL + TOKENS), "utf-8")
    tokenizer = BertTokenizer(
        Vocab.from_file(vocab_file), keep_special_tokens=True, added_tokens=["New York"]
    )
    strings = [*random_strings(300, seed=11), b"", b"the [MASK] New York ca\xffts I" + b"x" * 300]
    ids, starts, limits = tokenizer.tokenize_with_offsets(strings)
    joiner = Joiner(tokenizer)
    first, second = (tf.constant(side) for side in zip(*PAIRS, strict=True))
    expected = {
        "ids": ids.to_list(),
        "offsets": [ids.to_list(), starts.to_list(), limits.to_list()],
        "texts": [text.decode() for text in tokenizer.detokenize(ids).numpy()],
        "joined": {k: v.numpy().tolist() for k, v in sorted(joiner.joined(first, second).items())},
        "asset": vocab_file.read_text("utf-8") + "New York\n",
    }
    assert sum(map(len, expected["ids"])) > 1000
    tf.saved_model.save(joiner, tmp_path / "export")
    moved, again, moved_again = tmp_path / "moved", tmp_path / "again", tmp_path / "moved again"
    (tmp_path / "export").rename(moved)
    vocab_file.unlink()
    assert (moved / "assets" / "vocab.txt").read_text("utf-8") == expected["asset"]

    assert run_elsewhere(moved, strings, again) == expected
    again.rename(moved_again)
    for file in sorted(moved.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    assert run_elsewhere(moved_again, strings) == expected
