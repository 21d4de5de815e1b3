"""What does not fit is one clear line that says what was found."""

import json
import os
import shutil

import numpy as np
import pytest
import safetensors.numpy

from official_bert import BertClassifier, BertEncoder, BertPretrainer, load_pretrained
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints.bundles import bundle_of
from tests.public_data import peer
from tests.small_models import TINY


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("huggingface") / "model"
    write_pretrained(bundle_of(BertPretrainer(TINY), "pretrainer"), folder, "huggingface")
    return folder


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written, tmp_path / "model")
    return tmp_path / "model"


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_weights(folder, change):
    path = folder / "model.safetensors"
    arrays = safetensors.numpy.load_file(path)
    change(arrays)
    safetensors.numpy.save_file(arrays, path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"vocab_size": 60},
            r"bert.embeddings.word_embeddings.weight is \[50, 16\], \[60, 16\] is wanted .*"
            r"vocab_size 60",
        ),
        (
            {"num_hidden_layers": 3},
            r"arrays without a variable \(0\): none; variables without an array \(16\): "
            r"encoder/layer_2/attention/query/kernel, .*, and 11 more",
        ),
        (
            {"num_hidden_layers": 1},
            r"arrays without a variable \(16\): bert.encoder.layer.1.*, and 11 more; "
            r"variables without an array \(0\): none",
        ),
        (
            {"model_type": "distilbert"},
            "config.json describes distilbert, which is another model",
        ),
        ({"model_type": "roberta"}, "config.json describes roberta, which is another model"),
        ({"model_type": "albert"}, "config.json describes albert, which is another model"),
        (
            {"model_type": None, "architectures": ["RobertaForMaskedLM"]},
            "config.json describes RobertaForMaskedLM",
        ),
        (
            {"position_embedding_type": "relative_key"},
            "config.json has position_embedding_type 'relative_key': this is not the BERT of",
        ),
        ({"is_decoder": True}, "config.json has is_decoder True"),
        ({"hidden_act": "silu"}, "config.json has hidden_act 'silu'; known: gelu, gelu_new"),
        (
            {"num_attention_heads": 5},
            "config.json: hidden_size is 16: it must be a multiple of num_attention_heads",
        ),
        ({"id2label": {"a": "b"}}, "config.json: id2label must map numbers to names"),
    ],
)
def test_a_config_that_does_not_fit(folder, changes, message):
    change_config(folder, **changes)
    with pytest.raises(InputError, match=message) as error:
        load_pretrained(folder)
    assert "\n" not in str(error.value)


def test_another_vocabulary(folder):
    with (folder / "vocab.txt").open("a") as file:
        file.write("one_more\n")
    with pytest.raises(InputError, match="50 word embeddings and a vocabulary of 51 tokens: give"):
        load_pretrained(folder)


def test_a_pickle_with_code(folder, tmp_path):
    torch = peer("torch")

    class Code:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "was_run"),)

    (folder / "model.safetensors").unlink()
    torch.save({"weight": Code()}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="pytorch_model.bin is refused: it asks for posix.mkdir"):
        load_pretrained(folder)
    assert not (tmp_path / "was_run").exists()


@pytest.mark.parametrize("left", [4, 1000, 20000])
def test_a_truncated_safetensors_file(folder, left):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(InputError, match="model.safetensors is truncated or no safetensors file"):
        load_pretrained(folder)


def test_a_decoder_that_is_not_tied(folder):
    change_weights(
        folder, lambda a: a.update({"cls.predictions.decoder.weight": np.zeros([50, 16], "f4")})
    )
    with pytest.raises(InputError, match="cls.predictions.decoder.weight is not the same as bert."):
        load_pretrained(folder)


def test_a_head_that_nobody_knows(folder):
    change_weights(folder, lambda a: a.update({"regressor.weight": np.zeros([1, 16], "f4")}))
    with pytest.raises(InputError, match=r"arrays without a variable \(1\): regressor.weight;"):
        load_pretrained(folder)


def test_a_missing_head_is_allowed_on_request_only(tmp_path):
    folder = tmp_path / "model"
    write_pretrained(bundle_of(BertClassifier(TINY, 3), "classifier"), folder, "huggingface")
    change_weights(folder, lambda a: (a.pop("classifier.weight"), a.pop("classifier.bias")))
    with pytest.raises(
        InputError,
        match=r"without an array \(2\): classifier/kernel, classifier/bias; new heads .*new_heads",
    ):
        load_pretrained(folder)
    bundle = load_pretrained(folder, new_heads=True)
    assert bundle.new_variables == ("classifier/kernel", "classifier/bias")
    assert bundle.model.classifier.kernel.shape == [16, 3]
    assert 0 < np.abs(bundle.model.classifier.kernel).max() < 2 * TINY.initializer_range


def test_a_missing_pooler_may_be_new(folder):
    change_config(folder, architectures=["BertForSequenceClassification"])
    change_weights(
        folder,
        lambda a: [a.pop(name) for name in list(a) if name.startswith(("cls.", "bert.pooler"))],
    )
    bundle = load_pretrained(folder, new_heads=True)
    assert bundle.new_variables == (
        "classifier/kernel",
        "classifier/bias",
        "encoder/pooler/kernel",
        "encoder/pooler/bias",
    )
    assert bundle.kind == "classifier"


def test_a_lone_next_sentence_head_is_dropped(folder):
    change_weights(
        folder, lambda a: [a.pop(name) for name in list(a) if name.startswith("cls.predictions")]
    )
    change_config(folder, architectures=["BertForNextSentencePrediction"])
    bundle = load_pretrained(folder)
    assert bundle.missing_heads == ("masked_lm", "next_sentence")
    assert bundle.pretrainer is None
    assert dict(bundle.dropped) == dict.fromkeys(
        ["cls.seq_relationship.weight", "cls.seq_relationship.bias"], "a next-sentence head alone"
    )


def test_nothing_known(tmp_path):
    with pytest.raises(InputError, match="no checkpoint at .*/nowhere: there is neither a folder"):
        load_pretrained(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="holds no checkpoint that is known .* it has notes.txt$"):
        load_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": 3}')
    with pytest.raises(InputError, match="config.json but neither of .* it has config.json, notes"):
        load_pretrained(tmp_path)


def test_several_checkpoints(tmp_path):
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), tmp_path / "model", "google_tf1")
    for path in list((tmp_path / "model").glob("bert_model.ckpt.*")):
        shutil.copy(path, path.with_name(path.name.replace("bert_model", "other")))
    with pytest.raises(InputError, match=r"several checkpoints \(bert_model.ckpt, other.ckpt\)"):
        load_pretrained(tmp_path / "model")
    assert load_pretrained(tmp_path / "model" / "other.ckpt").config == TINY


@pytest.mark.parametrize("output_format", ["official_bert", "google_tf1"])
def test_a_labels_file_that_does_not_fit_the_head(output_format, tmp_path):
    bundle = bundle_of(BertClassifier(TINY, 3), "classifier", ("no", "maybe\u2028so", "yes"))
    write_pretrained(bundle, tmp_path / "model", output_format)
    assert load_pretrained(tmp_path / "model").labels == ("no", "maybe\u2028so", "yes")
    (tmp_path / "model" / "labels.txt").write_text("no\nyes\n")
    with pytest.raises(InputError, match=r"labels.txt names 2 labels, and the model has 3 classes"):
        load_pretrained(tmp_path / "model")


def test_a_label_with_a_line_break_is_not_written(tmp_path):
    bundle = bundle_of(BertClassifier(TINY, 2), "classifier", ("no", "y\nes"))
    with pytest.raises(InputError, match=r"label 1, 'y\\nes', has a line break in it"):
        write_pretrained(bundle, tmp_path / "model", "official_bert")
    assert not (tmp_path / "model").exists()


def test_a_multiple_choice_has_one_output(tmp_path):
    folder = tmp_path / "model"
    write_pretrained(bundle_of(BertClassifier(TINY, 3), "classifier"), folder, "huggingface")
    change_config(folder, architectures=["BertForMultipleChoice"])
    with pytest.raises(InputError, match=r"classifier.weight is \[16, 3\], \[16, 1\] is wanted"):
        load_pretrained(folder)
