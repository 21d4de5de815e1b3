"""Tokenised documents -> a plan: for each instance, which tokens it takes.

A plan entry is 29 bytes, whatever the sequence length, so the plan of a whole corpus is small
enough to sort on disk. The key of an instance is a uniform 64-bit number; in the order of keys the
instances are shuffled globally.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data_prep.pretraining import instances as pretraining
from data_prep.pretraining.instances import InstanceRule, Spans
from data_prep.pretraining.token_store import Ranges, Store

PLAN_DTYPE = np.dtype(
    [
        ("key", "<u8"),
        ("a_start", "<i8"),  # in tokens.bin, after truncation
        ("b_start", "<i8"),
        ("a_length", "<u2"),
        ("b_length", "<u2"),
        ("next_kind", "u1"),  # see pretraining.py
    ]
)
# A document of more sentences than this is planned in windows.
WINDOW_SENTENCES = 1 << 16


def plan_documents(
    store: Store,
    start: int,
    stop: int,
    *,
    passes: int,
    seed: int,
    rule: InstanceRule,
    window: int = WINDOW_SENTENCES,
) -> tuple[NDArray, int]:
    """Plans all instances of the documents [start, stop) of a split.

    Args:
        store: the tokenised corpus.
        start, stop: the documents. Several documents must not have more than `window` sentences in
            all; a single one may be of any length.
        passes: how often each document is cut, each time anew.
        seed: of the run.
        rule: how to cut.
        window: sentences that are held at once.

    Returns:
        PLAN_DTYPE [n], and how many pairs were left out because the split has but one document and
        nothing follows their only sentence.
    """
    numbers, first, end = store.documents(start, stop).T
    own = np.arange(start, stop)
    at = np.repeat(first[None], passes, axis=0)  # [passes, D], where each chain stands
    plans, skipped = [], 0
    windows = -(-int((end - first).max()) // window) if len(first) == 1 else 1
    for number in range(windows):
        low = first + number * window
        high = np.minimum(end, low + window)
        # What an instance that starts before `high` may need: each sentence has a token or more.
        seen = np.minimum(end, high + rule.room + 2)
        token_starts, base = _sentence_starts(store, low, seen)
        offset = np.cumsum(seen - low) - (seen - low) - low  # sentence number -> index in block
        limits = np.stack([end, high], axis=1) + offset[:, None]
        for pass_number in range(passes):
            spans, after = pretraining.cut(
                token_starts,
                at[pass_number] + offset,
                first + offset,
                limits,
                pretraining.pass_keys(seed, numbers, pass_number),
                rule,
                has_other_document=store.num_documents > 1,
            )
            at[pass_number] = after - offset
            plan = _resolve(store, spans, token_starts, base, own, rule)
            kept = plan["b_length"] > 0 if rule.pairs else np.ones(len(plan), bool)
            skipped += int((~kept).sum())
            plans.append(plan[kept])
    return np.concatenate(plans), skipped


def _sentence_starts(
    store: Store, low: NDArray[np.int64], seen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sentences [low, seen) of each document, set side by side.

    Returns:
        int64 [M + 1], where each sentence starts if the ranges' tokens lay side by side, and the
        end; int64 [D], what to add for the offset in tokens.bin.
    """
    sizes = seen - low
    bounds = store.sentences.gather(low.tolist(), (sizes + 1).tolist())
    lengths = np.diff(bounds)
    between = np.cumsum(sizes + 1)[:-1] - 1  # differences that go from document to document
    lengths = np.delete(lengths, between)
    token_starts = np.concatenate([[0], np.cumsum(lengths)])
    firsts = np.cumsum(sizes + 1) - (sizes + 1)
    base = bounds[firsts] - token_starts[np.cumsum(sizes) - sizes]
    return token_starts, base


def _resolve(
    store: Store,
    spans: Spans,
    token_starts: NDArray[np.int64],
    base: NDArray[np.int64],
    own: NDArray[np.int64],
    rule: InstanceRule,
) -> NDArray:
    """Turns sentence ranges into truncated token ranges, and finds the random second segments."""
    base = base[spans.document]
    a_start = token_starts[spans.start] + base
    a_length = token_starts[spans.a_end] + base - a_start
    b_start = a_start + a_length
    b_length = token_starts[spans.end] + base - b_start
    random = np.flatnonzero(spans.is_random)
    if len(random):
        key = spans.key[random]
        other = pretraining.random_documents(key, own[spans.document[random]], store.num_documents)
        _, other_first, other_end = store.documents_at(other).T
        sentence = other_first + pretraining.random_starts(key, other_end - other_first)
        wanted = np.maximum(spans.target[random] - a_length[random], 1)
        b_start[random], b_length[random] = sentences_until(
            store.sentences, sentence, other_end, wanted
        )
    kept = pretraining.truncate(spans.key, a_length, b_length, rule.room)
    plan = np.empty(len(spans.key), PLAN_DTYPE)
    plan["key"] = spans.key
    plan["a_start"] = a_start + kept.a_front
    plan["b_start"] = b_start + kept.b_front
    plan["a_length"] = kept.a_length
    plan["b_length"] = kept.b_length
    plan["next_kind"] = spans.next_kind
    return plan


def sentences_until(
    sentences: Ranges,
    sentence: NDArray[np.int64],
    document_end: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole sentences from each one on, until `wanted` tokens or the end of the document.

    Args:
        sentences: where each sentence begins, and the last one ends.
        sentence: int64 [n], the sentences to begin with.
        document_end: int64 [n], the sentence after the last of the document.
        wanted: int64 [n], at least 1.

    Returns:
        int64 [n] each: where the first token is, number of tokens.
    """
    most = np.minimum(wanted, document_end - sentence)  # each sentence has a token or more
    bounds = sentences.gather(sentence.tolist(), (most + 1).tolist())
    firsts = np.cumsum(most + 1) - (most + 1)
    begin = bounds[firsts]
    owner = np.repeat(np.arange(len(most)), most + 1)
    short = bounds - begin[owner] < wanted[owner]  # true for the first bound of each, at least
    count = np.bincount(owner[short], minlength=len(most))
    return begin, bounds[firsts + np.minimum(count, most)] - begin
