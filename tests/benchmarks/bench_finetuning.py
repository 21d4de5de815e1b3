"""Fine-tuning: rows a second on real rows, beside the Model Garden's encoder padded to 128.

Ours takes batches as a run takes them (random rows of the data set, packed), the peer as many rows
padded to 128 as its data sets are. Steps, head, optimizer and clipping are the same. In turns
(A B A B …), one process for each data set; medians.

Needs the public test data; a data set that is not there is left out.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.public_data import ROOT

ROUNDS = 3
BATCH, LENGTH = 32, 128
STEPS, PEER_STEPS = 32, 4
DATA_SETS = {"cola": "CoLA", "rte": "RTE"}

_INPUTS = ("input_word_ids", "input_mask", "input_type_ids", "position_ids", "pack_ids")


def run() -> list[dict[str, Any]]:
    """Rows of name, ours, peer, unit and ratio."""
    from tests import public_data

    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    rows = []
    for task, folder in DATA_SETS.items():
        path = public_data.DATA / "glue" / folder
        if not path.exists():
            continue
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.bench_finetuning", task, str(path)],
            stdout=subprocess.PIPE,
            check=True,
            cwd=ROOT,
            env=environment,
        )
        rows.append(json.loads(done.stdout.decode().splitlines()[-1]))
    return rows


def _measure(task: str, glue: str) -> dict[str, Any]:
    import numpy as np
    import tensorflow as tf
    from official.nlp.modeling import networks

    from official_bert import BertConfig, BertEncoder

    config = BertConfig(
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=6,
        intermediate_size=1536,
        hidden_act="gelu_tanh",  # as the Model Garden's
    )
    peer = networks.BertEncoderV2(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        inner_dim=config.intermediate_size,
        type_vocab_size=2,
    )
    batches = _batches(task, glue)
    rng = np.random.default_rng(0)
    padded = {
        "input_word_ids": tf.constant(rng.integers(1000, 30000, (BATCH, LENGTH)), tf.int32),
        "input_mask": tf.ones((BATCH, LENGTH), tf.int32),
        "input_type_ids": tf.zeros((BATCH, LENGTH), tf.int32),
    }
    peer(padded)
    padded["label_ids"] = tf.range(BATCH)[:, tf.newaxis] % 2
    jobs = {
        "ours": (_step(BertEncoder(config)), batches),
        "peer": (_step(peer), [padded] * PEER_STEPS),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number, (name, (step, given)) in itertools.product(range(ROUNDS + 1), jobs.items()):
        start = time.perf_counter()
        for batch in given:
            step(batch).numpy()
        if number:  # The first round warms up.
            seconds[name].append((time.perf_counter() - start) / len(given))
    ours, theirs = (BATCH / statistics.median(seconds[name]) for name in ("ours", "peer"))
    return {
        "name": f"fine-tuning on {task} rows, 6x384, batch 32 / Model Garden padded to 128",
        "ours": ours,
        "peer": theirs,
        "unit": "rows/s",
        "ratio": ours / theirs,
    }


def _batches(task: str, glue: str) -> list[dict[str, Any]]:
    """Batches of the task's training rows, as a run takes them."""
    from data_prep.finetuning.datasets import make_data_set
    from data_prep.finetuning.folder import write_folder
    from official_bert.data import pipeline
    from official_bert.data.manifest import Manifest
    from official_bert.data.packing import pack_batch
    from official_bert.text import Vocab
    from tests.finetuning_data import settings
    from tests.public_data import public_data

    vocab = Vocab.from_file(public_data("vocab/bert-base-uncased/vocab.txt"))
    given = settings(task, pathlib.Path(glue), vocab=vocab, max_seq_length=LENGTH)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        write_folder(make_data_set(given), given, data, num_shards=1, overwrite=False)
        manifest = Manifest.load(data)
        paths = manifest.shard_paths(data, "train")
        parse = pipeline.make_parser(
            pipeline.present_features("sentence_prediction", paths),
            sizes={"S": LENGTH, "num_labels": 2, "vocab_size": len(vocab), "type_vocab_size": 2},
            pad_to_max=False,
        )
        dataset = pipeline.training_batches(
            paths,
            num_records=manifest.splits["train"]["num_records"],
            batch_size=BATCH,
            seed=1,
            shuffle_buffer=20_000,
        )
        return [pack_batch(parse(serialized)) for serialized in dataset.take(STEPS)]


def _step(encoder: Any) -> Any:
    """A function that takes one whole step on a batch and gives the loss."""
    import tensorflow as tf
    import tf_keras

    from official_bert.layers.dropout import dropout_seed
    from official_bert.training.optimization import AdamW

    head = tf_keras.layers.Dense(2)
    head.build([None, 384])
    variables = [*encoder.trainable_variables, *head.trainable_variables]
    optimizer = AdamW(1e-5, weight_decay=0.01, jit_compile=False)
    optimizer.build(variables)
    number = tf.Variable(0, dtype=tf.int64)

    @tf.function(reduce_retracing=True)
    def step(batch: dict[str, tf.Tensor]) -> tf.Tensor:
        seed = tf.stack([tf.constant(1, tf.int64), number.assign_add(1)])
        with tf.GradientTape() as tape, dropout_seed(seed):
            inputs = {k: batch[k] for k in _INPUTS if k in batch}
            pooled = (
                encoder.pooled(inputs, batch["cls_positions"], training=True)  # [R, N, H]
                if "cls_positions" in batch
                else encoder(inputs, training=True)["pooled_output"]  # [B, H]
            )
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                batch["label_ids"][..., 0], head(pooled)
            )
            loss = tf.reduce_sum(losses * batch.get("record_weights", 1.0)) / BATCH
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return step


if __name__ == "__main__":
    print(json.dumps(_measure(*sys.argv[1:])))
