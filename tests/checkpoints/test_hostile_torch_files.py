"""PyTorch files that were made to do harm, and broken ones: one line each, in bounded memory."""

import os
import random
import struct
import zipfile

import numpy as np
import pytest

from official_bert.checkpoints.torch_file import read_torch_file
from official_bert.errors import InputError
from tests.checkpoints import bad_torch_files as bad
from tests.checkpoints.bad_torch_files import name, number, sizes, state, storage, tensor, text
from tests.limits import limits
from tests.public_data import peer


def refuse(path, message):
    with limits(), pytest.raises(InputError, match=message) as error:
        for stored in read_torch_file(path).values():
            stored.read()
    line = str(error.value)
    assert line.startswith(str(path)) and len(line) < 2000 and line.isprintable()


def test_what_the_helpers_write_is_good(tmp_path):
    content = struct.pack("<6f", *range(6))
    for path in (
        bad.write_zip(tmp_path / "zip.bin", storages={"0": content}),
        bad.write_legacy(tmp_path / "legacy.bin", storages=struct.pack("<q", 6) + content),
    ):
        read = read_torch_file(path)
        np.testing.assert_array_equal(read["a"].read(), [[0, 1, 2], [3, 4, 5]])
        assert (read["a"].shape, read["a"].dtype) == ((2, 3), "float32")


# `x = (x, x)` thirty times over: a value of 2 ** 30 parts, as soon as it is hashed or compared.
DOUBLED = b")" + b"q\x00h\x00\x86" * 30
DEEP = b")" + b"\x85" * 200_000
HARMFUL = {
    # Names.
    "system": (state(text("a"), name("os", "system") + text("ls") + b"\x85R"), "for os.system,"),
    "eval": (state(text("a"), name("builtins", "eval")), "for builtins.eval,"),
    "a part of torch": (state(text("a"), name("torch", "load")), "for torch.load,"),
    "dots": (state(text("a"), name("torch", "storage.os.system")), "storage.os.system,"),
    "no module": (state(text("a"), name("", "eval")), "for .eval,"),
    "a name with a line": (state(text("a"), name("o\r\u2028s", "system")), r"o\\r\\u2028s"),
    "a name without an end": (state(text("a"), b"cos"), "without an end"),
    "an endless name": (state(text("a"), name("o" * 10**6, "system")), "without an end"),
    "a name from the stack": (
        state(text("a"), text("os") + text("system") + b"\x93"),
        "for os.system,",
    ),
    "a name of numbers": (state(text("a"), number(1) + number(2) + b"\x93"), "no string"),
    "an object": (state(text("a"), b"(ios\nsystem\n"), "the instruction INST"),
    "a new object": (
        state(text("a"), name("collections", "OrderedDict") + b")\x81"),
        "the instruction NEWOBJ",
    ),
    "an extension": (state(text("a"), b"\x82\x01"), "the instruction EXT1"),
    "an old reference": (state(text("a"), b"Pstorage\n"), "the instruction PERSID"),
    # Calls.
    "a call of a string": (state(text("a"), text("eval") + b")R"), "cannot be called"),
    "a call of a tensor": (state(text("a"), tensor() + b")R"), "cannot be called"),
    "a call of a storage kind": (
        state(text("a"), name("torch", "FloatStorage") + number(1) + b"\x85R"),
        "cannot be called",
    ),
    "no tuple": (state(text("a"), name("collections", "OrderedDict") + b"]R"), "cannot be called"),
    "a dictionary of a number": (
        state(text("a"), name("collections", "OrderedDict") + number(1) + b"\x85R"),
        "something else than a list",
    ),
    "a dictionary of triples": (
        state(text("a"), name("collections", "OrderedDict") + b"])" + b"a\x85R"),
        "something else than pairs",
    ),
    "a parameter of a dictionary": (
        state(text("a"), name("torch._utils", "_rebuild_parameter") + b"}\x89}\x87R"),
        "something else than a tensor",
    ),
    "a tensor without strides": (
        state(
            text("a"),
            name("torch._utils", "_rebuild_tensor_v2")
            + storage()
            + number(0)
            + sizes(6)
            + b"\x87R",
        ),
        "has 3 arguments",
    ),
    # States.
    "the state of a storage": (
        state(text("a"), tensor(storage() + b"}" + text("count") + number(2**40) + b"sb")),
        "sets the state of a Storage",
    ),
    "the state of a tensor": (
        state(text("a"), tensor() + b"}" + text("offset") + number(2**40) + b"sb"),
        "sets the state of a Tensor",
    ),
    "the state of a name": (
        state(text("a"), name("torch", "FloatStorage") + b"}" + text("name") + text("x") + b"sb"),
        "sets the state of a _Name",
    ),
    "the state of a list": (state(text("a"), b"]}b"), "sets the state of a list"),
    "the slots of a storage": (
        state(text("a"), tensor(storage() + b"N}" + text("count") + number(2**40) + b"s\x86b")),
        "sets the state of a Storage",
    ),
    "a state that is no dictionary": (state(text("a"), b"}" + number(1) + b"b"), "sets the state"),
    # Bombs.
    "a doubled key": (state(DOUBLED, tensor()), "has a key that is a tuple"),
    "a doubled reference": (state(text("a"), DOUBLED + b"Q"), "unknown reference"),
    "a doubled storage key": (state(text("a"), tensor(storage(DOUBLED))), "unknown reference"),
    "a doubled storage kind": (
        state(text("a"), b"(" + text("storage") + DOUBLED + text("0") * 2 + number(1) + b"tQ"),
        "unknown reference",
    ),
    "a doubled value": (state(text("a"), DOUBLED), "'a' is a tuple"),
    "a doubled shape": (state(text("a"), tensor(shape=DOUBLED)), "something else than sizes"),
    "a doubled state": (state(text("a"), b"}" + DOUBLED + b"b"), "sets the state"),
    "a deep key": (state(DEEP, tensor()), "has a key that is a tuple"),
    "a deep value": (state(text("a"), DEEP), "'a' is a tuple"),
    "a deep reference": (state(text("a"), DEEP + b"Q"), "unknown reference"),
    "a list in itself": (state(text("a"), b"]q\x00h\x00a"), "'a' is a list"),
    "a dictionary in itself": (b"\x80\x02}q\x00" + text("a") + b"h\x00s.", "'a' is a dict"),
    "many instructions": (state(text("a"), b"]" * 600_000), "more than 500000 instructions"),
    "many marks": (b"\x80\x02" + b"(" * 600_000 + b".", "more than 500000 instructions"),
    "much to remember": (
        state(text("a"), b")" + b"".join(b"r" + struct.pack("<I", i) for i in range(600_000))),
        "more than 500000 instructions",
    ),
    "a long string": (state(b"X" + struct.pack("<I", 2**32 - 1)), "4294967295 bytes are wanted"),
    "a longer string": (state(b"\x8d" + struct.pack("<Q", 2**62)), "bytes are wanted"),
    "long bytes": (state(b"\x8e" + struct.pack("<Q", 30 << 30)), "the instruction BINBYTES8"),
    "short bytes": (state(b"C\x01a"), "the instruction SHORT_BINBYTES"),
    "a byte array": (state(b"\x96" + struct.pack("<Q", 2**62)), "the instruction BYTEARRAY8"),
    "a string of negative length": (state(b"T" + struct.pack("<i", -4)), "a string of -4 bytes"),
    "a number of 2 GB": (state(b"\x8b" + struct.pack("<i", 2**31 - 1)), "the instruction LONG4"),
    "a number of 200 bytes": (state(b"\x8a\xc8" + bytes(200)), "a whole number of 200 bytes"),
    "a number in digits": (state(b"I" + b"9" * 10**6 + b"\n"), "the instruction INT"),
    "a set": (state(text("a"), b"\x8f"), "the instruction EMPTY_SET"),
    # Storages and tensors.
    "a shape of 2 ** 40": (
        state(text("a"), tensor(shape=sizes(2**40), strides=sizes(1))),
        "outside its storage of 6",
    ),
    "more than there is": (
        state(text("a"), tensor(storage(count=2**40), shape=sizes(2**40), strides=sizes(1))),
        "should have 4398046511104 bytes, there is 24 bytes",
    ),
    "a negative count": (state(text("a"), tensor(storage(count=-1))), "unknown reference"),
    "a huge count": (state(text("a"), tensor(storage(count=2**100))), "unknown reference"),
    "a count that is a float": (
        state(
            text("a"),
            b"("
            + text("storage")
            + name("torch", "FloatStorage")
            + text("0") * 2
            + b"G"
            + bytes(8)
            + b"tQ",
        ),
        "unknown reference",
    ),
    "a count that is true": (
        state(
            text("a"),
            b"(" + text("storage") + name("torch", "FloatStorage") + text("0") * 2 + b"\x88tQ",
        ),
        "unknown reference",
    ),
    "a part of a storage": (
        state(
            text("a"),
            b"("
            + text("storage")
            + name("torch", "FloatStorage")
            + text("0") * 2
            + number(6)
            + sizes(1, 2, 3)
            + b"tQ",
        ),
        "unknown reference",
    ),
    "an unknown kind": (state(text("a"), tensor(storage(kind="QInt8Storage"))), "QInt8Storage"),
    "a kind that is a string": (
        state(text("a"), b"(" + text("storage") + text("FloatStorage") * 3 + number(6) + b"tQ"),
        "unknown reference",
    ),
    "a storage elsewhere": (
        state(text("a"), tensor(storage(text("../../etc/passwd")))),
        r"storage '../../etc/passwd' should have 24 bytes, there is nothing",
    ),
    "two kinds of a storage": (
        state(text("a"), tensor(), text("b"), tensor(storage(kind="IntStorage"))),
        "the storage '0' in two ways",
    ),
    "two counts of a storage": (
        state(text("a"), tensor(), text("b"), tensor(storage(count=7))),
        "the storage '0' in two ways",
    ),
    "a negative offset": (
        state(text("a"), tensor(offset=number(-1))),
        "something else than sizes",
    ),
    "an offset behind the end": (
        state(text("a"), tensor(offset=number(1))),
        "outside its storage of 6",
    ),
    "an offset that is true": (
        state(text("a"), tensor(offset=b"\x88")),
        "something else than sizes",
    ),
    "a negative size": (state(text("a"), tensor(shape=sizes(-2, 3))), "something else than sizes"),
    "a negative stride": (
        state(text("a"), tensor(offset=number(5), strides=sizes(-3, -1))),
        "something else than sizes",
    ),
    "a stride of nothing": (
        state(text("a"), tensor(shape=sizes(10**9), strides=sizes(0))),
        "elements share their memory",
    ),
    "rows that overlap": (
        state(text("a"), tensor(strides=sizes(1, 1))),
        "elements share their memory",
    ),
    "a large stride": (
        state(text("a"), tensor(strides=sizes(2**40, 1))),
        "outside its storage",
    ),
    "strides of bytes": (state(text("a"), tensor(strides=sizes(12, 4))), "outside its storage"),
    "too few strides": (state(text("a"), tensor(strides=sizes(1))), "2 sizes and 1 strides"),
    "ninety sizes": (
        state(text("a"), tensor(shape=sizes(*[1] * 90), strides=sizes(*[1] * 90))),
        "90 sizes and 90 strides",
    ),
    "nothing in a huge shape": (
        state(text("a"), tensor(shape=sizes(2**40, 2**40, 0), strides=sizes(1, 1, 1))),
        "a tensor has the shape",
    ),
    "a size that is a float": (
        state(text("a"), tensor(shape=b"G" + struct.pack(">d", 6.0) + b"\x85", strides=sizes(1))),
        "something else than sizes",
    ),
    "sizes in a list": (
        state(text("a"), tensor(shape=b"](" + number(2) + number(3) + b"e")),
        "something else than sizes",
    ),
    "negated values": (
        state(
            text("a"),
            tensor(
                rest=b"\x89" + name("collections", "OrderedDict") + b")R}" + text("neg") + b"\x88s"
            ),
        ),
        "has 7 arguments",
    ),
    # The dictionary.
    "a name twice": (state(text("a"), tensor(), text("a"), tensor()), "names 'a' twice"),
    "a number as a name": (state(number(1), tensor()), "is not a state dict: 1 is a Tensor"),
    "a name with a line break": (state(text("a\n\u2028"), number(1)), r"'a\\n\\u2028' is a int"),
    "a tensor's name with a line break": (state(text("a\n"), tensor()), r"'a\\n' is a Tensor"),
    "a long name": (state(text("a" * 10**6), tensor()), r"'aaa.*\.\.\..*aaa' is a Tensor"),
    "a key that is a tensor": (state(tensor(), tensor()), "has a key that is a Tensor"),
    "a key that is a float": (state(b"G" + bytes(8), tensor()), "has a key that is a float"),
    "an optimizer's state": (
        state(text("state"), b"}", text("param_groups"), b"]"),
        "'state' is a dict",
    ),
    "a list": (b"\x80\x02].", "holds a list, not a state dict"),
    "a tensor alone": (b"\x80\x02" + tensor() + b".", "holds a Tensor, not a state dict"),
    # The stack.
    "an empty pickle": (b"", "1 bytes are wanted, 0"),
    "only the end": (b".", "nothing is left on the stack"),
    "no end": (state(text("a"), tensor())[:-1], "1 bytes are wanted, 0"),
    "no mark": (b"\x80\x02}u.", "no mark"),
    "beyond a mark": (b"\x80\x02}(sss.", "nothing is left on the stack"),
    "an odd number of items": (state(text("a")), "1 keys and values for a dict"),
    "items for a tuple": (b"\x80\x02)(" + text("a") + b"e.", "items for a tuple"),
    "nothing remembered": (b"\x80\x02h\x07.", "nothing was remembered as number 7"),
    "no text": (state(b"X\x02\x00\x00\x00\xff\xfe"), "a string that is not utf-8"),
    "half a surrogate pair": (state(b"X\x03\x00\x00\x00\xed\xa0\x80"), "that is not utf-8"),
    "protocol 9": (b"\x80\x09}.", "protocol 9"),
    "an unknown instruction": (b"\x80\x02\xff.", "there is no instruction"),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_a_harmful_pickle_in_an_archive(case, tmp_path):
    pickle, message = HARMFUL[case]
    refuse(bad.write_zip(tmp_path / "pytorch_model.bin", pickle), message)


# There the next pickle goes on where one is cut off, and a storage's size is told otherwise.
ONLY_IN_AN_ARCHIVE = {
    "an empty pickle",
    "no end",
    "a storage elsewhere",
    "more than there is",
    "a long string",
}


@pytest.mark.parametrize("case", [case for case in HARMFUL if case not in ONLY_IN_AN_ARCHIVE])
def test_a_harmful_pickle_of_the_older_layout(case, tmp_path):
    pickle, message = HARMFUL[case]
    refuse(bad.write_legacy(tmp_path / "pytorch_model.bin", pickle), message)


KEY = text("0")
LEGACY = {
    "nothing": (b"", "not a PyTorch file"),
    "text": (b"version https://git-lfs.github.com/spec/v1\n", "not a PyTorch file"),
    "another magic": (b"\x80\x02K\x07.", "not a PyTorch file"),
    "big-endian": ({"system": state(text("little_endian"), b"\x89")}, "big-endian"),
    "no word of it": ({"system": state()}, "big-endian"),
    "a system that is a list": ({"system": b"\x80\x02]."}, "big-endian"),
    "keys that are a tuple": ({"keys": b"\x80\x02)."}, "no list of storages"),
    "keys that are numbers": ({"keys": b"\x80\x02]" + number(1) + b"a."}, "no list of storages"),
    "no keys": ({"keys": b"\x80\x02]."}, "no storage '0'"),
    "an unused key": ({"keys": b"\x80\x02](" + text("9") + b"e."}, "'9' that is used nowhere"),
    "a key twice": ({"keys": b"\x80\x02](" + KEY + KEY + b"e."}, "'0' that is used nowhere, or"),
    "no storages": ({"storages": b""}, "8 bytes are wanted"),
    "a shorter storage": ({"storages": struct.pack("<q", 6) + bytes(23)}, "is truncated: storage"),
    "another count": ({"storages": struct.pack("<q", 5) + bytes(24)}, "is truncated: storage"),
    "a negative count": ({"storages": struct.pack("<q", -6) + bytes(24)}, "is truncated: storage"),
    "a huge count": ({"storages": struct.pack("<q", 2**62) + bytes(24)}, "is truncated: storage"),
    "more than there is": (
        {
            "pickle": state(text("a"), tensor(storage(count=2**40))),
            "storages": struct.pack("<q", 2**40) + bytes(24),
        },
        "is truncated: storage '0' of 4398046511104 bytes",
    ),
}


@pytest.mark.parametrize("case", LEGACY)
def test_a_broken_file_of_the_older_layout(case, tmp_path):
    content, message = LEGACY[case]
    path = tmp_path / "pytorch_model.bin"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        bad.write_legacy(path, **content)
    refuse(path, message)


def _changed(path, change):
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def _set_sizes(size):
    """Another size of the storage in the archive's directory."""

    def change(content):
        at = content.rfind(b"PK\x01\x02")
        content[at + 20 : at + 28] = struct.pack("<II", size, size)

    return change


def _set(signature, offset, replacement):
    def change(content):
        at = content.rfind(signature) + offset
        content[at : at + len(replacement)] = replacement

    return change


ARCHIVES = {
    "a flipped number": (_set(bytes(24), 3, b"\x01"), "has another checksum"),
    "a larger storage": (_set_sizes(2**31), "should have 24 bytes, there is 2147483648 bytes"),
    "a smaller storage": (_set_sizes(20), "should have 24 bytes, there is 20 bytes"),
    "a compressed storage": (_set(b"PK\x01\x02", 10, b"\x08"), "is compressed"),
    "an unknown compression": (_set(b"PK\x01\x02", 10, b"\x63"), "is compressed"),
    "an encrypted storage": (_set(b"PK\x01\x02", 8, b"\x01"), "is compressed"),
    "a storage behind the end": (_set(b"PK\x01\x02", 42, b"\xff\xff\xff\x7f"), "are wanted at"),
    "a storage without a header": (_set(b"PK\x01\x02", 42, b"\x01\0\0\0"), "does not lie where"),
    "a header of another length": (_set(b"PK\x03\x04", 28, b"\xff\xff"), "does not lie where"),
    "a directory of 4 GB": (_set(b"PK\x05\x06", 12, b"\xff\xff\xff\x7f"), "or is truncated"),
    "a directory elsewhere": (_set(b"PK\x05\x06", 16, b"\xff\xff\xff\x7f"), "or is truncated"),
    "more members": (_set(b"PK\x05\x06", 10, b"\xff\xff"), None),
    "a name that is no text": (_set(b"PK\x01\x02", 46, b"\xff"), "there is nothing"),
    "a version of later": (_set(b"PK\x01\x02", 6, b"\xff"), "or is truncated"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_a_broken_archive(case, tmp_path):
    change, message = ARCHIVES[case]
    path = bad.write_zip(tmp_path / "pytorch_model.bin")
    _changed(path, change)
    if message is None:
        np.testing.assert_array_equal(read_torch_file(path)["a"].read(), np.zeros([2, 3]))
    else:
        refuse(path, message)


def test_what_else_an_archive_may_be(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    bad.write_zip(path, compression=zipfile.ZIP_DEFLATED)
    refuse(path, "is compressed, as PyTorch never writes it")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "w") as archive:
        for _ in range(2):
            archive.writestr("archive/data.pkl", bad.GOOD)
    refuse(path, "two members of the archive have the same name")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", bad.GOOD)
        archive.writestr("b/data.pkl", bad.GOOD)
    refuse(path, "a zip archive, but not of a PyTorch state dict")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", bad.GOOD)
        archive.writestr("a/byteorder", b"big")
    refuse(path, "big-endian")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"N" * (17 << 20))
    refuse(path, "'a/data.pkl' has 17825792 bytes")
    with zipfile.ZipFile(path, "w") as archive:
        for index in range(150):
            archive.writestr(f"{index:060000}", b"")
    refuse(path, "the directory of the archive has .* bytes")


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    for kind in ("pipe", "folder", "device"):
        with pytest.raises(InputError, match="a regular file is wanted"):
            read_torch_file(tmp_path / kind)


@pytest.mark.parametrize("write", [bad.write_zip, bad.write_legacy])
def test_random_damage_is_one_line_or_does_no_harm(write, tmp_path):
    whole = write(tmp_path / "whole.bin").read_bytes()
    rng = random.Random(0)
    outcomes = {"read": 0, "refused": 0}
    path = tmp_path / "pytorch_model.bin"
    for _ in range(400):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 8])):
            content[rng.randrange(len(content))] = rng.choice(
                [0, 1, 0x7F, 0xFF, rng.randrange(256)]
            )
        if rng.random() < 0.1:
            del content[rng.randrange(len(content)) :]
        path.write_bytes(content)
        try:
            for stored in read_torch_file(path).values():
                assert stored.read().shape == stored.shape
            outcomes["read"] += 1
        except InputError as error:
            assert "\n" not in str(error)
            outcomes["refused"] += 1
    assert outcomes["read"] > 3 and outcomes["refused"] > 100


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("is_zip", [True, False])
def test_every_protocol_of_pytorch(protocol, is_zip, tmp_path):
    torch = peer("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
    state_dict = {**model.state_dict(), "numbers": torch.arange(300), "w": model[0].weight}
    path = tmp_path / "pytorch_model.bin"
    torch.save(state_dict, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    read = read_torch_file(path)
    assert list(read) == list(state_dict)
    assert {name: stored.dtype for name, stored in read.items()} == {
        name: str(value.dtype).removeprefix("torch.") for name, value in state_dict.items()
    }
    for key, value in state_dict.items():
        np.testing.assert_array_equal(read[key].read(), value.detach().numpy())
