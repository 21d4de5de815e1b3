"""Folders of google-research/bert and of TF Hub with broken files beside the weights."""

import json
import os
import shutil

import pytest

from official_bert import BertClassifier, BertEncoder, load_pretrained
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints import bad_bundles as bad
from tests.checkpoints.bundles import VOCAB, bundle_of
from tests.limits import limits
from tests.small_models import TINY


def refuse(folder, message):
    with limits(), pytest.raises(InputError, match=message) as error:
        load_pretrained(folder)
    assert str(error.value).isprintable() and len(str(error.value)) < 2000


# ---- google-research/bert -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    folder = tmp_path_factory.mktemp("google") / "model"
    bundle = bundle_of(BertClassifier(TINY, 3), "classifier", ("a", "b", "c"))
    write_pretrained(bundle, folder, "google_tf1")
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"official_bert_kind": 7}, "official_bert_kind must be one of .*, got 7"),
        ({"official_bert_kind": ["classifier"]}, r"official_bert_kind must be .* got \['class"),
        ({"official_bert_kind": {}}, "official_bert_kind must be one of .*, got {}"),
        ({"official_bert_kind": "x" * 10**6}, "official_bert_kind must be one of .*, got 'xxx"),
        ({"official_bert_kind": "a\nb"}, r"official_bert_kind must be one of .*, got 'a\\nb'"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers"),
        ({"num_hidden_layers": 1000}, "variables without an array"),
        ({"num_hidden_layers": 1}, "arrays without a variable"),
        ({"vocab_size": 9 * 10**6}, r"is \[50, 16\], \[9000000, 16\] is wanted"),
        ({"vocab_size": 49}, r"is \[50, 16\], \[49, 16\] is wanted"),
        ({"hidden_size": 32}, "does not fit its config"),
        ({"hidden_act": ["gelu"]}, "hidden_act"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_a_config_with_wrong_values(google, changes, message, tmp_path):
    shutil.copytree(google, tmp_path / "model")
    path = tmp_path / "model" / "bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    refuse(tmp_path / "model", message)


# ---- TF Hub -------------------------------------------------------------------------------------


def message(tag, content):
    return bytes([tag]) + bad.varint(len(content)) + content


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """What is looked at in an export for TF Hub: variables, the graph, one asset."""
    folder = tmp_path_factory.mktemp("hub")
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), folder / "model", "model_garden")
    (folder / "hub/variables").mkdir(parents=True)
    (folder / "hub/assets").mkdir()
    VOCAB.save(folder / "hub/assets/words.txt")
    for end in ("index", "data-00000-of-00001"):
        shutil.copy(
            folder / f"model/bert_model.ckpt.{end}", folder / f"hub/variables/variables.{end}"
        )
    return folder / "hub"


VERSION = b"\x08\x01"


@pytest.mark.parametrize(
    ("graph", "hidden_act"),
    [
        (VERSION + message(0x12, message(0x12, b"Erf")), "gelu"),
        (VERSION + message(0x12, message(0x12, b"Tanh")), "gelu_tanh"),
        (VERSION + message(0x12, b""), "gelu_tanh"),
        (message(0x12, b"\x12\x00" * 10**6), "gelu_tanh"),
    ],
    ids=["erf", "tanh", "nothing in it", "a million empty messages"],
)
def test_a_graph_tells_the_activation(hub, graph, hidden_act):
    (hub / "saved_model.pb").write_bytes(graph)
    with limits():
        bundle = load_pretrained(hub)
    assert (bundle.format, bundle.config.hidden_act, bundle.vocab) == ("tf_hub", hidden_act, VOCAB)


@pytest.mark.parametrize(
    ("graph", "error"),
    [
        (b"", "it has no graph"),
        (VERSION, "it has no graph"),
        (b"hello", "no SavedModel"),
        (bytes(1000), "it has no graph"),
        (b"\xff" * 1000, "a number is too large"),
        (VERSION + b"\x12", "in the middle of a number"),
        (VERSION + message(0x12, bytes(100))[:-1], "a field at byte 104, it has 103"),
        (VERSION + b"\x12" + bad.varint(2**62), "a field at byte"),
        (VERSION + b"\x12" + b"\xff" * 10, "a number is too large"),
        (VERSION + b"\x13\x01", "a field at byte"),
        (VERSION + b"\x15\x00\x00\x00\x00", "no SavedModel"),
    ],
    ids=str,
)
def test_a_broken_graph(hub, graph, error):
    (hub / "saved_model.pb").write_bytes(graph)
    refuse(hub, f"saved_model.pb is truncated or .*{error}")


def test_a_graph_that_is_no_file(hub, tmp_path):
    shutil.copytree(hub, tmp_path / "hub")
    path = tmp_path / "hub" / "saved_model.pb"
    path.unlink()
    os.mkfifo(path)
    refuse(tmp_path / "hub", "saved_model.pb: it is a named pipe")
    path.unlink()
    with path.open("wb") as file:
        file.truncate(5 << 30)
    refuse(tmp_path / "hub", "saved_model.pb has 5368709120 bytes")
