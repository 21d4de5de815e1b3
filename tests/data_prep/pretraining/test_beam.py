"""Apache Beam makes the files that a local run makes."""

from __future__ import annotations

import gzip
import hashlib
import json
import pathlib

import numpy as np
import pytest

from data_prep.pretraining.instances import InstanceRule
from data_prep.pretraining.job import prepare
from data_prep.pretraining.records import RecordRule
from data_prep.pretraining.settings import PretrainingSettings
from official_bert.errors import InputError
from official_bert.text.masking import MaskingRule

pytest.importorskip("apache_beam", reason="Apache Beam is not installed: pip install .[beam]")

from data_prep.pretraining import (
    beam_files,
    beam_pipeline,  # noqa: E402
)

OPTIONS = ["--runner=DirectRunner"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("corpus")
    words = [f"w{i}" for i in range(300)]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    rng = np.random.default_rng(0)
    for name in ("a.txt", "b.txt", "c.txt"):
        documents = [
            "".join(
                " ".join(rng.choice(words, rng.integers(1, 12))) + "\n"
                for _ in range(rng.integers(1, 30))
            )
            for _ in range(25)
        ]
        (folder / name).write_text("\n".join(documents))
    (folder / "b.txt").write_text("")  # A file without a document changes nothing.
    return folder


def _settings(corpus: pathlib.Path, inputs=("a.txt", "b.txt", "c.txt"), **changes):
    record_changes = {name: changes.pop(name) for name in ("masks", "pack") if name in changes}
    instances = InstanceRule(32, objective=changes.pop("objective", "bert"))
    return PretrainingSettings(
        inputs=tuple(f"{corpus}/{name}" for name in inputs),
        vocab_file=f"{corpus}/vocab.txt",
        lower_case=True,
        records=RecordRule(instances, MaskingRule(max_predictions_per_seq=5), **record_changes),
        dupe_factor=2,
        num_shards=3,
        **changes,
    )


def _contents(folder: pathlib.Path) -> dict[str, str]:
    """Hashes of all files but the manifest, which has an order of its own."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    del contents["manifest.json"]
    return {
        name: hashlib.sha256(
            gzip.decompress(content) if name.endswith(".gz") else content
        ).hexdigest()
        for name, content in contents.items()
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"dev_fraction": 0.2},
        {"pack": True, "masks": "dynamic"},
        {"objective": "full_sentences", "gzip": True},
    ],
)
def test_the_same_files(corpus, tmp_path, changes):
    settings = _settings(corpus, **changes)
    here = prepare(settings, str(tmp_path / "here"))
    there = beam_pipeline.prepare(settings, str(tmp_path / "there"), options=OPTIONS)
    assert there == here
    assert sum(split["num_records"] for split in here.splits.values()) > 100
    assert _contents(tmp_path / "here") == _contents(tmp_path / "there")
    assert not (tmp_path / "there.partial").exists()


def test_overwrite(corpus, tmp_path):
    output = tmp_path / "data"
    output.mkdir()
    (output / "old.txt").touch()
    settings = _settings(corpus)
    with pytest.raises(InputError, match="is there already"):
        beam_pipeline.prepare(settings, str(output), options=OPTIONS)
    beam_pipeline.prepare(settings, str(output), options=OPTIONS, overwrite=True)
    assert not (output / "old.txt").exists()
    assert json.loads((output / "manifest.json").read_text())["task"] == "pretraining"


def test_bad_input(corpus, tmp_path):
    with pytest.raises(InputError, match="has no text"):
        settings = _settings(corpus, inputs=("b.txt",))
        beam_pipeline.prepare(settings, str(tmp_path / "data"), options=OPTIONS)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="matches no file"):
        beam_files.expand_inputs(f"{corpus}/*.doc")
    assert beam_files.expand_inputs(f"{corpus}/c.txt,{corpus}/?.txt") == [
        f"{corpus}/{name}.txt" for name in "cab"
    ]
