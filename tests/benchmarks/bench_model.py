"""The training step beside the Model Garden's encoder, and how near it is to the matrix product.

Both models take the same step (6 layers of 384, batch 32 x 128, classification on the pooled
output, AdamW, gradients clipped to norm 1) in one process, in turns (A B A B …); what counts is the
median of the wall time, and the ratio. Each precision has a process of its own; bfloat16 is left
out where the processor has no instructions for it, since one step takes many seconds there.

usage: python -m tests.benchmarks.bench_model
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.public_data import ROOT

ROUNDS = 7
LAYERS, HIDDEN, HEADS, BATCH, LENGTH = 6, 384, 6, 32, 128


def run() -> list[dict[str, Any]]:
    """Rows of name, ours, peer, unit and ratio; ours is the better one where the ratio is above 1.

    For the share of the matrix product, peer is the speed of the product of the feed-forward layer
    alone, measured in the same turns.
    """
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    rows = []
    policies = ["float32"]
    if _has_bfloat16():
        policies.append("mixed_bfloat16")
    else:
        print("no bfloat16: this processor has no instructions for it", file=sys.stderr)
    for policy in policies:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.bench_model", policy],
            stdout=subprocess.PIPE,
            check=True,
            cwd=ROOT,
            env=environment,
        )
        rows += json.loads(done.stdout.decode().splitlines()[-1])
    return rows


def _has_bfloat16() -> bool:
    """True unless Linux says that the processor has no instructions for it."""
    path = pathlib.Path("/proc/cpuinfo")
    flags = set(path.read_text().split()) if path.exists() else set()
    return not flags or bool(flags & {"avx512_bf16", "amx_bf16", "bf16"})


def _measure(policy: str) -> list[dict[str, Any]]:
    import numpy as np
    import tensorflow as tf
    import tf_keras
    from official.nlp.modeling import networks

    from official_bert import BertConfig, BertEncoder

    tf_keras.mixed_precision.set_global_policy(policy)
    rng = np.random.default_rng(0)
    batch = {
        "input_word_ids": tf.constant(rng.integers(1000, 30000, (BATCH, LENGTH)), tf.int32),
        "input_mask": tf.ones((BATCH, LENGTH), tf.int32),
        "input_type_ids": tf.zeros((BATCH, LENGTH), tf.int32),
    }
    config = BertConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * HIDDEN,
        hidden_act="gelu_tanh",  # as the Model Garden's
    )
    peer = networks.BertEncoderV2(
        vocab_size=config.vocab_size,
        hidden_size=HIDDEN,
        num_layers=LAYERS,
        num_attention_heads=HEADS,
        inner_dim=4 * HIDDEN,
        type_vocab_size=2,
    )
    peer(batch)
    half = tf.bfloat16 if policy == "mixed_bfloat16" else tf.float32
    left = tf.cast(tf.random.normal((BATCH * LENGTH, HIDDEN)), half)
    right = tf.cast(tf.random.normal((HIDDEN, 4 * HIDDEN)), half)
    product = tf.function(lambda: tf.matmul(left, right)[0, 0])
    seconds = _medians(
        {
            "ours": _training_step(BertEncoder(config), batch),
            "peer": _training_step(peer, batch),
            "product": lambda: product().numpy(),
        }
    )
    name = f"training step {LAYERS}x{HIDDEN}, {BATCH}x{LENGTH}, {policy}"
    speed = _operations() / seconds["ours"] / 1e9
    peak = 2 * BATCH * LENGTH * HIDDEN * 4 * HIDDEN / seconds["product"] / 1e9
    tokens = BATCH * LENGTH
    return [
        _row(
            f"{name} / Model Garden", tokens / seconds["ours"], tokens / seconds["peer"], "tokens/s"
        ),
        _row(f"{name}: share of the matrix product", speed, peak, "GFLOP/s"),
    ]


def _training_step(encoder: Any, batch: dict[str, Any]) -> Callable[[], Any]:
    """One whole step on this encoder; the optimizer and the head are the same for both."""
    import tensorflow as tf
    import tf_keras

    from official_bert.layers.dropout import dropout_seed

    head = tf_keras.layers.Dense(2, dtype="float32")
    head.build([None, HIDDEN])
    labels = tf.range(BATCH) % 2
    variables = [*encoder.trainable_variables, *head.trainable_variables]
    optimizer = tf_keras.optimizers.AdamW(1e-5, weight_decay=0.01)
    optimizer.build(variables)
    number = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step() -> tf.Tensor:
        # The seed is a variable, so that no mask is computed once and for all.
        seed = tf.stack([tf.constant(1, tf.int64), number.assign_add(1)])
        with tf.GradientTape() as tape, dropout_seed(seed):
            logits = head(encoder(batch, training=True)["pooled_output"])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return lambda: step().numpy()


def _operations() -> float:
    """Floating-point operations of the matrix products in one step: 6 for each weight and token,
    and 12 S H for each layer and token in attention."""
    weights = LAYERS * (4 * HIDDEN**2 + 2 * HIDDEN * 4 * HIDDEN)
    return BATCH * LENGTH * (6.0 * weights + 12.0 * LAYERS * LENGTH * HIDDEN)


def _medians(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of each job, run in turns after two rounds to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(ROUNDS + 2):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if number >= 2:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def _row(name: str, ours: float, peer: float, unit: str) -> dict[str, Any]:
    return {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ours / peer}


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1]) if len(sys.argv) > 1 else run()))
