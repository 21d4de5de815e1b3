"""TensorFlow checkpoints on which TensorFlow itself ends the process: one line instead."""

import os
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from official_bert import BertEncoder, load_pretrained
from official_bert.checkpoints.readers import read_tensorflow
from official_bert.checkpoints.write import write_pretrained
from official_bert.errors import InputError
from official_bert.tensor_bundle import check_index, newest_prefix
from tests.checkpoints import bad_bundles as bad
from tests.checkpoints.bad_bundles import ZEROS_CRC, Entry, block, header, strings, table, varint
from tests.checkpoints.bundles import bundle_of
from tests.limits import limits
from tests.small_models import TINY


def refuse(prefix, message):
    for read in (check_index, read_tensorflow):
        with limits(), pytest.raises(InputError, match=message) as error:
            read(prefix)
        line = str(error.value)
        assert str(prefix) in line and len(line) < 2000 and line.isprintable()


def test_what_the_helper_writes_is_good(tmp_path):
    prefix = bad.write_checkpoint(tmp_path / "ckpt")
    assert check_index(prefix)["a"].shape == (2, 3)
    np.testing.assert_array_equal(
        read_tensorflow(prefix).tensors["a"].read(), np.zeros([2, 3], np.float32)
    )


def entry(**changes):
    return {"entries": {b"a": Entry(**{"crc": ZEROS_CRC, **changes}).encoded()}}


def named(name):
    return {"entries": {name: Entry(crc=ZEROS_CRC).encoded()}}


def text(content, shape=(), size=None, **changes):
    size = len(content) if size is None else size
    described = Entry(dtype=7, shape=shape, size=size, **changes).encoded()
    return {"entries": {b"a": described}, "content": content}


def index(content):
    return {"index": content}


GOOD_BLOCK = block([(b"", header()), (b"a", Entry(crc=ZEROS_CRC).encoded())])
SHARING = varint(5) + varint(1) + varint(0) + b"a"
HARMFUL = {
    # Shapes.
    "a negative size": (entry(shape=(-2, 3)), r"'a' has the shape \[-2, 3\]"),
    "an unknown size": (entry(shape=(-1,)), r"'a' has the shape \[-1\]"),
    "the smallest size": (entry(shape=(-(2**63),)), "'a' has the shape"),
    "two negative sizes": (entry(shape=(-2, -3)), "'a' has the shape"),
    "a shape that overflows": (entry(shape=(2**62, 4)), "which is not what float32 of shape"),
    "a shape that overflows to nothing": (
        entry(shape=(2**32, 2**32), size=0),
        "which is not what float32",
    ),
    "a shape that overflows to itself": (
        entry(shape=(2**32, 2**32, 6)),
        "which is not what float32",
    ),
    "nothing in a huge shape": (entry(shape=(0, 2**62, 2**62), size=0), "which is not what"),
    "300 sizes": (entry(shape=(1,) * 300, size=4), "has the shape"),
    "an unknown rank": (entry(unknown_rank=True), "has the shape"),
    "a scalar": (entry(shape=()), r"24 bytes, which is not what float32 of shape \[\] needs"),
    "another shape": (entry(shape=(2, 4)), "24 bytes, which is not what float32"),
    # Types.
    "no type": (entry(dtype=0), "'a' has the type 0"),
    "an unknown type": (entry(dtype=99), "'a' has the type 99"),
    "a type of 2 ** 31": (entry(dtype=2**31 - 1), "'a' has the type 2147483647"),
    "a negative type": (entry(dtype=-1), "'a' has the type -1"),
    "a reference type": (entry(dtype=101), "'a' has the type 101"),
    "a resource": (entry(dtype=20), "'a' has the type 20"),
    "a variant": (entry(dtype=21), "'a' has the type 21"),
    "a quantized type": (entry(dtype=11), "'a' has the type 11"),
    "a larger type": (entry(dtype=2), "24 bytes, which is not what float64"),
    "a smaller type": (entry(dtype=10), "24 bytes, which is not what bool"),
    # Where it lies.
    "a shard that is not there": (entry(shard=1), "in data file 1 of 1"),
    "a negative shard": (entry(shard=-1), "in data file -1 of 1"),
    "a negative offset": (entry(offset=-8), "should lie at bytes -8 to 16"),
    "an offset behind the end": (entry(offset=1), "should lie at bytes 1 to 25, the file has 24"),
    "an offset of 2 ** 62": (entry(offset=2**62), "should lie at bytes"),
    "an offset that overflows": (entry(offset=2**63 - 1), "should lie at bytes"),
    "a negative length": (entry(size=-24), "should lie at bytes 0 to -24"),
    "a length of 2 ** 62": (entry(size=2**62), "should lie at bytes"),
    "a shorter length": (entry(size=20), "20 bytes, which is not what float32"),
    "a shorter file": ({"content": bytes(23)}, "is truncated, or .* should lie at bytes 0 to 24"),
    "an empty file": ({"content": b""}, "is truncated, or"),
    "two in one place": (
        {"entries": {name: Entry(crc=ZEROS_CRC).encoded() for name in (b"a", b"b")}},
        "'a' and 'b' lie in the same place",
    ),
    "two that overlap": (
        {
            "entries": {
                b"a": Entry(crc=ZEROS_CRC).encoded(),
                b"b": Entry(shape=(5,), offset=4, size=20).encoded(),
            }
        },
        "'a' and 'b' lie in the same place",
    ),
    "slices": (entry(slices=2), "'a' lies in 2 slices"),
    "a slice": (named(b"\0a\0\1"), "a variable in slices"),
    # Strings.
    "a string of 2 ** 60 bytes": (
        text(strings(b"ab", lengths=[2**60])),
        "which is not what its 1 strings need",
    ),
    "a string of 2 ** 32 bytes": (text(strings(b"ab", lengths=[2**32])), "its 1 strings need"),
    "a length without an end": (text(b"\xff" * 20), "'a': a number is too large"),
    "a length that is cut off": (text(b"\x80" * 3), "'a': it ends in the middle of a number"),
    "a shorter string": (text(strings(b"ab", lengths=[1])), "which is not what its 1 strings"),
    "2 ** 40 strings": (text(strings(b"ab"), shape=(2**40,)), "more than 1000000 strings"),
    "more strings": (text(strings(b"ab"), shape=(2,)), "its 2 strings need|the lengths of"),
    "strings of nothing": (text(b"", shape=()), "it ends in the middle of a number"),
    "no strings with a length": (text(strings(b"ab"), shape=(0,)), "what its 0 strings need"),
    "no strings of a huge shape": (text(b"", shape=(0, 2**62, 2**62)), "not what string of shape"),
    # Names.
    "a name that is no text": (named(b"\xff\xfe"), r"the name b'\\xff\\xfe'"),
    "a name with a line break": (named(b"a\nb"), r"the name 'a\\nb'"),
    "a name with U+2028": (named("a\u2028b".encode()), r"the name 'a\\u2028b'"),
    "a name with NUL": (named(b"a\0b"), r"the name 'a\\x00b'"),
    "a long name": (named(b"a" * 5000), "does not fit into it"),
    "a graph of numbers": (named(b"_CHECKPOINTABLE_OBJECT_GRAPH"), "OBJECT_GRAPH is no string"),
    # Entries and header.
    "garbage for an entry": ({"entries": {b"a": b"\xff\xff\xff"}}, "what it says of 'a' cannot be"),
    "a cut entry": (
        {"entries": {b"a": Entry(crc=ZEROS_CRC).encoded()[:-1]}},
        "what it says of 'a' cannot be read",
    ),
    "no entry": ({"entries": {b"a": b""}}, "'a' has the type 0"),
    "garbage for a header": ({"head": b"\xff\xff"}, "it has no header"),
    "no shards": ({"head": header(num_shards=0)}, "names 0 data files"),
    "negative shards": ({"head": header(num_shards=-1)}, "names -1 data files"),
    "2 ** 31 shards": ({"head": header(num_shards=2**31 - 1)}, "names 2147483647 data files"),
    "shards that are missing": ({"head": header(num_shards=7)}, "data-00000-of-00007: No such"),
    "big-endian": ({"head": header(endianness=1)}, "big-endian"),
    # The table.
    "an empty index": (index(b""), "it is truncated"),
    "no index": (index(b"hello" * 100), "it is truncated"),
    "only zeros": (index(bytes(1000)), "it is truncated"),
    "only an end": (index(bytes(40) + bad.MAGIC.to_bytes(8, "little")), "a block at byte 0"),
    "no entries": (index(table([block([])], [b"z"])), "restarts"),
    "no header": (index(table([block([(b"a", b"")])], [b"z"])), "it has no header"),
    "a wrong checksum": (index(table([GOOD_BLOCK[:-1] + b"\0"], [b"z"])), "the checksum of the"),
    "a compressed block": (
        index(table([bad.trailed(GOOD_BLOCK[:-5], kind=1)], [b"z"])),
        "a block is compressed",
    ),
    "an unknown kind of block": (
        index(table([bad.trailed(GOOD_BLOCK[:-5], kind=9)], [b"z"])),
        "a block is compressed",
    ),
    "a block of 2 ** 62 bytes": (
        index(table([GOOD_BLOCK], [b"z"], [varint(0) + varint(2**62)])),
        "a block at byte 0 of 4611686018427387904",
    ),
    "a block behind the end": (
        index(table([GOOD_BLOCK], [b"z"], [varint(2**40) + varint(10)])),
        "a block at byte 1099511627776",
    ),
    "a position without a length": (
        index(table([GOOD_BLOCK], [b"z"], [varint(0)])),
        "in the middle of a number",
    ),
    "a position of three numbers": (
        index(table([GOOD_BLOCK], [b"z"], [varint(0) + varint(len(GOOD_BLOCK) - 5) + b"\0"])),
        "more than two numbers",
    ),
    "a position without an end": (
        index(table([GOOD_BLOCK], [b"z"], [b"\xff" * 20])),
        "a number is too large",
    ),
    "a block twice": (
        index(table([GOOD_BLOCK], [b"y", b"z"], [varint(0) + varint(len(GOOD_BLOCK) - 5)] * 2)),
        "its blocks do not follow each other",
    ),
    "names that do not ascend": (
        index(table([block([(b"", header()), (b"b", b""), (b"a", b"")])], [b"z"])),
        "'b' has the type 0|do not ascend",
    ),
    "a name twice": (
        index(
            table([block([(b"", header()), *[(b"a", Entry(crc=ZEROS_CRC).encoded())] * 2])], [b"z"])
        ),
        "its names do not ascend",
    ),
    "a limit before its names": (index(table([GOOD_BLOCK], [b"A"])), "lie beyond it"),
    "a name that shares too much": (
        index(table([bad.trailed(SHARING + bytes(4) + b"\1\0\0\0")], [b"z"])),
        "does not fit into it",
    ),
    "a value that is too long": (
        index(
            table(
                [bad.trailed(varint(0) + varint(0) + varint(2**40) + bytes(4) + b"\1\0\0\0")],
                [b"z"],
            )
        ),
        "does not fit into it",
    ),
    "no restarts": (index(table([block([(b"", header())], restarts=[])], [b"z"])), "0 restarts"),
    "2 ** 32 restarts": (
        index(table([bad.trailed(GOOD_BLOCK[:-9] + b"\xff\xff\xff\xff")], [b"z"])),
        "4294967295 restarts",
    ),
    "a restart elsewhere": (
        index(table([block([(b"", header())], restarts=[3])], [b"z"])),
        "the restarts of a block",
    ),
    "restarts behind the end": (
        index(table([block([(b"", header())], restarts=[0, 2**31])], [b"z"])),
        "the restarts of a block",
    ),
    "a restart twice": (
        index(table([block([(b"", header())], restarts=[0, 0])], [b"z"])),
        "the restarts of a block",
    ),
}


@pytest.mark.parametrize("case", HARMFUL)
def test_a_harmful_checkpoint(case, tmp_path):
    changes, message = HARMFUL[case]
    refuse(bad.write_checkpoint(tmp_path / "ckpt", **changes), message)


def test_files_that_are_no_files(tmp_path):
    prefix = bad.write_checkpoint(tmp_path / "ckpt")
    data = tmp_path / "ckpt.data-00000-of-00001"
    data.unlink()
    refuse(prefix, "data-00000-of-00001: No such file")
    os.mkfifo(data)
    refuse(prefix, "data-00000-of-00001: it is a named pipe")
    (tmp_path / "ckpt.index").unlink()
    refuse(prefix, "ckpt.index: No such file")
    os.mkfifo(tmp_path / "ckpt.index")
    refuse(prefix, "ckpt.index: it is a named pipe")
    with open(tmp_path / "large.index", "wb") as file:
        file.truncate(5 << 30)
    refuse(tmp_path / "large", "large.index has 5368709120 bytes")


def test_a_number_that_changed(tmp_path):
    prefix = bad.write_checkpoint(tmp_path / "ckpt", content=b"\x01" + bytes(23))
    stored = read_tensorflow(prefix).tensors["a"]
    with pytest.raises(InputError, match="cannot read a from .*/ckpt.data-.*, which is damaged"):
        stored.read()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (b"\xff\xff\xff", "its object graph cannot be read"),
        (b"\x0a\x09\x12\x07\x12\x02a\n\x1a\x01a", r"a variable has the name 'a\\n'"),
    ],
)
def test_a_damaged_object_graph(graph, message, tmp_path):
    content = strings(graph)
    prefix = bad.write_checkpoint(
        tmp_path / "ckpt",
        {
            b"_CHECKPOINTABLE_OBJECT_GRAPH": Entry(
                dtype=7, shape=(), size=len(content), crc=_string_crc(graph)
            ).encoded(),
            b"a": Entry(offset=len(content), crc=ZEROS_CRC).encoded(),
        },
        content + bytes(24),
    )
    with pytest.raises(InputError, match=message):
        read_tensorflow(prefix)


def _string_crc(value):
    """Of the lengths in four bytes, their checksum, and the strings."""
    length = len(value).to_bytes(4, "little")
    return int.from_bytes(bad.masked_crc32c(length + bad.masked_crc32c(length) + value), "little")


_USE = """
import sys
import tensorflow as tf
for prefix in sys.stdin.read().split():
    reader = tf.compat.v1.train.NewCheckpointReader(prefix)
    for name in reader.get_variable_to_shape_map():
        reader.get_variable_to_dtype_map()
        try:
            reader.get_tensor(name)
        except (tf.errors.OpError, ValueError, IndexError):
            pass
    print(prefix)
"""


def test_tensorflow_survives_what_passes(tmp_path):
    model = tf.Module()
    model.a, model.b = tf.Variable(tf.ones([3, 4])), tf.Variable([1, 2])
    model.c, model.d = tf.Variable(["x", "yz"]), tf.Variable(tf.zeros([0, 3]))
    tf.train.Checkpoint(model=model).write(str(tmp_path / "whole"))
    names = [f"whole.{end}" for end in ("index", "data-00000-of-00001")]
    files = {name: (tmp_path / name).read_bytes() for name in names}
    rng = random.Random(0)
    passed, refused = [], 0
    for number in range(300):
        damaged = {name: bytearray(content) for name, content in files.items()}
        content = damaged[rng.choice(names)]
        for _ in range(rng.choice([1, 1, 2, 8])):
            content[rng.randrange(len(content))] = rng.choice([0, 0x7F, 0xFF, rng.randrange(256)])
        if rng.random() < 0.1:
            del content[rng.randrange(len(content)) :]
        for name, content in damaged.items():
            (tmp_path / name.replace("whole", f"c{number}")).write_bytes(content)
        try:
            check_index(tmp_path / f"c{number}")
            passed.append(str(tmp_path / f"c{number}"))
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 100 and len(passed) > 50
    output = subprocess.run(
        [sys.executable, "-c", _USE], input="\n".join(passed), capture_output=True, text=True
    )
    assert output.returncode == 0, output.stderr[-2000:]
    assert output.stdout.split() == passed


def test_two_variables_with_one_name(tmp_path):
    class Twins(tf.Module):
        def __init__(self):
            super().__init__()
            self.first = tf.Variable([1.0], name="encoder/weight")
            self.second = tf.Variable([2.0], name="encoder/weight")

    tf.train.Checkpoint(model=Twins()).write(str(tmp_path / "ckpt"))
    tensors = read_tensorflow(tmp_path / "ckpt").tensors
    assert {name: tensor.read().tolist() for name, tensor in tensors.items()} == {
        "encoder/weight": [1.0],
        "model/second/.ATTRIBUTES/VARIABLE_VALUE": [2.0],
    }


# ---- folders ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    folder = tmp_path_factory.mktemp("google") / "model"
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), folder, "google_tf1")
    return folder


@pytest.mark.parametrize("name", ["m[1]", "m*", "m?", "[a-z]", "m\\n", "{m,n}", "m]["])
def test_a_folder_whose_name_is_a_pattern(name, google, tmp_path):
    shutil.copytree(google, tmp_path / name)
    (tmp_path / "m").mkdir()
    (tmp_path / "m1").mkdir()
    bundle = load_pretrained(tmp_path / name)
    words = load_pretrained(google).encoder.get_weights()[0]
    np.testing.assert_array_equal(bundle.encoder.get_weights()[0], words)
    assert load_pretrained(tmp_path / name / "bert_model.ckpt").config == TINY


def test_a_checkpoint_whose_name_is_a_pattern(google, tmp_path):
    shutil.copytree(google, tmp_path / "m")
    for path in (tmp_path / "m").glob("bert_model.ckpt.*"):
        path.rename(path.with_name(path.name.replace("bert_model", "bert[1]*")))
    assert load_pretrained(tmp_path / "m").config == TINY


def test_a_copied_folder_loads_its_own_checkpoint(google, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(google, new)
    (new / "checkpoint").write_text(f'model_checkpoint_path: "{old}/bert_model.ckpt"\n')
    words = load_pretrained(google).encoder.get_weights()[0]
    np.testing.assert_array_equal(load_pretrained(new).encoder.get_weights()[0], words)
    # The place where it was made has another model by now.
    write_pretrained(bundle_of(BertEncoder(TINY), "encoder"), old, "google_tf1")
    np.testing.assert_array_equal(load_pretrained(new).encoder.get_weights()[0], words)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ('model_checkpoint_path: "b"', "b"),
        ('model_checkpoint_path: "/elsewhere/b"', "b"),
        ('model_checkpoint_path: "../other/b"', "b"),
        ('model_checkpoint_path: "sub/c"', "sub/c"),
        ('all_model_checkpoint_paths: "a"\nmodel_checkpoint_path: "b"\n', "b"),
        (r'model_checkpoint_path: "\142"', "b"),
        ('model_checkpoint_path: "é"', "é"),
        (r'model_checkpoint_path: "\303\251"', "é"),
        ('model_checkpoint_path: "../other/d"', None),
        ('model_checkpoint_path: "OTHER/d"', None),
        ('model_checkpoint_path: "sub/../../other/d"', None),
        ('model_checkpoint_path: ".."', None),
        ('model_checkpoint_path: "/"', None),
        ('model_checkpoint_path: ""', None),
        ('model_checkpoint_path: "a\0"', None),
        (f'model_checkpoint_path: "{"a" * 5000}"', None),
        ("model_checkpoint_path: 7", None),
        ('model_checkpoint_path: "b', None),
        ("", None),
    ],
)
def test_what_the_state_file_names(state, found, tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    for path in (folder, folder / "sub", other):
        path.mkdir()
    for path in (folder / "a", folder / "b", folder / "é", folder / "sub/c", other / "d"):
        bad.write_checkpoint(path)
    (folder / "checkpoint").write_text(state.replace("OTHER", str(other)), "utf-8")
    assert newest_prefix(folder) == (folder / found if found else None)


def test_a_state_file_that_is_none(tmp_path):
    for content in (b'model_checkpoint_path: "\xff"', rb'model_checkpoint_path: "\400"'):
        (tmp_path / "checkpoint").write_bytes(content)
        with pytest.raises(InputError, match="checkpoint is not what TensorFlow writes"):
            newest_prefix(tmp_path)
    (tmp_path / "checkpoint").unlink()
    assert newest_prefix(tmp_path) is None
    os.mkfifo(tmp_path / "checkpoint")
    with pytest.raises(InputError, match="checkpoint: it is a named pipe"):
        newest_prefix(tmp_path)
