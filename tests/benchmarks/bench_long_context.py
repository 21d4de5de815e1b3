"""Question answering on a context of 1 MB beside ten of 100 kB: time must grow as the text does.

The encoder is small, so that tokenizer, windows and the search for spans show. Processor time,
which other programs touch least; in turns, the least of some rounds.
"""

from __future__ import annotations

import random
import time
from typing import Any

ROUNDS = 3
PARTS, PART_BYTES = 10, 100_000


def run() -> list[dict[str, Any]]:
    """One row: texts a second in ten parts, and in one; the ratio is 1 where time is linear."""
    import tensorflow as tf

    from official_bert.inference.base import AnswerOptions
    from official_bert.inference.question_answering import QuestionAnswering
    from official_bert.inference.runner import answer_function
    from tests.inference.spans import MAX_POSITIONS, WORDS, span_bundle

    task_options = {"doc_stride": 9, "max_query_length": 6}
    options = AnswerOptions(max_seq_length=MAX_POSITIONS, task_options=task_options)
    answer = answer_function(QuestionAnswering(span_bundle(), options))
    rng = random.Random(0)
    parts = [" ".join(rng.choices(WORDS, k=PART_BYTES))[:PART_BYTES] for _ in range(PARTS)]

    def seconds(contexts: list[str]) -> float:
        start = time.process_time()
        for context in contexts:
            answer(question=tf.constant(["where"]), context=tf.constant([context]))
        return time.process_time() - start

    rounds = [(seconds(["".join(parts)]), seconds(parts)) for _ in range(ROUNDS + 1)][1:]
    whole, in_parts = (min(values) for values in zip(*rounds, strict=True))
    return [
        {
            "name": "answers in 1 MB / in ten of 100 kB (0.77 at least)",
            "ours": 1 / whole,
            "peer": 1 / in_parts,
            "unit": "MB/s",
            "ratio": in_parts / whole,
        }
    ]
