"""Paths are URLs: every command reads and writes what `tf.io.gfile` knows, or refuses in a line."""

from __future__ import annotations

import ast
import contextlib
import os
import pathlib
import runpy
import signal
import sys

import numpy as np
import pytest
from absl import flags

from official_bert import atomic, path
from official_bert.atomic import atomic_file, atomic_folder
from official_bert.checkpoints.load import load_pretrained
from official_bert.checkpoints.variables import named_variables
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from official_bert.path import files_below, local_copy, shown_paths, to_path
from official_bert.training.run_log import read_metrics
from tests.public_data import ROOT
from tests.ram_paths import ram
from tests.small_models import SMALL_ENCODER, tiny_bundle

__all__ = ["ram"]

pytestmark = pytest.mark.usefixtures("ram")


@pytest.fixture
def command(monkeypatch, capfd):
    """Runs a command in this process; gives its status and what it said on stderr."""

    def run(module, *arguments):
        before = set(flags.FLAGS)
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            runpy.run_module(module, run_name="__main__")
        except SystemExit as error:
            status = error.code
        finally:
            for name in set(flags.FLAGS) - before:
                delattr(flags.FLAGS, name)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return status, capfd.readouterr().err

    return run


def whole_line(command, root):
    """From text to answers in folders below `root`; the text is there."""

    def done(module, **named):
        arguments = [f"--{name}={value}" for name, value in named.items()]
        status, said = command(module, *arguments)
        assert status == 0, f"{module}: {said[-3000:]}"

    vocab = f"{root}/vocab/vocab.txt"
    done("data_prep.build_vocab", input_file=f"{root}/in/*.txt", vocab_size=150, output_file=vocab)
    done(
        "data_prep.create_pretraining_data",
        input_file=f"{root}/in/*.txt",
        output_dir=f"{root}/records",
        vocab_file=vocab,
        max_seq_length=16,
        max_predictions_per_seq=2,
        num_shards=2,
        dev_fraction=0.3,
    )
    done(
        "data_prep.create_finetuning_data",
        task="csv",
        text_columns="text_a",
        label_column="label",
        train_file=f"{root}/in/train.csv",
        dev_file=f"{root}/in/dev.csv",
        vocab_file=vocab,
        max_seq_length=16,
        output_dir=f"{root}/rows",
    )
    run = "train: {batch_size: 4, steps: 4, checkpoint_every_steps: 2, log_every_steps: 2}"
    with to_path(f"{root}/in/run.yaml").open("w") as file:
        file.write(run + "\nevaluation: {every_steps: 2}\n")
    done(
        "official_bert.train",
        config_file=f"{root}/in/run.yaml",
        params_override=",".join((f"data.path={root}/records", *SMALL_ENCODER)),
        model_dir=f"{root}/pretrained",
    )
    done(
        "official_bert.train",
        config_file=f"{root}/in/run.yaml",
        params_override=f"task=sentence_prediction,data.path={root}/rows,"
        f"model.pretrained={root}/pretrained",
        model_dir=f"{root}/model",
    )
    done("official_bert.evaluate", model_dir=f"{root}/model")
    done(
        "official_bert.predict",
        model_dir=f"{root}/model",
        input_file=f"{root}/in/some.txt",
        output_format="jsonl",
        output_file=f"{root}/model.jsonl",
    )
    done(
        "official_bert.predict",
        model_dir=f"{root}/model",
        split="dev",
        output_dir=f"{root}/predictions",
    )
    done("export.export_savedmodel", model_dir=f"{root}/model", output_dir=f"{root}/export")
    done(
        "official_bert.predict",
        saved_model=f"{root}/export",
        input_file=f"{root}/in/some.txt",
        output_format="jsonl",
        output_file=f"{root}/export.jsonl",
    )


def write_inputs(folder):
    words = "a fine film was seen by the good people of this small town".split()  # noqa: SIM905
    folder.mkdir(parents=True)
    for number in range(2):
        lines = []
        for start in range(60):
            step = start + number
            lines.append(" ".join(words[(step + i * 5) % len(words)] for i in range(6)) + ".")
            if start % 5 == 4:
                lines.append("")
        (folder / f"{number}.txt").write_text("\n".join(lines) + "\n")
    for split, count in (("train", 12), ("dev", 6)):
        rows = [
            f"{words[i % 12]} {words[(i * 7) % 12]},{'yes' if i % 2 else 'no'}"
            for i in range(count)
        ]
        (folder / f"{split}.csv").write_text("text_a,label\n" + "\n".join(rows) + "\n")
    (folder / "some.txt").write_text("a fine film\nthe small town\n")


@pytest.mark.slow
def test_the_whole_line_runs_on_urls_and_writes_what_it_writes_on_a_disk(command, tmp_path):
    roots = {"ram": "ram://bucket/line", "disk": str(tmp_path)}
    for root in roots.values():
        write_inputs(to_path(f"{root}/in"))
        whole_line(command, root)
    names = ["vocab/vocab.txt", "rows/manifest.json", "rows/vocab.txt", "pretrained/config.yaml"]
    for folder in ("records", "rows"):
        found = {key: files_below(to_path(f"{root}/{folder}")) for key, root in roots.items()}
        assert found["ram"] == found["disk"]
        names += [f"{folder}/{name}" for name in found["disk"] if name.endswith(".tfrecord")]
    names += ["model/labels.txt", "model.jsonl", "export.jsonl", "predictions/predictions.tsv"]
    for name in names:
        ram, disk = (to_path(f"{root}/{name}").read_bytes() for root in roots.values())
        assert ram.replace(b"ram://bucket/line", str(tmp_path).encode()) == disk, name
    for run in ("pretrained", "model"):
        reports = {
            key: [(x["step"], x["split"], x["loss"]) for x in read_metrics(f"{root}/{run}")]
            for key, root in roots.items()
        }
        assert reports["ram"] == reports["disk"]
        assert len(reports["ram"]) == 4


# Each place where a command takes a path, with what else it wants.
PLACES = [
    ["data_prep.build_vocab", "input_file", "--output_file=v"],
    ["data_prep.build_vocab", "output_file", "--input_file=text"],
    ["data_prep.extract_wikipedia", "input_file", "--output_dir=w"],
    ["data_prep.extract_wikipedia", "output_dir", "--input_file=text"],
    ["data_prep.create_pretraining_data", "input_file", "--output_dir=o", "--vocab_file=text"],
    ["data_prep.create_pretraining_data", "output_dir", "--input_file=text", "--vocab_file=text"],
    ["data_prep.create_pretraining_data", "vocab_file", "--input_file=text", "--output_dir=o"],
    ["data_prep.create_finetuning_data", "vocab_file", "--task=cola", "--output_dir=o"],
    ["data_prep.create_finetuning_data", "data_dir", "--task=cola", "--vocab_file=text"]
    + ["--output_dir=o"],
    ["data_prep.create_finetuning_data", "train_file", "--task=cola", "--vocab_file=text"]
    + ["--output_dir=o"],
    ["data_prep.create_finetuning_data", "output_dir", "--task=cola", "--vocab_file=text"],
    ["official_bert.train", "model_dir"],
    ["official_bert.train", "config_file", "--model_dir=m"],
    ["official_bert.train", "params_override=data.path", "--model_dir=m"],
    ["official_bert.evaluate", "model_dir"],
    ["official_bert.predict", "model_dir"],
    ["official_bert.predict", "saved_model"],
    ["official_bert.predict", "litert"],
    ["official_bert.predict", "output_file", "--model_dir=m"],
    ["official_bert.extract_features", "input_file", "--model_dir=m", "--output_file=f"],
    ["official_bert.extract_features", "output_file", "--model_dir=m", "--input_file=text"],
    ["official_bert.extract_features", "model_dir", "--output_file=f", "--input_file=text"],
    ["official_bert.convert_checkpoint", "input", "--output=c"],
    ["official_bert.glue_submission", "predictions_dir", "--output_file=z"],
    ["export.export_savedmodel", "model_dir", "--output_dir=e"],
    ["export.export_savedmodel", "output_dir", "--model_dir=m"],
    ["export.export_tfhub", "model_dir", "--output_dir=e"],
    ["export.export_tfhub", "output_dir", "--model_dir=m"],
    ["export.export_litert", "model_dir", "--output_dir=e"],
    ["export.export_litert", "output_dir", "--model_dir=m"],
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]} {place[1]}")
def test_a_url_that_nobody_knows_is_one_line(command, place, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    monkeypatch.chdir(tmp_path)
    module, flag, *others = place
    status, said = command(module, f"--{flag}=nobody://b/x", *others)
    assert status == 2, said
    assert "nobody://b/x: no file system nobody:// is known here: give a path" in said
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["text"]


def test_a_text_becomes_a_path():
    assert to_path("a/b") == pathlib.Path("a/b")
    assert to_path("file:///a/b") == pathlib.Path("/a/b")
    assert os.fspath(to_path("gs://b/m") / "best") == "gs://b/m/best"
    assert os.fspath(to_path(to_path("ram://b/m")).parent) == "ram://b"


def test_a_file_at_a_url_is_there_when_its_block_has_ended_well():
    final = to_path("ram://file/a.txt")
    with pytest.raises(KeyError), atomic_file(final) as file:
        file.write("half")
        raise KeyError
    assert not final.exists()
    with atomic_file(final) as file:
        file.write("whole\n")
        assert not final.exists()
    assert final.read_bytes() == b"whole\n"


class _StoppedError(Exception):
    pass


@pytest.mark.parametrize("copies", range(4))
def test_a_folder_at_a_url_has_no_manifest_when_it_was_stopped_between_two_files(
    copies, monkeypatch
):
    final = to_path(f"ram://stopped/{copies}")
    with atomic_folder(final, last="manifest.json") as folder:
        for name in ("a", "manifest.json", "old"):
            (folder / name).write_text("before")
    made = []

    def copy_file(source, target):
        if len(made) == copies:
            raise _StoppedError
        made.append(target.name)
        path.copy_file(source, target)

    monkeypatch.setattr(atomic, "copy_file", copy_file)
    stops = contextlib.nullcontext() if copies == 3 else pytest.raises(_StoppedError)
    with stops, atomic_folder(final, overwrite=True, last="manifest.json") as folder:
        for name in ("manifest.json", "a", "z"):
            (folder / name).write_text("after")
    if copies == 3:
        assert made == ["a", "z", "manifest.json"]
        assert files_below(final) == ["a", "manifest.json", "z"]
        assert (final / "manifest.json").read_text() == "after"
    else:
        assert not (final / "manifest.json").exists()


def test_a_folder_at_a_url_is_not_replaced_unasked():
    with atomic_folder("ram://taken/m") as folder:
        (folder / "a").write_text("1")
    refused = pytest.raises(InputError, match="ram://taken/m is there already")
    with refused, atomic_folder("ram://taken/m") as folder:
        (folder / "a").write_text("2")
    assert to_path("ram://taken/m/a").read_text() == "1"


def test_errors_of_a_copy_name_the_url():
    to_path("ram://copy/d").mkdir(parents=True)
    to_path("ram://copy/d/a.txt").write_text("text")
    copy = local_copy("ram://copy/d")
    assert (copy / "a.txt").read_text() == "text"
    assert shown_paths(f"{copy}/a.txt is bad") == "ram://copy/d/a.txt is bad"
    with pytest.raises(InputError, match="cannot read ram://copy/none: No such file"):
        local_copy("ram://copy/none")


@pytest.mark.parametrize("output_format", ["official_bert", "huggingface", "google_tf1"])
def test_a_checkpoint_goes_to_a_url_and_comes_back(output_format):
    bundle = tiny_bundle()
    url = f"ram://checkpoints/{output_format}"
    write_pretrained(bundle, url, output_format)
    loaded = load_pretrained(url)
    assert os.fspath(loaded.path) == url
    assert loaded.vocab == bundle.vocab
    ours, theirs = (named_variables(each.model) for each in (bundle, loaded))
    assert ours.keys() == theirs.keys()
    for name, variable in ours.items():
        np.testing.assert_array_equal(variable.numpy(), theirs[name].numpy(), err_msg=name)


# Calls that know this machine's files only. Each has a path that is no user's, or a copy of it.
LOCAL_ONLY = {"pathlib.Path", "open", "os.open", "os.stat", "os.listdir", "os.scandir"} | {
    f"os.path.{name}" for name in ("exists", "isfile", "isdir", "getsize", "abspath", "lexists")
}
MAY_BE_LOCAL = {
    "official_bert.path": "it tells paths from URLs",
    "official_bert.atomic": "its first lines do URLs",
    "official_bert.regular_file": "its first lines do URLs",
    "official_bert.tensor_bundle": "links to files with odd names; URLs return before",
    "official_bert.cli": "the null device, and the place of this project",
    "official_bert.file_errors": "a remedy",
    "official_bert.text.tokenizer": "a temporary folder",
    "official_bert.evaluation.glue_files": "a copy",
    "official_bert.tasks.examples": "a copy",
    "official_bert.training.run_log": "URLs have a way of their own",
    "official_bert.checkpoints.torch_file": "of a copy that detect.py makes",
    "official_bert.checkpoints.readers": "safetensors of a copy that detect.py makes",
    "data_prep.text.corpus": "URLs have a way of their own",
    "data_prep.text.docstrings": "installed packages",
    "data_prep.text.text_files": "in a folder of atomic_folder",
    "data_prep.text.wikipedia_dump": "a copy",
    "data_prep.finetuning.folder": "in a folder of atomic_folder",
    "data_prep.finetuning.shuffling": "a temporary folder",
    "data_prep.finetuning.triviaqa": "a name in a record",
    "data_prep.pretraining.beam_pipeline": "a temporary folder",
    "data_prep.pretraining.beam_files": "a temporary folder",
    "data_prep.pretraining.job": "in the folder of what is under way",
    "data_prep.pretraining.partial_folder": "the folder of what is under way",
    "data_prep.pretraining.settings": "URLs have a way of their own",
    "data_prep.pretraining.token_store": "in the folder of what is under way",
    "export.fresh_process": "a temporary folder",
    "export.graph_ops": "a file of this project",
    "export.verify": "a temporary folder",
}


def test_no_module_takes_what_a_user_names_for_a_path_of_this_machine():
    found = {}
    for package in ("official_bert", "data_prep", "export"):
        for file in sorted((ROOT / package).rglob("*.py")):
            calls = {
                name
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in LOCAL_ONLY
            }
            if calls:
                found[".".join(file.relative_to(ROOT).with_suffix("").parts)] = sorted(calls)
    others = {module: calls for module, calls in found.items() if module not in MAY_BE_LOCAL}
    assert not others, "take official_bert.path.to_path, open_bytes or local_copy"
    assert not MAY_BE_LOCAL.keys() - found.keys()
