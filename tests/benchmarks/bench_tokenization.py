"""Speed of the tokenizer on one core, beside other tokenizers on the same lines of English.

Every tokenizer takes the lines in batches of 1,000, in turns (A B C A B C …), in a process of its
own that is bound to one core; what counts is the median of the processor time. Also how the time
grows with the length of a line and of a word.

usage: python -m tests.benchmarks.bench_tokenization
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.public_data import ROOT, public_data

ROUNDS = 7
BATCH = 1000
# These give offsets without being asked to, or take as long with them.
_HAVE_BOTH = ("Python rule", "tokenizers")
# Arrays of more than 32 MB are new memory from the system at each call, and the first touch of each
# page costs as much as the work itself; glibc is told to keep it, so that work alone is compared.
_KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**36)}


def run() -> list[dict[str, Any]]:
    """Rows of name, ours, peer, unit and ratio; ours is the better one where the ratio is above 1.

    For growth, ours and peer are the times for four times the text and for once, and the ratio is
    4 where time is linear.
    """
    return _in_a_process("speed", {}) + _in_a_process("growth", _KEEP_MEMORY)


def _in_a_process(what: str, settings: dict[str, str]) -> list[dict[str, Any]]:
    single_threaded = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_tokenization", what],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **single_threaded, **settings},
        preexec_fn=functools.partial(os.sched_setaffinity, 0, [max(os.sched_getaffinity(0))]),
    )
    return json.loads(done.stdout)


def _speed() -> list[dict[str, Any]]:
    import tensorflow as tf

    vocab_file = public_data("vocab/bert-base-uncased/vocab.txt")
    text = public_data("wikipedia/wikitext-2-raw/wiki.test.raw").read_text("utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    batches = [lines[i : i + BATCH] for i in range(0, len(lines), BATCH)]
    as_tensors = [tf.constant(batch) for batch in batches]
    megabytes = sum(len(line.encode()) for line in lines) / 1e6
    ours = _ours()
    peers = _peers(vocab_file)
    jobs: dict[str, Callable[[], None]] = {
        "ids": lambda: _for_each(as_tensors, ours.tokenize),
        "ids and offsets": lambda: _for_each(as_tensors, ours.tokenize_with_offsets),
    }
    for name, (peer, takes_tensors) in peers.items():
        jobs[name] = functools.partial(_for_each, as_tensors if takes_tensors else batches, peer)
    speed = {name: megabytes / seconds for name, seconds in _medians(jobs).items()}
    return [
        _row(f"{what} / {name}", speed[what], speed[name], "MB/s a core")
        for what in ("ids", "ids and offsets")
        for name in peers
        if name in _HAVE_BOTH or name.endswith("with offsets") == (what == "ids and offsets")
    ]


def _ours() -> Any:
    from official_bert.text import BertTokenizer, Vocab

    return BertTokenizer(Vocab.from_file(public_data("vocab/bert-base-uncased/vocab.txt")))


def _peers(vocab_file: pathlib.Path) -> dict[str, tuple[Callable[[Any], Any], bool]]:
    """Functions of a batch by name, and whether they take it as a tensor."""
    import tensorflow as tf
    import tensorflow_text
    from official.nlp.tools.tokenization import FullTokenizer
    from tokenizers import BertWordPieceTokenizer

    from official_bert.text import Vocab

    vocab = Vocab.from_file(vocab_file)
    rule = FullTokenizer(str(vocab_file), do_lower_case=True)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(vocab.tokens), tf.range(len(vocab), dtype=tf.int64)
        ),
        num_oov_buckets=1,
    )
    bert = tensorflow_text.BertTokenizer(table, lower_case=True, token_out_type=tf.int32)
    fast = tensorflow_text.FastBertTokenizer(
        list(vocab.tokens), token_out_type=tf.int32, lower_case_nfd_strip_accents=True
    )
    hugging_face = BertWordPieceTokenizer(str(vocab_file), lowercase=True)
    return {
        "Python rule": (
            lambda batch: [rule.convert_tokens_to_ids(rule.tokenize(line)) for line in batch],
            False,
        ),
        "BertTokenizer": (bert.tokenize, True),
        "FastBertTokenizer": (fast.tokenize, True),
        "BertTokenizer with offsets": (bert.tokenize_with_offsets, True),
        "FastBertTokenizer with offsets": (fast.tokenize_with_offsets, True),
        "tokenizers": (
            lambda batch: hugging_face.encode_batch(batch, add_special_tokens=False),
            False,
        ),
    }


def _growth() -> list[dict[str, Any]]:
    ours = _ours()
    sentence = "The quick brown fox jumps over the lazy dog — naïve, isn't it? Ελλάδα ΣΑΣ 漢字. "
    once = len(sentence.encode())
    rows = []
    for what, unit, small in (
        ("a line of 5 MB after one of 1.25 MB", sentence, 1_250_000 // once),
        # Between the two above the caches are left; from here on there is nothing more to leave.
        ("a line of 20 MB after one of 5 MB", sentence, 5_000_000 // once),
        ("a line of 5 MB after one of 1.25 MB, no spaces", "ภาษาไทย", 60_000),
        ("a word of 100,000 letters after one of 25,000", "a", 25_000),
        ("a word of 4,000,000 letters after one of 1,000,000", "é", 1_000_000),
    ):
        for title, function in (
            ("ids", ours.tokenize),
            ("ids and offsets", ours.tokenize_with_offsets),
        ):
            times = _medians(
                {
                    str(factor): functools.partial(_for_each, [[unit * small * factor]], function)
                    for factor in (1, 4)
                }
            )
            rows.append(_row(f"{title} / {what}", times["4"], times["1"], "s"))
    return rows


def _for_each(batches: list, function: Callable[[Any], Any]) -> None:
    for batch in batches:
        function(batch)


def _medians(jobs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Seconds of processor time of each job, the jobs in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(ROUNDS + 1):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            if number:  # the first round traces and fills caches
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def _row(name: str, ours: float, peer: float, unit: str) -> dict[str, Any]:
    return {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ours / peer}


def _measure(what: str) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print(json.dumps({"speed": _speed, "growth": _growth}[what]()))


if __name__ == "__main__":
    if sys.argv[1:]:
        _measure(sys.argv[1])
    else:
        for row in run():
            print(
                f"{row['name']:75} {row['ours']:9.4g} {row['peer']:9.4g} {row['unit']:12}"
                f" {row['ratio']:6.2f}"
            )
