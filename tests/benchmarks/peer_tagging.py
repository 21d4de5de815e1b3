"""The peer of `tagging_seeds`: token classification with transformers on the same rows.

  python -m tests.benchmarks.peer_tagging MODEL FOLDER [--seeds=1,2,3] [--epochs=2] …

FOLDER has train.conll, dev.conll and perhaps test.conll in IOB2 (`write_splits` makes them). The
weights, hyperparameters and rule of the labels (first piece of each word, argmax) are those of
configs/finetuning/ner_minilm.yaml; the score is seqeval's strict one.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import numpy as np
import torch
from transformers import BertForTokenClassification, BertTokenizerFast

from official_bert.evaluation.tagging import entity_scores

Sentence = tuple[list[str], list[str]]


def read(path: pathlib.Path) -> list[Sentence]:
    """Sentences of a file with a word, a TAB and a tag a line."""
    sentences: list[Sentence] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line]
        if rows:
            sentences.append(([row[0] for row in rows], [row[1] for row in rows]))
    return sentences


def encode(tokenizer: BertTokenizerFast, words: list[str]) -> tuple[list[int], list[int]]:
    """Ids with [CLS] and [SEP], and the place of the first piece of each word."""
    ids, places = [tokenizer.cls_token_id], []
    for pieces in tokenizer(words, add_special_tokens=False)["input_ids"]:
        places.append(len(ids))
        ids += pieces or [tokenizer.unk_token_id]
    return [*ids, tokenizer.sep_token_id], places


def batch_of(rows: list[tuple[list[int], list[int]]]) -> dict[str, torch.Tensor]:
    width = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (tokens, _) in enumerate(rows):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def train(arguments: argparse.Namespace, seed: int, data: dict[str, list[Sentence]]) -> dict:
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    tokenizer = BertTokenizerFast.from_pretrained(arguments.model)
    types = sorted({tag[2:] for rows in data.values() for _, tags in rows for tag in tags} - {""})
    labels = ["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")]
    number = {label: index for index, label in enumerate(labels)}
    model = BertForTokenClassification.from_pretrained(arguments.model, num_labels=len(labels))
    encoded = {
        split: [encode(tokenizer, words) for words, _ in rows] for split, rows in data.items()
    }
    if any(len(ids) > 512 for ids, _ in encoded["train"]):
        raise SystemExit("a training sentence is longer than 512 pieces: cut it first")
    plain = ("bias", "LayerNorm")
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not any(k in n for k in plain)], "weight_decay": 0.01},
        {"params": [p for n, p in named if any(k in n for k in plain)], "weight_decay": 0.0},
    ]
    steps = round(len(encoded["train"]) * arguments.epochs / arguments.batch_size)
    warmup = round(0.1 * steps)
    optimizer = torch.optim.AdamW(groups, lr=arguments.learning_rate, eps=1e-6)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(s / max(1, warmup), (steps - s) / (steps - warmup))
    )
    start, done = time.time(), 0
    model.train()
    while done < steps:
        order = random.permutation(len(encoded["train"]))
        batches = len(order) // arguments.batch_size
        for chosen in np.split(order[: batches * arguments.batch_size], batches)[: steps - done]:
            batch = batch_of([encoded["train"][i] for i in chosen])
            targets = torch.full_like(batch["input_ids"], -100)
            for row, i in enumerate(chosen):
                for place, tag in zip(encoded["train"][i][1], data["train"][i][1], strict=True):
                    targets[row, place] = number[tag]
            model(**batch, labels=targets).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            done += 1
    result = {"peer": True, "seed": seed, "seconds": round(time.time() - start)}
    model.eval()
    for split in data.keys() - {"train"}:
        gold, said = [tags for _, tags in data[split]], predict(model, encoded[split], labels)
        result[f"{split}_f1"] = round(entity_scores(gold, said)["f1"], 4)
    return result


@torch.inference_mode()
def predict(model: BertForTokenClassification, rows: list, labels: list[str]) -> list[list[str]]:
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    said: list[list[str]] = [[] for _ in rows]
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        best = model(**batch_of([rows[i] for i in chosen])).logits.argmax(-1).tolist()
        for row, i in enumerate(chosen):
            said[i] = [labels[best[row][place]] for place in rows[i][1]]
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data = {
        split: read(arguments.folder / f"{split}.conll")
        for split in ("train", "dev", "test")
        if (arguments.folder / f"{split}.conll").exists()
    }
    for seed in map(int, arguments.seeds.split(",")):
        print(json.dumps(train(arguments, seed, data)), flush=True)


if __name__ == "__main__":
    main()
