"""Compares the tokenizer with the plain-Python rule on all of Unicode and a million random strings.

Every code point in four surroundings, then seeded random strings over many scripts, each cased and
uncased, with each of the four published vocabularies; ids with and without offsets, and the offsets
themselves. Prints what it compared, and exits with status 1 if anything differs but code points
that are unassigned in one of the two Unicode versions at work (Python's and tensorflow_text's),
which it lists.

The work is cut into parts of some seconds (`Part`). What is found in each is kept in a file until
all are done, so that a run that was stopped goes on where it was, unless the sources have changed.

usage: python -m tests.text.compare_all [--random_strings=1000000] [--processes=2]
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.public_data import ROOT, public_data

VOCABULARIES = (
    "bert-base-uncased",
    "bert-base-cased",
    "bert-base-chinese",
    "bert-base-multilingual-cased",
)
_NUM_SURROUNDINGS, _NUM_PLANES = 4, 17
_BATCH = 20_000
# The modules that decide what the tokenizer gives.
_TOKENIZER = (
    *("tokenizer", "normalizer", "normalization", "normalizer_model"),
    *("wordpiece", "offsets", "vocab"),
)
_KEPT = ROOT / ".cache" / "compare_tokenizer.jsonl"


class Part(NamedTuple):
    """A part of the work.

    Attributes:
      kind: "code points" (number: surrounding * 17 + plane) or "random strings" (number: which
        20,000 of them).
      lower_case: the tokenizer's setting.
      count: how many random strings.
    """

    kind: str
    lower_case: bool
    number: int
    count: int
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random_strings", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20190524)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    start = time.monotonic()
    print(f"Python's Unicode is {unicodedata.unidata_version}")
    parts = list(_parts(arguments.random_strings, arguments.seed))
    found = _read_kept()
    left = [part for part in parts if part not in found]
    if len(left) < len(parts):
        print(f"{len(parts) - len(left)} of {len(parts)} parts were compared by a run before")
    with (
        concurrent.futures.ProcessPoolExecutor(
            arguments.processes, multiprocessing.get_context("spawn")
        ) as pool,
        open(_KEPT, "a", encoding="utf-8") as kept,
    ):
        futures = {pool.submit(compare, part): part for part in left}
        for future in concurrent.futures.as_completed(futures):
            part = futures[future]
            found[part] = future.result()
            kept.write(json.dumps([_sources(), part, found[part]]) + "\n")
            kept.flush()
            _show_progress(part, found[part], len(found), len(parts))
    faults = _show([(part, found[part]) for part in parts])
    print(f"{faults} faults; {time.monotonic() - start:,.0f} s")
    _KEPT.unlink()
    sys.exit(1 if faults else 0)


def _parts(random_count: int, seed: int) -> Iterator[Part]:
    for lower_case in (True, False):
        for number in range(_NUM_SURROUNDINGS * _NUM_PLANES):
            yield Part("code points", lower_case, number, 0, 0)
        for number, done in enumerate(range(0, random_count, _BATCH)):
            count = min(_BATCH, random_count - done)
            yield Part("random strings", lower_case, number, count, seed)


def compare(part: Part) -> dict[str, dict[str, Any]]:
    """The report on a part for each vocabulary, as JSON has it: strings are in hexadecimal."""
    from tests.text.comparison import Comparison

    pairs = _rules_and_tokenizers(part.lower_case)
    comparisons = {name: Comparison(*pair) for name, pair in pairs.items()}
    some_rule = pairs[VOCABULARIES[0]][0]
    for batch in _batches(_strings(part)):
        words = [some_rule.words(string) for string in batch]
        for comparison in comparisons.values():
            comparison.run(batch, words)
    return {
        name: {
            "strings": comparison.report.strings,
            "tokens": comparison.report.tokens,
            "shared": comparison.report.shared,
            "differences": [string.hex() for string in comparison.report.differences],
            "wrong_offsets": [(s.hex(), token) for s, token in comparison.report.wrong_offsets],
        }
        for name, comparison in comparisons.items()
    }


def _strings(part: Part) -> Iterable[bytes]:
    from tests.text.comparison import SURROUNDINGS, all_code_points, random_strings

    if part.kind == "random strings":
        # Each part has a seed of its own: parts are compared in any order.
        return random_strings(part.count, part.seed * 1_000_000 + part.number)
    surrounding, plane = divmod(part.number, _NUM_PLANES)
    chars = (char for char in all_code_points() if ord(char) >> 16 == plane)
    return (SURROUNDINGS[surrounding].format(char).encode() for char in chars)


@functools.cache
def _rules_and_tokenizers(lower_case: bool) -> dict[str, tuple]:
    from official_bert.text import BertTokenizer, Vocab
    from tests.text.reference_rule import ReferenceRule, read_vocab

    paths = {name: public_data(f"vocab/{name}/vocab.txt") for name in VOCABULARIES}
    return {
        name: (
            ReferenceRule(read_vocab(path), lower_case),
            BertTokenizer(Vocab.from_file(path), lower_case),
        )
        for name, path in paths.items()
    }


def _batches(strings: Iterable[bytes]) -> Iterator[list[bytes]]:
    iterator = iter(strings)
    while batch := list(itertools.islice(iterator, _BATCH)):
        yield batch


def _read_kept() -> dict[Part, dict[str, dict[str, Any]]]:
    """What a run that was stopped has found, with the sources as they are now."""
    _KEPT.parent.mkdir(exist_ok=True)
    if not _KEPT.exists():
        return {}
    # A line is whole if it ends.
    lines = [line for line in _KEPT.read_text("utf-8").splitlines(keepends=True) if "\n" in line]
    rows = map(json.loads, lines)
    return {Part(*part): reports for sources, part, reports in rows if sources == _sources()}


@functools.cache
def _sources() -> str:
    """A hash of what is compared and of what it is compared with."""
    here = pathlib.Path(__file__)
    paths = [here, here.with_name("comparison.py"), here.with_name("reference_rule.py")]
    paths += [ROOT / "official_bert" / "text" / f"{name}.py" for name in _TOKENIZER]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _show_progress(part: Part, reports: dict[str, Any], done: int, total: int) -> None:
    differ = sum(len(r["differences"]) + len(r["wrong_offsets"]) for r in reports.values())
    case = "uncased" if part.lower_case else "cased"
    print(
        f"  {done}/{total} {case} {part.kind} {part.number}: {differ} differ",
        file=sys.stderr,
        flush=True,
    )


def _show(found: Iterable[tuple[Part, dict[str, dict[str, Any]]]]) -> int:
    """Prints a line for each setting, lists the excused code points, and counts the faults."""
    totals: dict[tuple, dict[str, Any]] = {}
    for part, reports in found:
        for name, report in reports.items():
            total = totals.setdefault((part.kind, part.lower_case, name), collections.Counter())
            for field, value in report.items():
                total[field] = total[field] + value if total[field] else value
    unassigned: set[str] = set()
    faults = 0
    for (kind, lower_case, name), total in totals.items():
        faulty = [(bytes.fromhex(string), token) for string, token in total["wrong_offsets"] or ()]
        excused = 0
        for string in map(bytes.fromhex, total["differences"] or ()):
            new = {c for c in string.decode(errors="ignore") if unicodedata.category(c) == "Cn"}
            unassigned |= new
            excused += bool(new)
            if not new:
                faulty.append((string, "(ids)"))
        print(
            f"{name:30} {'uncased' if lower_case else 'cased':8} {kind:15} "
            f"{total['strings']:>10,} strings {total['tokens']:>11,} tokens  faults {len(faulty)}  "
            f"(differences with unassigned code points {excused:,}, "
            f"tokens of a part of a character {total['shared']:,})"
        )
        for fault in faulty[:10]:
            print("    ", *fault)
        faults += len(faulty)
    print(f"\n{len(unassigned)} code points differ that Python's Unicode does not assign:")
    print(" ".join(f"U+{ord(char):04X}" for char in sorted(unassigned)) or "none")
    return faults


if __name__ == "__main__":
    main()
