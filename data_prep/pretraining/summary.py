"""What a run of pretraining data made: the manifest and a summary to read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import official_bert
from data_prep.pretraining.settings import PretrainingSettings
from official_bert.data.manifest import Manifest
from official_bert.errors import InputError
from official_bert.text.vocab import Vocab


def make_manifest(
    settings: PretrainingSettings, vocab: Vocab, progress: dict[str, Any]
) -> Manifest:
    """The manifest of a finished run.

    Args:
        settings: of the run.
        vocab: its vocabulary.
        progress: "sources" with their hashes, "counts" of the text and the number of "documents",
            "plans" and "shards" of each split.
    """
    splits = {}
    largest = Counter(max_predictions_per_record=0, max_instances_per_record=1)
    for split in settings.splits:
        plan = progress["plans"][split]
        counts: Counter[str] = Counter()
        for shard in progress["shards"][split].values():
            for name, number in shard.items():
                if name.startswith("max_"):
                    largest[name] = max(largest[name], number)
                else:
                    counts[name] += number
        room = counts["records"] * settings.records.instances.max_seq_length
        splits[split] = {
            "num_records": counts.pop("records"),
            "num_shards": settings.shards(split),
            "documents": plan["num_documents"],
            "passes": settings.passes(split),
            "skipped_pairs": plan["skipped"],
            **dict(sorted(counts.items())),
            "padding_share": _share(room - counts["tokens"], room),
        }
    options = settings.options()
    del options["inputs"], options["seed"]
    return Manifest(
        task="pretraining",
        dataset="",
        splits=splits,
        max_seq_length=settings.records.instances.max_seq_length,
        vocab_size=len(vocab),
        vocab_sha256=vocab.sha256,
        sources=progress["sources"],
        seed=settings.seed,
        options={**options, **largest},
        statistics={
            "documents": progress["documents"],
            **dict(sorted(progress["counts"].items())),
        },
        version=official_bert.__version__,
    )


def check_documents(settings: PretrainingSettings, progress: dict[str, Any]) -> None:
    """Raises InputError where there is no document, or none for a split."""
    if not progress["documents"]:
        given = ",".join(settings.inputs)
        raise InputError(f"--input_file={given} has no text: give lines with words in them")
    for split in settings.splits:
        if not progress["plans"][split]["num_documents"]:
            raise InputError(
                f"--dev_fraction={settings.dev_fraction} leaves the split {split!r} without a "
                f"document: the corpus has only {progress['documents']} (an empty line ends a "
                "document); give another share or another --random_seed"
            )


def no_instances(settings: PretrainingSettings, split: str) -> InputError:
    """The error for a split that gives no instance."""
    return InputError(
        f"--input_file={','.join(settings.inputs)} gives no instance for the split {split!r}: its "
        "only document has one line; give more lines or documents"
    )


def summary(manifest: Manifest) -> str:
    """The numbers of a manifest in a few lines."""
    text = manifest.statistics
    lines = [
        f"{text['documents']:,} documents, {text['sentences']:,} sentences, "
        f"{text['tokens']:,} tokens, {_percent(text['unknown_tokens'], text['tokens'])} [UNK]"
    ]
    if text["lines_without_token"]:
        lines.append(f"skipped {text['lines_without_token']:,} lines without a token")
    if text["invalid_utf8_bytes"]:
        lines.append(f"skipped {text['invalid_utf8_bytes']:,} bytes that are not UTF-8")
    for name, split in manifest.splits.items():
        lines.append(
            f"{name}: {split['instances']:,} instances of {split['documents']:,} documents, in "
            f"{split['num_records']:,} records in {split['num_shards']} files"
        )
        if split["skipped_pairs"]:
            lines.append(
                f"  skipped {split['skipped_pairs']:,} sentences without a second one: there is "
                "no other document to take it from"
            )
        parts = [f"{100 * split['padding_share']:.1f} % padding at full length"]
        if "random_next" in split:
            coins = split["instances"] - split["only_random_next"]
            heads = split["random_next"] - split["only_random_next"]
            parts.append(
                f"{_percent(split['random_next'], split['instances'])} random next "
                f"({_percent(heads, coins)} where something follows)"
            )
        if "predictions" in split:
            predictions = split["predictions"]
            parts.append(
                f"{_percent(predictions, split['tokens'])} predicted "
                f"({_percent(split['masked'], predictions)} [MASK], "
                f"{_percent(split['random'], predictions)} random, "
                f"{_percent(split['kept'], predictions)} kept)"
            )
        lines.append("  " + ", ".join(parts))
    return "\n".join(lines)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percent(part: int, whole: int) -> str:
    return f"{100 * _share(part, whole):.1f} %"
