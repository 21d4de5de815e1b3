"""Hugging Face folders with files that are broken or were made to do harm: one line each."""

import json
import math
import os
import shutil
import struct

import numpy as np
import pytest
import safetensors.numpy

from official_bert import BertClassifier, load_pretrained
from official_bert.checkpoints.tokenizer_files import find_tokenizer
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from tests.checkpoints.bundles import bundle_of
from tests.limits import limits
from tests.small_models import TINY


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("huggingface") / "model"
    bundle = bundle_of(BertClassifier(TINY, 3), "classifier", ("a", "b", "c"))
    write_pretrained(bundle, folder, "huggingface")
    return folder


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written, tmp_path / "model")
    return tmp_path / "model"


def refuse(folder, message):
    with limits(), pytest.raises(InputError, match=message) as error:
        load_pretrained(folder)
    line = str(error.value)
    assert len(line) < 2000 and line.isprintable()


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classifier_dropout": "a"}, "classifier_dropout must be a number .* got 'a'"),
        ({"classifier_dropout": 7}, "classifier_dropout must be .* got 7"),
        ({"classifier_dropout": 1}, "classifier_dropout must be .* got 1"),
        ({"classifier_dropout": -0.5}, "classifier_dropout must be .* got -0.5"),
        ({"classifier_dropout": True}, "classifier_dropout must be .* got True"),
        ({"classifier_dropout": float("nan")}, "NaN is no JSON number"),
        ({"classifier_dropout": float("inf")}, "Infinity is no JSON number"),
        ({"classifier_dropout": [0.1]}, r"classifier_dropout must be .* got \[0.1\]"),
        ({"classifier_dropout": {}}, "classifier_dropout must be .* got {}"),
        ({"classifier_dropout": ""}, "classifier_dropout must be .* got ''"),
        ({"hidden_act": ["gelu"]}, r"has hidden_act \['gelu'\]; known: gelu, "),
        ({"hidden_act": {}}, "has hidden_act {}"),
        ({"hidden_act": None}, "has hidden_act None"),
        ({"hidden_act": 3}, "has hidden_act 3"),
        ({"hidden_act": "g" * 10**6}, r"has hidden_act 'ggg.*\.\.\..*ggg'; known"),
        ({"architectures": 7}, "architectures must be a list of names, got 7"),
        ({"architectures": [7]}, r"architectures must be a list of names, got \[7\]"),
        ({"architectures": [None]}, "architectures must be a list of names"),
        ({"architectures": [["BertModel"]]}, "architectures must be a list of names"),
        ({"architectures": "BertModel"}, "architectures must be a list of names"),
        ({"architectures": {"BertModel": 1}}, "architectures must be a list of names"),
        ({"architectures": ["A\n\u2028" + "B" * 10**6]}, r"describes A\\n\\u2028BB*, which"),
        ({"model_type": 7}, "model_type must be a name, got 7"),
        ({"model_type": ["bert"]}, "model_type must be a name, got"),
        ({"id2label": []}, r"id2label must map numbers to names, got \[\]"),
        ({"id2label": "abc"}, "id2label must map numbers to names, got 'abc'"),
        ({"id2label": 3}, "id2label must map numbers to names, got 3"),
        ({"id2label": {"x": "a"}}, "id2label must map numbers to names"),
        ({"id2label": {"-1": "a"}}, "id2label must map numbers to names"),
        ({"id2label": {"1e1": "a"}}, "id2label must map numbers to names"),
        ({"id2label": {"9" * 5000: "a"}}, "id2label must map numbers to names"),
        ({"id2label": {"0": "a", "00": "b", "1": "c"}}, "id2label must map numbers to names"),
        ({"id2label": {"1": "a", "2": "b", "3": "c"}}, "not for the ids 0 to 2"),
        ({"id2label": {"0": "a", "1": "b", "9": "c"}}, "not for the ids 0 to 2"),
        ({"id2label": {"0": "a", "1": "b", "2": None}}, "gives 2 the name None"),
        ({"id2label": {"0": "a", "1": "b", "2": ["c"]}}, r"gives 2 the name \['c'\]"),
        ({"id2label": {"0": "a", "1": {}, "2": "c"}}, "gives 1 the name {}"),
        ({"id2label": {"0": "a", "1": True, "2": "c"}}, "gives 1 the name True"),
        ({"id2label": {"0": "a", "1": 1.5, "2": "c"}}, "gives 1 the name 1.5"),
        ({"id2label": {"0": "a", "1": "b\nc", "2": "d"}}, r"a line break in 'b\\nc'"),
        ({"id2label": {"0": "a", "1": "b\u2028c", "2": "d"}}, r"a line break in 'b\\u2028c'"),
        ({"id2label": {"0": "a", "1": "b\x85", "2": "d"}}, r"a line break in 'b\\x85'"),
        ({"id2label": {"0": "a\r", "1": "b", "2": "d"}}, r"a line break in 'a\\r'"),
        ({"id2label": {"0": "a\x0b", "1": "b", "2": "d"}}, r"a line break in 'a\\x0b'"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers"),
        ({"num_hidden_layers": 900}, "variables without an array"),
        ({"num_hidden_layers": 10**60}, "num_hidden_layers"),
        ({"num_hidden_layers": "2"}, "num_hidden_layers"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"num_hidden_layers": 2.5}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"vocab_size": 10**9}, "vocab_size"),
        ({"vocab_size": 9 * 10**6}, r"\[50, 16\], \[9000000, 16\] is wanted"),
        ({"hidden_size": 65536}, "does not fit its config"),
        ({"intermediate_size": 10**6}, "does not fit its config"),
        ({"max_position_embeddings": 10**6}, "does not fit its config"),
        ({"type_vocab_size": 10**4}, "does not fit its config"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"layer_norm_eps": "a"}, "layer_norm_eps"),
        ({"hidden_dropout_prob": [0.1]}, "hidden_dropout_prob"),
        ({"is_decoder": "no"}, "has is_decoder 'no'"),
        ({"pruned_heads": {"0": [1] * 10**5}}, "has pruned_heads {'0': .*}: this is not the BERT"),
        ({"position_embedding_type": []}, r"has position_embedding_type \[\]"),
        ({"position_embedding_type": None}, "has position_embedding_type None"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_a_config_with_wrong_values(folder, changes, message):
    change(folder / "config.json", **changes)
    refuse(folder, message)


def test_a_config_without_the_number_of_heads(folder):
    fields = json.loads((folder / "config.json").read_text())
    fields["n_heads"] = fields.pop("num_attention_heads")
    (folder / "config.json").write_text(json.dumps(fields))
    refuse(folder, "config.json has no num_attention_heads, and the weights do not say")


def test_values_that_are_right(folder):
    change(
        folder / "config.json",
        classifier_dropout=0,
        id2label={"0": 0, "2": "x y", "1": ""},
        architectures=None,
    )
    assert load_pretrained(folder).labels == ("0", "", "x y")


INDEX = "model.safetensors.index.json"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must hold a JSON object, got list"),
        (None, "must hold a JSON object, got NoneType"),
        ({}, "weight_map must be an object of names and files, got None"),
        ({"weight_map": None}, "weight_map must be an object of names and files, got None"),
        ({"weight_map": []}, r"weight_map must be an object of names and files, got \[\]"),
        ({"weight_map": {}}, "weight_map must be an object of names and files, got {}"),
        ({"weight_map": "a"}, "weight_map must be an object of names and files, got 'a'"),
        ({"weight_map": {"a": 7}}, "names no file for 'a': 7"),
        ({"weight_map": {"a": None}}, "names no file for 'a': None"),
        ({"weight_map": {"a": ["part"]}}, r"names no file for 'a': \['part'\]"),
        ({"weight_map": {"a": ""}}, "names no file for 'a': ''"),
        ({"weight_map": {"a": "."}}, "names no file for 'a': '.'"),
        ({"weight_map": {"a": ".."}}, "names no file for 'a': '..'"),
        ({"weight_map": {"a": "a\0b"}}, r"names no file for 'a': 'a\\x00b'"),
        ({"weight_map": {"a": "a\nb"}}, r"names no file for 'a': 'a\\nb'"),
        ({"weight_map": {"a": "/etc/passwd"}}, "points outside its folder: '/etc/passwd'"),
        ({"weight_map": {"a": "../part"}}, "points outside its folder: '../part'"),
        ({"weight_map": {"a": "sub/part"}}, "points outside its folder: 'sub/part'"),
        ({"weight_map": {"a": "nothing"}}, "cannot read .*/nothing: No such file"),
        ({"weight_map": {"a": "pipe"}}, "cannot read .*/pipe: it is a named pipe"),
        ({"weight_map": {"a": "folder"}}, "cannot read .*/folder: it is a folder"),
        ({"weight_map": {"a": "n" * 300}}, "File name too long"),
        ({"weight_map": {str(i): str(i) for i in range(2000)}}, "names 2000 files"),
        ({"weight_map": {"a": "part"}}, "part has no 'a', which .*index.json says that it has"),
        (
            {"weight_map": {"classifier.bias": "part", "a": "copy"}},
            "copy has 'classifier.bias', which lies in 'part'",
        ),
        ({"weight_map": {"classifier.bias": "text"}}, "text is truncated or no safetensors file"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_index_of_parts_with_wrong_values(content, message, folder):
    (folder / "model.safetensors").rename(folder / "part")
    shutil.copy(folder / "part", folder / "copy")
    (folder / "text").write_text("hello")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / INDEX).write_text(json.dumps(content))
    refuse(folder, message)


def test_an_index_of_parts_that_is_right(folder):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = list(arrays)
    for part, chosen in (("one", names[::2]), ("two", names[1::2])):
        safetensors.numpy.save_file({name: arrays[name] for name in chosen}, folder / part)
    weight_map = {name: "two" if i % 2 else "one" for i, name in enumerate(names)}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    assert load_pretrained(folder).labels == ("a", "b", "c")
    weight_map[names[0]] = "two"
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    refuse(folder, f"one has '{names[0]}', which lies in 'two' by model.safetensors.index.json")


# ---- weights ------------------------------------------------------------------------------------


def header(text, data=bytes(24), length=None):
    content = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("<Q", len(content) if length is None else length) + content + data


def one(**changes):
    return {"a": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24], **changes}}


TWO = one()["a"]
SAFETENSORS = {
    "nothing": (b"", "it has 0 bytes"),
    "seven bytes": (bytes(7), "it has 7 bytes"),
    "no header": (header({})[:8], "its header should have 2"),
    "a header of 2 ** 63 bytes": (header({}, length=2**63), "should have 9223372036854775808"),
    "a header of 2 ** 64 bytes": (header({}, length=2**64 - 1), "should have 18446744073709551615"),
    "a header of 17 MB": (header(b" " * (17 << 20)), "a header of 17825792 bytes"),
    "text": (b"version https://git-lfs.github.com/spec/v1\n", "it has 43 bytes"),
    "no JSON": (header(b"hello"), "the header is not a JSON file"),
    "no text": (header(b'{"\xff":1}'), "the header is not UTF-8"),
    "a list": (header([]), "the header must hold a JSON object, got list"),
    "deep": (header(b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}"), "nested more than 64 deep"),
    "a name twice": (
        header(json.dumps(one())[:-1].encode() + b"," + json.dumps(one())[1:].encode()),
        "the key 'a' stands twice",
    ),
    "a number": (header({"a": 7}), "'a' is 7"),
    "no type": (header({"a": {"shape": [6], "data_offsets": [0, 24]}}), "'a' is {"),
    "a type that is a number": (header(one(dtype=7)), "'a' is {"),
    "an unknown type": (header(one(dtype="F33")), "or no safetensors file: .*F33"),
    "a type with a line break": (header(one(dtype="F\n")), "or no safetensors file"),
    "a name with a line break": (header({"a\nb": TWO}), r"'a\\nb' is {"),
    "a long name": (header({"a" * 10**6: TWO}), r"'aaa.*\.\.\..*aaa' is {"),
    "a negative size": (header(one(shape=[-6])), "or no safetensors file"),
    "a size that is true": (header(one(shape=[True])), "or no safetensors file"),
    "a shape that is a number": (header(one(shape=6)), "or no safetensors file"),
    "a shape that overflows": (header(one(shape=[2**62, 4])), "or no safetensors file"),
    "a shape of 10 ** 30": (header(one(shape=[10**30])), "or no safetensors file"),
    "another shape": (header(one(shape=[7])), "or no safetensors file"),
    "no positions": (header({"a": {"dtype": "F32", "shape": [6]}}), "or no safetensors file"),
    "a negative position": (header(one(data_offsets=[-24, 0])), "or no safetensors file"),
    "positions the other way": (header(one(data_offsets=[24, 0])), "or no safetensors file"),
    "positions behind the end": (header(one(data_offsets=[8, 32])), "or no safetensors file"),
    "positions of 2 ** 63": (header(one(data_offsets=[2**63, 2**63 + 24])), "no safetensors file"),
    "a gap": (header({"a": TWO, "b": {**TWO, "data_offsets": [28, 52]}}, bytes(52)), "no safete"),
    "an overlap": (header({"a": TWO, "b": {**TWO, "data_offsets": [20, 44]}}, bytes(44)), "no saf"),
    "two in one place": (header({"a": TWO, "b": TWO}), "or no safetensors file"),
    "more bytes": (header(one(), bytes(30)), "or no safetensors file"),
    "fewer bytes": (header(one(), bytes(23)), "or no safetensors file"),
    "metadata of numbers": (header({"__metadata__": {"a": 1}, **one()}), "no safetensors file"),
    "another model": (header(one()), r"arrays without a variable \(1\): a"),
}


@pytest.mark.parametrize("case", SAFETENSORS)
def test_a_broken_safetensors_file(case, folder):
    content, message = SAFETENSORS[case]
    (folder / "model.safetensors").write_bytes(content)
    refuse(folder, message)


def test_weights_that_are_no_files(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/dev/zero")
    refuse(folder, "model.safetensors: it is a device")
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    refuse(folder, "model.safetensors: it is a named pipe")
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "pytorch_model.bin")
    refuse(folder, "pytorch_model.bin: it is a named pipe")


@pytest.mark.parametrize("kind", ["i8", "i4", "i2", "i1", "u1", "?"])
def test_weights_that_are_whole_numbers(kind, folder):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    arrays["bert.pooler.dense.bias"] = arrays["bert.pooler.dense.bias"].astype(kind)
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    dtype = np.dtype(kind).name
    refuse(folder, f"bert.pooler.dense.bias has the type {dtype}; weights are floating-point")


def test_weights_of_an_eight_bit_float(folder):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    bias = np.zeros([16], "u1")
    safetensors.numpy.save_file({**arrays, "bert.pooler.dense.bias": bias}, folder / "x")
    content = (folder / "x").read_bytes().replace(b'"U8"', b'"F8_E4M3"')
    length = int.from_bytes(content[:8], "little") + len("F8_E4M3") - len("U8")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", length) + content[8:])
    refuse(folder, "bert.pooler.dense.bias has the type F8_E4M3; weights are floating-point")


@pytest.mark.parametrize("kind", ["float16", "float64"])
def test_weights_of_other_floats(kind, folder):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    halved = {name: array.astype(kind) for name, array in arrays.items()}
    safetensors.numpy.save_file(halved, folder / "model.safetensors")
    assert load_pretrained(folder).encoder.dtype == "float32"


def test_a_sparse_file_of_huge_weights(folder):
    """Some kilobytes on the disk; all shapes are right."""
    sizes = {"vocab_size": 1_000_000, "hidden_size": 65536}
    change(folder / "config.json", **sizes)
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    huge = {16: 65536, 50: 1_000_000}
    end, tensors = 0, {}
    for name, array in arrays.items():
        shape = [huge.get(size, size) for size in array.shape]
        start, end = end, end + 4 * math.prod(shape)
        tensors[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    content = header(tensors, b"")
    with (folder / "model.safetensors").open("wb") as file:
        file.write(content)
        file.truncate(len(content) + end)
    message = "model has weights of [0-9,]{15} bytes as float32; this machine has"
    # The file is mapped, which takes addresses but no memory.
    with limits(extra_bytes=1 << 40), pytest.raises(InputError, match=message):
        load_pretrained(folder)
    # Where even addresses are limited, it is a line as well.
    refuse(folder, "model.safetensors is truncated or .* Cannot allocate memory")


def test_one_array_under_two_names(folder):
    arrays = safetensors.numpy.load_file(folder / "model.safetensors")
    arrays["pooler.dense.bias"] = np.ones([16], np.float32)
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    refuse(folder, "has one array twice, as bert.pooler.dense.bias and as pooler.dense.bias")


# ---- tokenizer files ----------------------------------------------------------------------------

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
IDS = {token: id_ for id_, token in enumerate([*SPECIAL, "a"])}


def fast(**model):
    return {"model": {"type": "WordPiece", "vocab": IDS, **model}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must hold a JSON object"),
        ({"model": None}, "is a None tokenizer: BERT's is WordPiece"),
        ({"model": []}, "is a None tokenizer"),
        ({"model": {"type": ["WordPiece"]}}, r"is a \['WordPiece'\] tokenizer"),
        (fast(type="B\nPE"), r"is a B\\nPE tokenizer"),
        (fast(vocab=None), "the vocabulary must map tokens to ids, got None"),
        (fast(vocab=[]), r"the vocabulary must map tokens to ids, got \[\]"),
        (fast(vocab={**IDS, "b": "6"}), "the vocabulary must map tokens to ids"),
        (fast(vocab={**IDS, "b": None}), "the vocabulary must map tokens to ids"),
        (fast(vocab={**IDS, "b": 6.0}), "the vocabulary must map tokens to ids"),
        (fast(vocab={**IDS, "b": True}), "the vocabulary must map tokens to ids"),
        (fast(vocab={**IDS, "b": 7}), "have gaps, or stand twice"),
        (fast(vocab={**IDS, "b": 5}), "have gaps, or stand twice"),
        (fast(vocab={**IDS, "b": -1}), "have gaps, or stand twice"),
        (fast(vocab={**IDS, "b": 10**60}), "have gaps, or stand twice"),
        (fast(vocab={"a": 0}), r"tokenizer.json: the vocabulary lacks \[PAD\]"),
        (fast(vocab={**IDS, "b\nc": 6}), r"'b\\nc' has a line break"),
        ({**fast(), "normalizer": {"type": "BertNormalizer", "lowercase": "no"}}, "lowercase of"),
        ({**fast(), "normalizer": {"type": "BertNormalizer", "lowercase": 1}}, "lowercase of"),
        (
            {**fast(), "normalizer": {"type": "BertNormalizer", "strip_accents": []}},
            "strip_accents",
        ),
        (
            {**fast(), "normalizer": {"type": "BertNormalizer", "handle_chinese_chars": "x"}},
            "handle_chinese_chars of the normalizer must be true or false, got 'x'",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_tokenizer_json_with_wrong_values(content, message, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with limits(), pytest.raises(InputError, match=message) as error:
        find_tokenizer(tmp_path)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must hold a JSON object"),
        ({"do_lower_case": "false"}, "do_lower_case must be bool, not 'false'"),
        ({"do_lower_case": 0}, "do_lower_case must be bool, not 0"),
        ({"do_lower_case": []}, "do_lower_case must be bool"),
        ({"strip_accents": "x" * 10**6}, "strip_accents must be bool"),
        ({"tokenize_chinese_chars": 1.5}, "tokenize_chinese_chars must be bool"),
        ({"model_max_length": -1}, "model_max_length must be a number from 1"),
        ({"model_max_length": "512"}, "model_max_length must be a number from 1"),
        ({"model_max_length": True}, "model_max_length must be a number from 1"),
        ({"model_max_length": float("nan")}, "NaN is no JSON number"),
        ({"unk_token": 7}, "unk_token must be a token, not 7"),
        ({"unk_token": {"content": None}}, "unk_token must be a token, not None"),
        ({"unk_token": "x" * 10**6}, r"unk_token must be a token, not 'xxx.*\.\.\."),
        ({"unk_token": "<none>"}, "the vocabulary lacks <none>"),
        ({"added_tokens_decoder": []}, "added_tokens_decoder must be dict"),
        ({"added_tokens_decoder": {"x": "a"}}, "ids must be numbers"),
        ({"added_tokens_decoder": {"9" * 5000: "a"}}, "ids must be numbers"),
        ({"added_tokens_decoder": {"5": 7}}, "token 5 must be a token, not 7"),
        ({"added_tokens_decoder": {"-5": {"content": "new"}}}, "gives 'new' the id -5"),
        ({"added_tokens_decoder": {"700": {"content": "new"}}}, "gives 'new' the id 700"),
        ({"added_tokens_decoder": {"6": {"content": "a\nb"}}}, r"added token 'a\\nb'"),
        ({"additional_special_tokens": {}}, "additional_special_tokens must be list"),
        ({"additional_special_tokens": [7]}, "additional_special_tokens must be a token, not 7"),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json"])
def test_a_tokenizer_config_with_wrong_values(name, content, message, tmp_path):
    text = "\n".join(IDS) + "\n" if name == "vocab.txt" else json.dumps(fast())
    (tmp_path / name).write_text(text)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(content))
    with limits(), pytest.raises(InputError, match=message) as error:
        find_tokenizer(tmp_path)
    assert str(error.value).isprintable() and len(str(error.value)) < 2000


def test_settings_beside_a_tokenizer_json_alone(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(fast()))
    settings = {"do_lower_case": False, "model_max_length": 64, "unk_token": "a"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    vocab, config = find_tokenizer(tmp_path)
    assert (config.lower_case, config.model_max_length, vocab.unk_id) == (False, 64, 5)


def test_a_vocabulary_that_is_too_large(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\n" * 1_000_001)
    with limits(), pytest.raises(InputError, match="vocab.txt has 1000001 lines"):
        find_tokenizer(tmp_path)
    with path.open("wb") as file:
        file.truncate(5 << 30)
    with limits(), pytest.raises(InputError, match="vocab.txt has 5368709120 bytes"):
        find_tokenizer(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with limits(), pytest.raises(InputError, match="vocab.txt: it is a named pipe"):
        find_tokenizer(tmp_path)


def test_more_embeddings_than_tokens(folder):
    lines = (folder / "vocab.txt").read_text().splitlines()
    (folder / "vocab.txt").write_text("\n".join(lines[:44]) + "\n")
    (folder / "tokenizer.json").unlink()
    refuse(
        folder,
        "50 word embeddings and a vocabulary of 44 tokens: python -m "
        "official_bert.convert_checkpoint --vocab_file=vocab.txt leaves out the rows",
    )
    words = load_pretrained(folder, vocab_file=folder / "vocab.txt").encoder.get_weights()[0]
    assert words.shape == (44, 16)
