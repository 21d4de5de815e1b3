"""What a user gives wrongly: one clear line, exit status 2, nothing left behind."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROOT = pathlib.Path(__file__).resolve().parents[3]


def _run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"data_prep.{command}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    """A small corpus, an empty one, vocabularies whole and not, and finished data."""
    folder = tmp_path_factory.mktemp("input")
    (folder / "corpus.txt").write_text("a b a\nb a\n\nb b\na\n")
    (folder / "empty.txt").write_text("\n \n\u200b\n\n")
    (folder / "vocab.txt").write_text("\n".join([*SPECIALS, "a", "b"]) + "\n")
    (folder / "no_mask.txt").write_text("\n".join([*SPECIALS[:4], "a", "b"]) + "\n")
    (folder / "done").mkdir()
    (folder / "done" / "manifest.json").write_text("{}\n")
    return folder


# Flags that are wrong, and what the line must name: the flag, the value, what to do.
_CASES = {
    "empty corpus": ("--input_file={}/empty.txt", ["empty.txt has no text", "give lines"]),
    "missing file": ("--input_file={}/none.txt", ["none.txt does not exist", "give a text file"]),
    "glob without a match": ("--input_file={}/*.doc", ["*.doc matches no file", "give a pattern"]),
    "vocabulary without [MASK]": ("--vocab_file={}/no_mask.txt", ["lacks [MASK]", "no_mask.txt"]),
    "missing vocabulary": ("--vocab_file={}/none.txt", ["none.txt", "cannot read"]),
    "short sequences": ("--max_seq_length=7", ["max_seq_length=7", "give for example 128"]),
    "no predictions": ("--max_predictions_per_seq=0", ["max_predictions_per_seq=0", "give about"]),
    "too many predictions": (
        "--max_predictions_per_seq=126",
        ["max_predictions_per_seq=126 is above 125", "give about"],
    ),
    "probability above 1": ("--masked_lm_prob=1.5", ["masked_lm_prob=1.5 is outside"]),
    "probability below 0": ("--short_seq_prob=-0.1", ["short_seq_prob=-0.1 is outside"]),
    "shares that do not add up": ("--mask_prob=0.9", ["mask_prob=0.9", "must add up to 1"]),
    "share above 1": ("--mask_prob=1.1", ["mask_prob=1.1 is outside"]),
    "n-grams without words": ("--max_ngram_size=3", ["max_ngram_size=3", "do_whole_word_mask"]),
    "folder that is there": ("--output_dir={}/done", ["done is there already", "--overwrite"]),
    "no workers": ("--num_workers=0", ["--num_workers=0 is below 1"]),
    "not a number": ("--dupe_factor=many", ["dupe_factor", "many"]),
    "unknown flag": ("--dupe_facto=3", ["dupe_facto"]),
}


@pytest.mark.parametrize("case", list(_CASES))
def test_create_pretraining_data(folder, tmp_path, case):
    flag, words = _CASES[case]
    done = _run(
        "create_pretraining_data",
        f"--input_file={folder}/corpus.txt",
        f"--vocab_file={folder}/vocab.txt",
        f"--output_dir={tmp_path}/data",
        flag.format(folder),
    )
    _is_one_line(done, words)
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in (folder / "done").iterdir()] == ["manifest.json"]


def test_bytes_that_are_not_utf8_are_skipped_counted_and_told(folder, tmp_path):
    (tmp_path / "latin.txt").write_bytes("a b é a\nü\nb a\n\nb b\na\n".encode("latin-1"))
    done = _run(
        "create_pretraining_data",
        f"--input_file={tmp_path}/latin.txt",
        f"--vocab_file={folder}/vocab.txt",
        f"--output_dir={tmp_path}/data",
    )
    assert done.returncode == 0, done.stderr
    assert "skipped 2 bytes that are not UTF-8" in done.stdout
    assert (tmp_path / "data" / "manifest.json").exists()


def test_flags_that_must_be_given(folder):
    _is_one_line(_run("create_pretraining_data"), ["input_file"])
    _is_one_line(_run("build_vocab"), ["input_file"])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--input_file={}/none.txt"], ["none.txt does not exist"]),
        (["--input_file={}/empty.txt"], ["has no word", "give text files"]),
        (["--vocab_size=6"], ["vocab_size=6 is below", "larger"]),
        (["--output_file={}/vocab.txt"], ["vocab.txt is there already", "--overwrite"]),
    ],
)
def test_build_vocab(folder, tmp_path, flags, words):
    done = _run(
        "build_vocab",
        f"--input_file={folder}/corpus.txt",
        f"--output_file={tmp_path}/vocab.txt",
        "--num_unused=0",
        *(flag.format(folder) for flag in flags),
    )
    _is_one_line(done, words)
    assert list(tmp_path.iterdir()) == []


def _is_one_line(done: subprocess.CompletedProcess[str], words: list[str]) -> None:
    assert done.returncode == 2, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]
    assert done.stdout == ""
