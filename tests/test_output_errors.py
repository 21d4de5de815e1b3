"""Whatever the disk does to a command's output is told in one line, with status 2."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from official_bert import file_errors
from tests.finetuning_data import TOKENS, opinions, prepare_table, write_json_lines
from tests.forked_commands import outcomes
from tests.public_data import ROOT
from tests.small_models import tiny_bundle, write_model_folder
from tests.tasks.test_sentence_prediction import SMALL

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname></siteinfo>
<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><model>wikitext</model>
<format>text/x-wiki</format><text>{}</text></revision></page></mediawiki>
"""
SENTENCE = "The good film is not the bad book that was awful. "

# Command -> its flags, that of the output last.
COMMANDS = {
    "build_vocab": (
        "data_prep.build_vocab --input_file={}/text.txt --vocab_size=150",
        "--output_file",
    ),
    "collect_docstrings": ("data_prep.collect_docstrings --max_megabytes=0.01", "--output_file"),
    "extract_wikipedia": ("data_prep.extract_wikipedia --input_file={}/dump.xml", "--output_dir"),
    "create_pretraining_data": (
        "data_prep.create_pretraining_data --input_file={}/text.txt --vocab_file={}/vocab.txt "
        "--max_seq_length=16 --max_predictions_per_seq=3",
        "--output_dir",
    ),
    "create_finetuning_data": (
        "data_prep.create_finetuning_data --task=csv --train_file={}/train.jsonl "
        "--dev_file={}/dev.jsonl --text_columns=text --vocab_file={}/vocab.txt "
        "--max_seq_length=16",
        "--output_dir",
    ),
    "train": (
        "official_bert.train --params_override=data.path={}/data,train.steps=2," + ",".join(SMALL),
        "--model_dir",
    ),
    "predict": (
        "official_bert.predict --model_dir={}/model --input_file={}/text.txt",
        "--output_file",
    ),
    "extract_features": (
        "official_bert.extract_features --model_dir={}/model --input_file={}/text.txt --layers=-1",
        "--output_file",
    ),
    "extract_features as records": (
        "official_bert.extract_features --model_dir={}/model --input_file={}/text.txt --layers=-1 "
        "--output_format=tfrecord",
        "--output_file",
    ),
    "extract_features as arrays": (
        "official_bert.extract_features --model_dir={}/model --input_file={}/text.txt --layers=-1 "
        "--output_format=npz",
        "--output_file",
    ),
    "convert_checkpoint": (
        "official_bert.convert_checkpoint --input={}/model --output_format=official_bert",
        "--output",
    ),
    "convert_checkpoint to Hugging Face": (
        "official_bert.convert_checkpoint --input={}/model --output_format=huggingface",
        "--output",
    ),
    "convert_checkpoint to TensorFlow 1": (
        "official_bert.convert_checkpoint --input={}/model --output_format=google_tf1",
        "--output",
    ),
    "ablate": (
        "official_bert.ablate --grid_file={}/grid.yaml --params_override=data.path={}/data,"
        + ",".join(SMALL),
        "--output_dir",
    ),
    "export_savedmodel": (
        "export.export_savedmodel --model_dir={}/model --model_name=tiny",
        "--output_dir",
    ),
    "export_tfhub": ("export.export_tfhub --model_dir={}/model --seq_length=16", "--output_dir"),
    "export_litert": (
        "export.export_litert --model_dir={}/model --task=embed --lengths=8",
        "--output_dir",
    ),
}
QUICK = ("build_vocab", "collect_docstrings", "extract_wikipedia")
LONG = "a" * 256
# Fault -> name of the output, most bytes of a file, and what the line says.
FAULTS = {
    "a path through a file": ("{}/text.txt/out", None, "/text.txt"),
    "too long a name": ("{}/" + LONG, None, ": File name too long: choose a shorter name"),
    "a place without files": ("/proc/out", None, "/proc/out"),
    "too large a file": ("{}/out", 150, "File too large: files there have a limit of size"),
    "a full disk": ("/dev/full", None, "/dev/full: No space left on device: free space on that"),
    "no folder": ("{}/nowhere/out", None, "/nowhere/out"),
    "a folder": ("{}/data", None, "/data"),
}
FILES_ALONE = ("a full disk", "no folder", "a folder")
# build_vocab makes the folder, and takes a device for a file that is there.
FINE = {("build_vocab", "no folder"), ("build_vocab", "a full disk")}
# Each takes the commands that say no before they load a model; the rest is slow.
CASES = [
    (name, fault)
    for name, (_, flag) in COMMANDS.items()
    for fault in FAULTS
    if (fault not in FILES_ALONE or flag == "--output_file") and (name, fault) not in FINE
]


def _is_quick(name, fault):
    return (
        name in QUICK
        or name.startswith("create_")
        or fault == "a path through a file"
        or (fault == "no folder" and name in ("predict", "extract_features"))
        or (name in ("predict", "ablate", "export_savedmodel") and fault != "too large a file")
        or (name.startswith("convert_checkpoint") and fault == "too large a file")
    )


QUICK_CASES = [case for case in CASES if _is_quick(*case)]
SLOW_CASES = [case for case in CASES if not _is_quick(*case)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "text.txt").write_text((SENTENCE * 4 + "\n") * 40)
    (folder / "dump.xml").write_text(DUMP.format(SENTENCE * 40))
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    (folder / "grid.yaml").write_text("seeds: [1]\n")
    rows = {"train": opinions(8), "dev": opinions(4)}
    prepare_table(folder, rows)
    for split, of_split in rows.items():
        write_json_lines(folder / f"{split}.jsonl", of_split)
    write_model_folder(folder / "model", tiny_bundle())
    return folder


def _check(folder, cases):
    """Runs all cases; every outcome that is no line is in the one failure."""
    before = sorted(folder.rglob("*"))
    runs = []
    for name, fault in cases:
        command, flag = COMMANDS[name]
        place, limit, _ = FAULTS[fault]
        # A training that cannot go on keeps its folder: each case has one of its own.
        place = re.sub("^{}/out$", f"{{}}/out {len(runs)}", place)
        words = [*command.split(), f"{flag}={place}"]
        runs.append(
            {"command": [word.replace("{}", str(folder)) for word in words], "limit": limit}
        )
    wrong = []
    for (name, fault), outcome in zip(cases, outcomes(runs), strict=True):
        lines = [x for x in outcome["stderr"].splitlines() if x.startswith("error: ")]
        if (
            outcome["status"] != 2
            or not 1 <= len(lines) <= (2 if name == "ablate" else 1)  # Its run's line and its own.
            or FAULTS[fault][2] not in lines[0]
            or "bert-tmp" in lines[0]
            or "Traceback" in outcome["stderr"]
        ):
            wrong.append((name, fault, outcome["status"], outcome["stderr"][-1500:]))
    assert wrong == []
    left = set(folder.rglob("*")) - set(before)
    # A training that cannot go on keeps what it has, and --resume goes on from out 7.partial.
    tops = {path.relative_to(folder).parts[0] for path in left}
    assert {name for name in tops if not name.startswith("out ")} == set()


def test_outputs_that_cannot_be_written(folder):
    assert len(QUICK_CASES) >= 45
    _check(folder, QUICK_CASES)


@pytest.mark.slow
def test_outputs_that_cannot_be_written_after_some_time(folder):
    _check(folder, SLOW_CASES)


# ---- errors -> lines ----------------------------------------------------------------------------

LINES = {
    OSError(28, "No space left on device"): "a file: No space left on device: free space",
    PermissionError(13, "Permission denied", "/a/b"): "/a/b: Permission denied: change the perm",
    OSError(30, "Read-only file system", "x"): "x: Read-only file system: choose a place on a disk",
    OSError(122, "Disk quota exceeded", b"x"): "x: Disk quota exceeded: delete something",
    OSError(5, "Input/output error", "x"): "x: Input/output error: the disk or the way to it",
    OSError(24, "Too many open files", "x"): "x: Too many open files: raise the limit",
    OSError(12, "Cannot allocate memory"): "the memory does not suffice: do less at once",
    OSError(28, "No space left on device", "from", None, "to"): "to: No space left on device: free",
    OSError(99, "Odd", "x"): "x: Odd: choose another place",
    FileNotFoundError(2, "No such file or directory", "/no/b"): "/no/b: No such file or directory: "
    "make the folder first",
    FileNotFoundError(2, "No such file or directory", "/b"): "/b: No such file or directory: check",
    OSError("Not a gzipped file"): "Not a gzipped file",
    MemoryError(): "the memory does not suffice: do less at once",
    MemoryError("Unable to allocate 8 GiB"): "the memory does not suffice (Unable to allocate 8",
}


@pytest.mark.parametrize("error", LINES, ids=repr)
def test_an_error_that_a_user_can_mend_is_a_line(error):
    line = file_errors.explain(error)
    assert line is not None and line.startswith(LINES[error])


@pytest.mark.parametrize(
    "error",
    [
        OSError(9, "Bad file descriptor"),
        OSError(),
        KeyError("a"),
        ValueError("b"),
        NotImplementedError(),
    ],
    ids=repr,
)
def test_a_fault_of_ours_is_none(error):
    assert file_errors.explain(error) is None


def test_errors_of_tensorflow_are_lines_too(tmp_path):
    import tensorflow as tf

    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

    def write(path):
        with tf.io.TFRecordWriter(str(path)) as writer:
            writer.write(b"a" * 100_000)

    calls = {
        "/dev/full: No space left on device: free": lambda: write("/dev/full"),
        f"{tmp_path}/file/a: Not a directory": lambda: write(tmp_path / "file" / "a"),
        f"{tmp_path}/no/a: No such file or directory: make": lambda: write(tmp_path / "no" / "a"),
        f"{tmp_path}/folder: Is a directory": lambda: write(tmp_path / "folder"),
        f"{tmp_path}/{LONG}: File name too long": lambda: write(tmp_path / LONG),
        f"{tmp_path}/file: Not a directory": lambda: checkpoint.write(f"{tmp_path}/file/a"),
        "/proc/a_temp: No such file or directory": lambda: checkpoint.write("/proc/a"),
        f"{tmp_path}/b: No such file": lambda: list(tf.data.TFRecordDataset(f"{tmp_path}/b")),
        f"{tmp_path}/c: No such file": lambda: tf.io.read_file(f"{tmp_path}/c"),
    }
    for expected, call in calls.items():
        with pytest.raises(tf.errors.OpError) as error:
            call()
        line = file_errors.explain(error.value)
        assert line is not None and line.startswith(expected)
    with pytest.raises(tf.errors.OpError) as error:
        tf.reshape(tf.zeros([3]), [2, 2])
    assert file_errors.explain(error.value) is None


# ---- streams and signals ------------------------------------------------------------------------

_COMMAND = """
import os, sys, time
from official_bert import cli
def main():
    exec(os.environ["MAIN"])
cli.run(main)
"""
NO_SPACE = "error: standard output: No space left on device: free space on that disk"
CLOSED = "error: standard output is closed: name a file"


def _run(main, redirection="", unbuffered=""):
    return subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {redirection}', sys.executable, _COMMAND],
        env={**os.environ, "MAIN": main, "PYTHONUNBUFFERED": unbuffered},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


STREAMS = {
    "a full disk": ("print(1)", ">/dev/full", 2, NO_SPACE),
    "a full disk, and much to say": ("print('a' * 100000)", ">/dev/full", 2, NO_SPACE),
    "closed": ("print(1)", ">&-", 2, CLOSED),
    "closed, and nothing to say": ("pass", ">&-", 2, CLOSED),
    "closed for reading": ("sys.stdin.read()", "<&-", 2, "error: standard input is closed: name a"),
    "lines of a closed one": ("list(sys.stdin.buffer)", "<&-", 2, "error: standard input is clo"),
    "closed, and not read": ("print(open('/dev/null').fileno() > 2)", "<&-", 0, ""),
    "a reader that leaves": ("[print('a' * 99) for _ in range(9999)]", "| true", 0, ""),
    "no place for errors": ("open('/nowhere')", "2>/dev/full", 2, ""),
    "errors are closed": ("open('/nowhere')", "2>&-", 2, ""),
    "no memory": ("bytearray(1 << 60)", "", 2, "error: the memory does not suffice: do less"),
}


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("case", STREAMS)
def test_streams(case, unbuffered):
    main, redirection, status, message = STREAMS[case]
    process = _run(main, redirection, unbuffered)
    assert process.returncode == status
    assert process.stderr.startswith(message)
    assert process.stderr.count("\n") == bool(message)


def test_an_exit_status_stays_where_what_was_printed_is_lost():
    process = _run("print(1); sys.exit(75)", ">/dev/full")
    assert (process.returncode, process.stderr) == (75, "")


def test_a_fault_of_ours_keeps_its_traceback():
    process = _run("{}['a']")
    assert process.returncode == 1
    assert process.stderr.startswith("Traceback") and process.stderr.endswith("KeyError: 'a'\n")


_WAITS = """
import official_bert.atomic, pathlib
with official_bert.atomic.atomic_folder(sys.argv[1]) as folder:
    print("there", flush=True)
    time.sleep(100)
"""


def _heeds_interrupts() -> None:
    """In the child: a job in the background of a shell would ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "status", "line"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")],
)
def test_a_signal_cleans_up(tmp_path, number, status, line):
    main = _WAITS.replace("sys.argv[1]", repr(str(tmp_path / "out")))
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND],
        env={**os.environ, "MAIN": main},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeds_interrupts,
    )
    assert process.stdout.readline() == "there\n"
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (status, line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5, 2.0, 3.0, 5.0])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_starting(folder, tmp_path, number, status, seconds):
    command = (
        COMMANDS["train"][0].replace("{}", str(folder)).replace("train.steps=2", "train.steps=1")
    )
    process = subprocess.Popen(
        [sys.executable, "-m", *command.split(), f"--model_dir={tmp_path / 'out'}"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeds_interrupts,
    )
    time.sleep(seconds)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (status, 75, 0)  # Saved, or finished before.
    assert "Traceback" not in errors
