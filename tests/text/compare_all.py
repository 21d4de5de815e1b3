"""Compares the tokenizer with the plain-Python rule on all of Unicode and a million random strings.

Every code point in four surroundings, then seeded random strings over many scripts, each cased and
uncased, with each of the four published vocabularies; ids with and without offsets, and the offsets
themselves. Prints what it compared, and exits with status 1 if anything differs but code points
that are unassigned in one of the two Unicode versions at work (Python's and tensorflow_text's),
which it lists.

usage: python -m tests.text.compare_all [--random_strings=1000000] [--processes=2]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import multiprocessing
import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator

from tests.public_data import public_data

VOCABULARIES = (
    "bert-base-uncased",
    "bert-base-cased",
    "bert-base-chinese",
    "bert-base-multilingual-cased",
)
_BATCH = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random_strings", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20190524)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    start = time.monotonic()
    print(f"Python's Unicode is {unicodedata.unidata_version}")
    with concurrent.futures.ProcessPoolExecutor(
        arguments.processes, multiprocessing.get_context("spawn")
    ) as pool:
        results = [
            pool.submit(compare, lower_case, arguments.random_strings, arguments.seed)
            for lower_case in (True, False)
        ]
        reports = [result.result() for result in results]
    unassigned, faults = set(), 0
    for lower_case, report in zip((True, False), reports, strict=True):
        for name, (code_points, strings) in report.items():
            faults += _show(name, lower_case, "code points", code_points, unassigned)
            faults += _show(name, lower_case, "random strings", strings, unassigned)
    print(f"\n{len(unassigned)} code points differ that Python's Unicode does not assign:")
    print(" ".join(f"U+{ord(char):04X}" for char in sorted(unassigned)) or "none")
    print(f"{faults} faults; {time.monotonic() - start:,.0f} s")
    sys.exit(1 if faults else 0)


def compare(lower_case: bool, random_count: int, seed: int) -> dict[str, tuple]:
    """The reports for code points and for random strings, by vocabulary."""
    from official_bert.text import BertTokenizer, Vocab
    from tests.text.comparison import (
        SURROUNDINGS,
        Comparison,
        all_code_points,
        random_strings,
    )
    from tests.text.reference_rule import ReferenceRule, read_vocab

    paths = {name: public_data(f"vocab/{name}/vocab.txt") for name in VOCABULARIES}
    rules = {name: ReferenceRule(read_vocab(path), lower_case) for name, path in paths.items()}
    tokenizers = {
        name: BertTokenizer(Vocab.from_file(path), lower_case) for name, path in paths.items()
    }

    def reports(title: str, strings: Iterable[bytes]) -> dict:
        comparisons = {name: Comparison(rules[name], tokenizers[name]) for name in VOCABULARIES}
        some_rule = rules[VOCABULARIES[0]]
        for number, batch in enumerate(_batches(strings), start=1):
            words = [some_rule.words(string) for string in batch]
            for comparison in comparisons.values():
                comparison.run(batch, words)
            if number % 25 == 0:
                case = "uncased" if lower_case else "cased"
                print(f"  {case}: {number * _BATCH:,} {title}", file=sys.stderr, flush=True)
        return {name: comparison.report for name, comparison in comparisons.items()}

    in_surroundings = (
        form.format(char).encode() for form in SURROUNDINGS for char in all_code_points()
    )
    code_points = reports("strings of one code point", in_surroundings)
    random = reports("random strings", random_strings(random_count, seed))
    return {name: (code_points[name], random[name]) for name in VOCABULARIES}


def _batches(strings: Iterable[bytes]) -> Iterator[list[bytes]]:
    iterator = iter(strings)
    while batch := list(itertools.islice(iterator, _BATCH)):
        yield batch


def _show(name: str, lower_case: bool, title: str, report, unassigned: set[str]) -> int:
    """Prints a line, adds the unassigned code points that differ, and counts the faults."""
    faults = list(report.wrong_offsets)
    excused = 0
    for string in report.differences:
        new = {c for c in string.decode(errors="ignore") if unicodedata.category(c) == "Cn"}
        unassigned |= new
        excused += bool(new)
        if not new:
            faults.append((string, "(ids)"))
    print(
        f"{name:30} {'uncased' if lower_case else 'cased':8} {title:15} "
        f"{report.strings:>10,} strings {report.tokens:>11,} tokens  "
        f"differences {len(report.differences) - excused} "
        f"(and {excused} with unassigned code points)  "
        f"wrong offsets {len(report.wrong_offsets)} (shared characters: {report.shared:,})"
    )
    for fault in faults[:10]:
        print("    ", *fault)
    return len(faults)


if __name__ == "__main__":
    main()
