"""One program, written for the published modules, runs with ours and with the Model Garden's."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from export.hub_saving import export_tfhub
from official_bert.config import BertConfig
from official_bert.errors import InputError
from official_bert.models.pretrainer import BertPretrainer
from official_bert.text import BertTokenizer, Vocab
from tests.public_data import ROOT, public_data
from tests.small_models import tiny_bundle, write_model_folder

HIDDEN, LAYERS, VOCAB_SIZE = 32, 2, 30522
CONFIG = BertConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=64,
)


def run_program(*arguments):
    command = [sys.executable, "-m", "tests.export.hub_program", *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def vocab_file():
    return public_data("vocab/bert-base-uncased/vocab.txt")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of SST-2: label, TAB, sentence."""
    lines = (public_data("glue/SST-2/train.tsv")).read_text(encoding="utf-8").splitlines()[1:33]
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    pairs = [line.rsplit("\t", 1) for line in lines]
    path.write_text("".join(f"{label}\t{text.strip()}\n" for text, label in pairs))
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory, vocab_file):
    folder = tmp_path_factory.mktemp("ours")
    model = BertPretrainer(CONFIG)
    (folder / "model" / "best").mkdir(parents=True)
    (folder / "model" / "bert_config.json").write_text(CONFIG.to_json())
    BertTokenizer(Vocab.from_file(vocab_file)).save(folder / "model")
    tf.train.Checkpoint(model=model).write(str(folder / "model" / "best" / "ckpt"))
    export_tfhub(folder / "model", folder / "hub", seq_length=32)
    shutil.rmtree(folder / "model")
    shutil.move(folder / "hub", folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def official(tmp_path_factory, vocab_file):
    from official.legacy.bert.configs import BertConfig as OfficialConfig
    from official.nlp.modeling.models import BertPretrainerV2
    from official.nlp.tools import export_tfhub_lib

    folder = tmp_path_factory.mktemp("official")
    config = OfficialConfig.from_dict(
        {k: v for k, v in CONFIG.to_dict().items() if k in OfficialConfig(1).to_dict()}
    )
    pretrainer = BertPretrainerV2(encoder_network=export_tfhub_lib.get_bert_encoder(config))
    pretrainer(pretrainer.inputs)  # makes the variables of the heads
    checkpoint = tf.train.Checkpoint(**pretrainer.checkpoint_items)
    export_tfhub_lib.export_model(
        str(folder / "encoder"),
        bert_config=config,
        model_checkpoint_path=checkpoint.save(str(folder / "ckpt")),
        with_mlm=True,
        vocab_file=str(vocab_file),
        do_lower_case=True,
    )
    export_tfhub_lib.export_preprocessing(
        str(folder / "preprocessor"),
        vocab_file=str(vocab_file),
        do_lower_case=True,
        tokenize_with_offsets=True,
        default_seq_length=32,
    )
    return folder


def _check(seen):
    preprocessor, encoder = seen["preprocessor"], seen["encoder"]
    masterpiece = [[1037], [17743], [2176], [2086], [1999], [1996], [2437]]
    its_bad = [[2009], [1005], [1055], [2919]]
    assert preprocessor["tokens"] == [masterpiece, its_bad]
    assert preprocessor["with_offsets"] == [
        [masterpiece, its_bad],
        [[[0], [2], [14], [19], [25], [28], [32]], [[0], [2], [3], [5]]],
        [[[1], [13], [18], [24], [27], [31], [38]], [[2], [3], [4], [8]]],
    ]
    assert preprocessor["offset types"] == ["int32", "int64", "int64"]
    assert preprocessor["one"]["input_word_ids"][1] == [
        101, 2009, 1005, 1055, 2919, 102, *[0] * 6
    ]  # fmt: skip
    assert preprocessor["two"]["input_word_ids"] == [
        [101, 1037, 17743, 2176, 2086, 102, 1037, 17743, 2176, 102],
        [101, 2009, 1005, 1055, 2919, 102, 2009, 1005, 1055, 102],
    ]
    assert preprocessor["two"]["input_type_ids"] == [[0] * 6 + [1] * 4] * 2
    assert preprocessor["root"]["input_mask"][1] == [1] * 6 + [0] * 26
    assert preprocessor["special"] == {
        "vocab_size": VOCAB_SIZE, "start_of_sequence_id": 101, "end_of_segment_id": 102,
        "padding_id": 0, "mask_id": 103,
    }  # fmt: skip
    outputs = ["encoder_outputs", "pooled_output", "sequence_output"]
    assert encoder["keys"] == ["default", *outputs]
    assert set(encoder["mlm keys"]) >= {*outputs, "mlm_logits"}
    assert encoder["layers"] == LAYERS and encoder["shape"] == [2, 12, HIDDEN]
    assert encoder["mlm shape"] == [2, 2, VOCAB_SIZE]
    for claim in (
        "default is pooled", "last layer is states", "no dropout", "dropout in training",
        "lower case",
    ):  # fmt: skip
        assert encoder[claim] is True, claim
    assert encoder["vocab"] == VOCAB_SIZE
    assert encoder["trainable"] == 5 + 16 * LAYERS + 2
    assert encoder["mlm trainable"] == encoder["trainable"] + 5
    assert seen["pairs"] == [2, 1]
    assert seen["losses"][-1] < 0.7 * seen["losses"][0] and seen["encoder changed"]


def test_the_program_runs_with_our_modules_and_goes_on_after_saving(ours, rows, tmp_path):
    seen = run_program("train", ours / "encoder", ours / "preprocessor", rows, tmp_path / "saved")
    _check(seen)
    states, pooled = [2, 12, HIDDEN], [2, HIDDEN]
    assert seen["encoder"]["signature"] == {
        "default": pooled, "pooled_output": pooled, "sequence_output": states,
        "encoder_outputs_0": states, "encoder_outputs_1": states,
    }  # fmt: skip
    later = run_program("go_on", rows, tmp_path / "saved")
    for (one,), (other,) in zip(later["logits"], seen["logits"], strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    assert later["losses"][-1] < later["losses"][0] and later["encoder changed"]


@pytest.mark.slow
def test_the_program_runs_with_the_modules_of_the_model_garden(official, rows, tmp_path):
    arguments = (official / "encoder", official / "preprocessor", rows, tmp_path / "saved")
    _check(run_program("train", *arguments))


@pytest.mark.slow
def test_our_encoder_and_their_preprocessor_go_together(ours, official, rows, tmp_path):
    for encoder, preprocessor in ((ours, official), (official, ours)):
        seen = run_program(
            "train", encoder / "encoder", preprocessor / "preprocessor", rows, tmp_path / "saved"
        )
        _check(seen)
        shutil.rmtree(tmp_path / "saved")


def test_what_cannot_be_a_module_is_told(tmp_path):
    folder = write_model_folder(tmp_path / "no_pooler", tiny_bundle(use_pooler=False))
    with pytest.raises(InputError, match="no pooler"):
        export_tfhub(folder, tmp_path / "out", seq_length=16)
    with pytest.raises(InputError, match="seq_length=25 is above"):
        export_tfhub(folder, tmp_path / "out2", seq_length=25)
    pathlib.Path(tmp_path / "out3" / "encoder" / "x").mkdir(parents=True)
    with pytest.raises(InputError, match="is there already"):
        export_tfhub(folder, tmp_path / "out3")
