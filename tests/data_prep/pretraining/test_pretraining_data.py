"""Prepared pretraining data, whole: what is in the records, for each way of making them."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining.instances import InstanceRule
from data_prep.pretraining.job import prepare
from data_prep.pretraining.records import RecordRule
from data_prep.pretraining.settings import PretrainingSettings
from data_prep.pretraining.summary import summary
from official_bert.data import records
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.text import BertTokenizer
from official_bert.text.masking import MaskingRule
from tests.public_data import public_data

CLS, SEP, MASK = 2, 3, 4
NUM_DOCUMENTS = 60
# Word w{d}x{i} is token i of document d: every token of the corpus is told from its id alone.
_TOKENS_PER_DOCUMENT = 80
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [
    f"w{document}x{i}" for document in range(NUM_DOCUMENTS) for i in range(_TOKENS_PER_DOCUMENT)
]


def _token(document: int, number: int) -> int:
    return 5 + document * _TOKENS_PER_DOCUMENT + number


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> pathlib.Path:
    """Two files and a vocabulary."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "vocab.txt").write_text("\n".join(VOCAB) + "\n")
    rng = np.random.default_rng(0)
    texts = []
    for document in range(NUM_DOCUMENTS):
        words = [f"w{document}x{i}" for i in range(rng.integers(1, _TOKENS_PER_DOCUMENT + 1))]
        cuts = np.sort(rng.choice(len(words), len(words) // 8, replace=False))
        texts.append("\n".join(" ".join(line) for line in np.split(words, cuts) if len(line)))
    (folder / "a.txt").write_text("\n\n".join(texts[:40]) + "\n")
    (folder / "b.txt").write_text("\n\n".join(texts[40:]))
    return folder


def _settings(corpus: pathlib.Path, **changes) -> PretrainingSettings:
    rule = RecordRule(
        InstanceRule(
            max_seq_length=changes.pop("max_seq_length", 32),
            objective=changes.pop("objective", "bert"),
        ),
        changes.pop("masking", MaskingRule(max_predictions_per_seq=5)),
        **{
            name: changes.pop(name)
            for name in ("masks", "pad", "pack", "v2_names")
            if name in changes
        },
    )
    settings = {"dupe_factor": 3, "num_shards": 3, **changes}
    return PretrainingSettings(
        inputs=(str(corpus / "a.txt"), str(corpus / "b.txt")),
        vocab_file=str(corpus / "vocab.txt"),
        lower_case=True,
        records=rule,
        **settings,
    )


def _read(folder: pathlib.Path, split: str = "train") -> list[dict[str, list]]:
    """All records of a split, as lists of numbers by name."""
    paths = Manifest.load(folder).shard_paths(folder, split)
    compression = "GZIP" if paths[0].endswith(".gz") else ""
    result = []
    for serialized in tf.data.TFRecordDataset(paths, compression).as_numpy_iterator():
        features = tf.train.Example.FromString(serialized).features.feature
        result.append(
            {
                name: list(value.float_list.value or value.int64_list.value)
                for name, value in features.items()
            }
        )
    return result


def _originals(record: dict[str, list]) -> list[int]:
    """The ids before masking."""
    ids = list(record["input_ids"])
    for position, label in zip(record["masked_lm_positions"], record["masked_lm_ids"], strict=True):
        ids[position] = label
    return ids


def _hashes(folder: pathlib.Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def static(corpus, tmp_path_factory) -> pathlib.Path:
    """Prepared with static masks, unpadded."""
    folder = tmp_path_factory.mktemp("static") / "data"
    prepare(_settings(corpus), str(folder))
    return folder


def _runs(ids: list[int]) -> bool:
    """True for tokens that follow each other in one document."""
    steps = np.diff(ids)
    documents = {(i - 5) // _TOKENS_PER_DOCUMENT for i in ids}
    return bool((steps == 1).all()) and len(documents) == 1


def test_records_are_pairs_of_the_corpus(static):
    found = _read(static)
    manifest = Manifest.load(static)
    assert len(found) == manifest.splits["train"]["num_records"]
    labels = Counter()
    for record in found:
        ids = _originals(record)
        length = len(ids)
        assert 5 <= length <= 32
        assert record["input_mask"] == [1] * length
        first = ids.index(SEP)
        assert ids[0] == CLS and ids[-1] == SEP and ids.count(SEP) == 2
        assert record["segment_ids"] == [0] * (first + 1) + [1] * (length - first - 1)
        a, b = ids[1:first], ids[first + 1 : -1]
        assert a and b and _runs(a) and _runs(b)
        (label,) = record["next_sentence_labels"]
        labels[label] += 1
        same = (a[0] - 5) // _TOKENS_PER_DOCUMENT == (b[0] - 5) // _TOKENS_PER_DOCUMENT
        assert label == (0 if same else 1)
        if same:
            assert b[0] > a[-1]
    assert labels[1] == manifest.splits["train"]["random_next"]
    assert 0 < manifest.splits["train"]["only_random_next"] < labels[1]


def test_masks(static):
    counts = Counter()
    for record in _read(static):
        ids, original = record["input_ids"], _originals(record)
        positions = record["masked_lm_positions"]
        assert positions == sorted(set(positions))
        assert len(positions) == min(5, max(1, round(len(ids) * 0.15)))
        assert record["masked_lm_weights"] == [1.0] * len(positions)
        for position in positions:
            assert original[position] not in (CLS, SEP)
            kind = "masked" if ids[position] == MASK else "random"
            counts["kept" if ids[position] == original[position] else kind] += 1
            assert ids[position] == MASK or ids[position] >= 5
        counts["predictions"] += len(positions)
    split = Manifest.load(static).splits["train"]
    assert counts == {name: split[name] for name in ("masked", "random", "kept", "predictions")}


def test_every_sentence_is_used(static, corpus):
    used = {i for record in _read(static) for i in _originals(record)}
    for name in ("a.txt", "b.txt"):
        for line in filter(None, (corpus / name).read_text().split("\n")):
            assert any(VOCAB.index(word) in used for word in line.split())


def test_the_folder_explains_itself(static, corpus):
    manifest = Manifest.load(static)
    assert sorted(path.name for path in static.iterdir()) == [
        "manifest.json",
        "tokenizer_config.json",
        *[f"train-0000{i}-of-00003.tfrecord" for i in range(3)],
        "vocab.txt",
    ]
    assert manifest.task == "pretraining"
    assert manifest.max_seq_length == 32
    assert manifest.statistics["documents"] == NUM_DOCUMENTS
    assert manifest.statistics["unknown_tokens"] == 0
    assert set(manifest.sources) == {str(corpus / "a.txt"), str(corpus / "b.txt")}
    tokenizer = BertTokenizer.from_folder(static)
    assert tokenizer.vocab.sha256 == manifest.vocab_sha256
    assert not static.with_name("data.partial").exists()


def test_shards_are_shuffled(static, corpus):
    # Documents of file a come in every shard, and not before those of file b.
    for path in Manifest.load(static).shard_paths(static, "train"):
        first = []
        for serialized in tf.data.TFRecordDataset(path).as_numpy_iterator():
            feature = tf.train.Example.FromString(serialized).features.feature
            first.append(max(feature["input_ids"].int64_list.value) >= _token(40, 0))
        half = len(first) // 2
        assert 0.1 < np.mean(first[:half]) < 0.8
        assert 0.1 < np.mean(first[half:]) < 0.8


def test_other_seeds_and_passes_differ(static, corpus, tmp_path):
    manifest = prepare(_settings(corpus, seed=1), str(tmp_path / "seed"))
    assert (
        _hashes(tmp_path / "seed")["train-00000-of-00003.tfrecord"]
        != (_hashes(static)["train-00000-of-00003.tfrecord"])
    )
    assert manifest.splits["train"]["passes"] == 3
    masks = Counter(tuple(record["input_ids"]) for record in _read(static))
    # Passes are masked and cut anew: hardly any instance comes three times.
    assert sum(count == 3 for count in masks.values()) < 0.05 * len(masks)


def test_two_workers_and_the_command_line_make_the_same_files(static, corpus, tmp_path):
    command = [
        *(sys.executable, "-m", "data_prep.create_pretraining_data"),
        f"--input_file={corpus}/[ab].txt",
        f"--output_dir={tmp_path}/data",
        f"--vocab_file={corpus}/vocab.txt",
        *("--max_seq_length=32", "--max_predictions_per_seq=5"),
        *("--dupe_factor=3", "--num_shards=3", "--num_workers=2"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "60 documents" in done.stdout and "random next" in done.stdout
    # No progress bar where stderr is not a terminal.
    assert "tokenize" not in done.stderr
    assert _hashes(tmp_path / "data") == _hashes(static)


def test_padded_records_load_with_the_model_garden(corpus, tmp_path):
    from official.nlp.data import pretrain_dataloader

    for v2_names in (False, True):
        folder = tmp_path / f"padded{v2_names}"
        manifest = prepare(
            _settings(corpus, pad=True, v2_names=v2_names, num_shards=1), str(folder)
        )
        loader = pretrain_dataloader.BertPretrainDataLoader(
            pretrain_dataloader.BertPretrainDataConfig(
                input_path=str(folder / "train-*"),
                global_batch_size=10,
                is_training=False,
                drop_remainder=False,
                seq_length=32,
                max_predictions_per_seq=5,
                use_v2_feature_names=v2_names,
            )
        )
        rows = 0
        for batch in loader.load():
            assert batch["input_word_ids"].shape[1] == 32
            assert batch["masked_lm_positions"].shape[1] == 5
            np.testing.assert_array_equal(
                batch["input_mask"], tf.cast(batch["input_word_ids"] != 0, tf.int32)
            )
            rows += len(batch["input_word_ids"])
        assert rows == manifest.splits["train"]["num_records"]


def test_dynamic_records_are_the_static_ones_unmasked(static, corpus, tmp_path):
    prepare(_settings(corpus, masks="dynamic"), str(tmp_path / "data"))
    dynamic = _read(tmp_path / "data")
    assert "masked_lm_positions" not in dynamic[0]
    expected = [(_originals(r), r["next_sentence_labels"]) for r in _read(static)]
    assert [(r["input_ids"], r["next_sentence_labels"]) for r in dynamic] == expected


def test_gzip(static, corpus, tmp_path):
    prepare(_settings(corpus, gzip=True), str(tmp_path / "data"))
    assert (tmp_path / "data" / "train-00002-of-00003.tfrecord.gz").exists()
    assert _read(tmp_path / "data") == _read(static)


def _unpacked(record: dict[str, list]) -> list[tuple]:
    """The instances of a packed record, as unpacked records would have them."""
    result = []
    ends = [*record["cls_positions"][1:], len(record["input_ids"])]
    for number, (start, end) in enumerate(zip(record["cls_positions"], ends, strict=True)):
        assert record["pack_ids"][start:end] == [number + 1] * (end - start)
        assert record["position_ids"][start:end] == list(range(end - start))
        masked = [
            (position - start, label)
            for position, label in zip(
                record["masked_lm_positions"], record["masked_lm_ids"], strict=True
            )
            if start <= position < end
        ]
        result.append(
            (
                tuple(record["input_ids"][start:end]),
                tuple(record["segment_ids"][start:end]),
                tuple(masked),
                record["next_sentence_labels"][number],
            )
        )
    return result


def test_packed_records_hold_the_same_instances(static, corpus, tmp_path):
    settings = _settings(corpus, pack=True)
    manifest = prepare(settings, str(tmp_path / "data"))
    packed = _read(tmp_path / "data")
    split = manifest.splits["train"]
    assert split["num_records"] == len(packed) < split["instances"]
    assert max(len(record["input_ids"]) for record in packed) <= 32
    assert manifest.options["max_instances_per_record"] == max(
        len(record["cls_positions"]) for record in packed
    )
    assert manifest.options["max_predictions_per_record"] == max(
        len(record["masked_lm_positions"]) for record in packed
    )
    assert manifest.options["max_predictions_per_seq"] == 5
    plain = Counter(
        (
            tuple(r["input_ids"]),
            tuple(r["segment_ids"]),
            tuple(zip(r["masked_lm_positions"], r["masked_lm_ids"], strict=True)),
            r["next_sentence_labels"][0],
        )
        for r in _read(static)
    )
    assert Counter(instance for record in packed for instance in _unpacked(record)) == plain


@pytest.mark.parametrize(("objective", "masked"), [("full_sentences", True), ("ltr", False)])
def test_single_segments(corpus, tmp_path, objective, masked):
    masks = "static" if masked else "none"
    settings = _settings(corpus, objective=objective, masks=masks, dupe_factor=1)
    prepare(settings, str(tmp_path / "data"))
    found = _read(tmp_path / "data")
    for record in found:
        ids = _originals(record) if masked else record["input_ids"]
        assert ("masked_lm_positions" in record) == masked
        assert "next_sentence_labels" not in record
        assert not any(record["segment_ids"])
        assert ids[0] == CLS and ids[-1] == SEP and _runs(ids[1:-1])
    # One pass uses every token once.
    tokens = sorted(i for r in found for i in (_originals(r) if masked else r["input_ids"])[1:-1])
    text = " ".join((corpus / name).read_text() for name in ("a.txt", "b.txt"))
    assert tokens == sorted(map(VOCAB.index, text.split()))


def test_held_out_documents_are_not_trained_on(corpus, tmp_path):
    settings = _settings(corpus, dev_fraction=0.2)
    manifest = prepare(settings, str(tmp_path / "data"))

    def documents(split: str) -> set[int]:
        return {
            (i - 5) // _TOKENS_PER_DOCUMENT
            for record in _read(tmp_path / "data", split)
            for i in _originals(record)
            if i >= 5
        }

    train, dev = documents("train"), documents("dev")
    assert not train & dev
    assert len(train | dev) == NUM_DOCUMENTS
    assert manifest.splits["dev"]["documents"] == len(dev)
    assert manifest.splits["dev"]["passes"] == 1
    assert manifest.splits["dev"]["num_shards"] == 1


def test_bytes_that_are_not_text_are_left_out_and_told(corpus, tmp_path):
    (tmp_path / "latin.txt").write_bytes("w0x0 w0x1\né\nw0x2\n\nw1x1\n".encode("latin-1"))
    settings = dataclasses.replace(_settings(corpus), inputs=(str(tmp_path / "latin.txt"),))
    manifest = prepare(settings, str(tmp_path / "data"))
    assert manifest.statistics["documents"] == 2
    told = summary(manifest)
    assert "skipped 1 bytes that are not UTF-8" in told
    assert "skipped 1 lines without a token" in told


def test_random_documents_are_uniform(corpus, tmp_path):
    prepare(_settings(corpus, dupe_factor=30), str(tmp_path / "data"))
    expected, counts = np.zeros(NUM_DOCUMENTS), np.zeros(NUM_DOCUMENTS)
    for record in _read(tmp_path / "data"):
        if record["next_sentence_labels"] == [1]:
            ids = _originals(record)
            own, other = (
                (ids[place] - 5) // _TOKENS_PER_DOCUMENT for place in (1, ids.index(SEP) + 1)
            )
            counts[other] += 1
            expected += 1 / (NUM_DOCUMENTS - 1)
            expected[own] -= 1 / (NUM_DOCUMENTS - 1)
    assert counts.sum() > 2500
    # 59 degrees of freedom, p = 0.001.
    assert ((counts - expected) ** 2 / expected).sum() < 98.3


def test_shares_on_real_text(tmp_path):
    text = public_data("wikipedia/wikitext-2-raw/wiki.test.raw").read_text("utf-8")
    # A line is a title or a paragraph; " = Title = " begins a document.
    lines = [
        "" if re.fullmatch(r" = [^=].* = ", line) else "\n".join(re.split(r"(?<= \.) ", line))
        for line in text.split("\n")
        if line.strip()
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    settings = PretrainingSettings(
        inputs=(str(tmp_path / "text.txt"),),
        vocab_file=str(public_data("vocab/bert-base-uncased/vocab.txt")),
        lower_case=True,
        records=RecordRule(InstanceRule(), MaskingRule()),
        dupe_factor=10,
    )
    split = prepare(settings, str(tmp_path / "data")).splits["train"]
    assert split["instances"] > 20_000
    assert split["predictions"] / split["tokens"] == pytest.approx(0.15, abs=0.003)
    shares = [split[name] / split["predictions"] for name in ("masked", "random", "kept")]
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.005)
    coins = split["instances"] - split["only_random_next"]
    heads = split["random_next"] - split["only_random_next"]
    assert heads / coins == pytest.approx(0.5, abs=0.01)


def test_records_have_known_features(static):
    names = set(_read(static)[0])
    present = records.present_features("pretraining", names)
    assert set(present) == names


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"masking": MaskingRule(max_predictions_per_seq=30)},
            "max_predictions_per_seq=30 is above 29",
        ),
        ({"dupe_factor": 0}, "dupe_factor=0 is below 1"),
        ({"dev_fraction": 1.0}, r"dev_fraction=1\.0 is outside"),
        ({"dev_fraction": 0.1, "split": "dev"}, "held-out documents"),
        ({"pack": True, "pad": True}, "pack_sequences and pad_records"),
    ],
)
def test_bad_settings_are_named(corpus, changes, message):
    with pytest.raises(InputError, match=message):
        _settings(corpus, **changes)


def test_too_few_documents_to_hold_out(corpus, tmp_path):
    with pytest.raises(InputError, match="leaves the split 'dev' without a document"):
        prepare(_settings(corpus, dev_fraction=0.001), str(tmp_path / "data"))
    assert list(tmp_path.iterdir()) == []
