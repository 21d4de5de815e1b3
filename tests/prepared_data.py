"""Small prepared data for tests of training: sentences that count, so a model can learn them."""

from __future__ import annotations

import pathlib

import numpy as np
import tensorflow as tf

from official_bert.data.manifest import Manifest, sha256_of_file, shard_name

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP, MASK = 2, 3, 4
VOCAB = [*SPECIALS, *(f"w{number}" for number in range(20))]
MAX_LENGTH = 16


def write_pretraining_data(
    folder: pathlib.Path, *, train: int = 96, dev: int = 24, shards: int = 2, seed: int = 0
) -> pathlib.Path:
    """`[CLS] w3 w4 [MASK] w6 [SEP] w9 [MASK] w11 [SEP]`: each word is the one before plus one."""
    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCAB))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}\n')
    random = np.random.default_rng(seed)
    for split, count in (("train", train), ("dev", dev)):
        examples = [pretraining_example(random) for _ in range(count)]
        for shard in range(shards):
            name = shard_name(split, shard, shards)
            with tf.io.TFRecordWriter(str(folder / name)) as writer:
                for example in examples[shard::shards]:
                    writer.write(example.SerializeToString())
    Manifest(
        task="pretraining",
        dataset="",
        splits={
            "train": {"num_records": train, "num_shards": shards},
            "dev": {"num_records": dev, "num_shards": shards},
        },
        max_seq_length=MAX_LENGTH,
        vocab_size=len(VOCAB),
        vocab_sha256=sha256_of_file(folder / "vocab.txt"),
        sources={},
        seed=seed,
        options={
            "objective": "bert",
            "masks": "static",
            "max_predictions_per_seq": 2,
            "max_predictions_per_record": 2,
            "max_instances_per_record": 1,
        },
    ).save(folder)
    return folder


def pretraining_example(random: np.random.Generator) -> tf.train.Example:
    """One record, unpadded; the second segment goes on after the first or starts anywhere."""
    first, second = random.integers(3, 7), random.integers(3, 6)
    start = random.integers(0, 20)
    is_random = int(random.integers(0, 2))
    second_start = random.integers(0, 20) if is_random else start + first
    a = [len(SPECIALS) + (start + i) % 20 for i in range(first)]
    b = [len(SPECIALS) + (second_start + i) % 20 for i in range(second)]
    ids = [CLS, *a, SEP, *b, SEP]
    positions = [2, len(a) + 3]
    labels = [ids[position] for position in positions]
    for position in positions:
        ids[position] = MASK
    features = {
        "input_ids": ids,
        "input_mask": [1] * len(ids),
        "segment_ids": [0] * (len(a) + 2) + [1] * (len(b) + 1),
        "masked_lm_positions": positions,
        "masked_lm_ids": labels,
        "next_sentence_labels": [is_random],
    }
    example = tf.train.Example()
    for name, values in features.items():
        example.features.feature[name].int64_list.value.extend(values)
    example.features.feature["masked_lm_weights"].float_list.value.extend([1.0] * len(positions))
    return example
