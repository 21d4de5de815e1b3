"""Documents -> pretraining instances, in pure functions on token-id arrays.

The algorithm is google-research/bert's `create_pretraining_data.py` (Devlin et al. 2019, 3.1 and
A.2). Tokens of all documents lie in one long array, so an instance is two ranges of it: segment A
and segment B. That lets NumPy plan all instances of many documents at once. What an instance
becomes does not depend on what its random next document says, only on that document's length, so
planning needs no token at all.

Each draw is keyed by (seed, document, pass, first sentence): see `official_bert/text/draws.py`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from official_bert.errors import InputError
from official_bert.text import draws

OBJECTIVES = ("bert", "full_sentences", "ltr")
MIN_SEQ_LENGTH = 8

# Where the second segment of a pair comes from: what follows; another document, by a fair coin;
# another document, because a single sentence reaches the target length and nothing follows it.
TRUE_NEXT, RANDOM_NEXT, ONLY_RANDOM = range(3)

# What a draw of an instance is for (each its own stream), and the draws of a document.
_A_END, _COIN, _RANDOM_DOCUMENT, _RANDOM_START, _FRONT_A, _FRONT_B = range(6)
_IS_SHORT, _SHORT_TARGET, _FIRST_SENTENCE = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class InstanceRule:
    """How documents are cut into instances.

    Attributes:
        max_seq_length: L, with [CLS] and [SEP].
        short_seq_prob: share of documents (drawn anew each pass) cut at a shorter target length.
        objective: "bert" makes sentence pairs; "full_sentences" (RoBERTa, Liu et al. 2019: no
            next-sentence task, contiguous sentences of a document until the sequence is full) and
            "ltr" (the same sequences, no masks) make single segments.
    """

    max_seq_length: int = 128
    short_seq_prob: float = 0.1
    objective: str = "bert"

    def __post_init__(self) -> None:
        """Raises InputError naming the field, its value and what it may be."""
        if not MIN_SEQ_LENGTH <= self.max_seq_length < 1 << 16:
            raise InputError(
                f"max_seq_length={self.max_seq_length} is outside [{MIN_SEQ_LENGTH}, 65535]: "
                "give for example 128"
            )
        if not 0 <= self.short_seq_prob <= 1:
            raise InputError(f"short_seq_prob={self.short_seq_prob} is outside [0, 1]")
        if self.objective not in OBJECTIVES:
            raise InputError(f"objective={self.objective!r} is not one of {OBJECTIVES}")

    @property
    def pairs(self) -> bool:
        """Whether instances are sentence pairs."""
        return self.objective == "bert"

    @property
    def room(self) -> int:
        """Tokens of text an instance holds: L without [CLS] and one or two [SEP]."""
        return self.max_seq_length - (3 if self.pairs else 2)


@dataclasses.dataclass(frozen=True)
class Spans:
    """Instances as ranges of sentences of their own document, before B and truncation.

    Attributes:
        key: uint64 [n], of the instance.
        document: int64 [n], index into the documents given to `cut`.
        start, a_end, end: int64 [n], sentence numbers within the block: A is [start, a_end), the
            true continuation [a_end, end).
        target: int64 [n], the target length in tokens.
        next_kind: uint8 [n], `TRUE_NEXT`, `RANDOM_NEXT` or `ONLY_RANDOM`.
    """

    key: NDArray[np.uint64]
    document: NDArray[np.int64]
    start: NDArray[np.int64]
    a_end: NDArray[np.int64]
    end: NDArray[np.int64]
    target: NDArray[np.int64]
    next_kind: NDArray[np.uint8]

    @property
    def is_random(self) -> NDArray[np.bool_]:
        """bool [n], whether B comes from another document."""
        return self.next_kind != TRUE_NEXT


def pass_keys(seed: int, documents: NDArray[np.int64], pass_number: int) -> NDArray[np.uint64]:
    """uint64 [D]: the key of each (seed, document, pass)."""
    return draws.fold(draws.fold(draws.fold(0, seed), documents), pass_number)


def in_held_out_split(seed: int, documents: NDArray[np.int64], fraction: float) -> NDArray:
    """bool [D]: whether a document is held out; a hash of (seed, document) decides."""
    # A pass number that no pass has.
    return draws.uniform(pass_keys(seed, documents, (1 << 63) - 1)) < fraction


def targets(keys: NDArray[np.uint64], rule: InstanceRule) -> NDArray[np.int64]:
    """Target length of each (document, pass): `rule.room`, sometimes uniform in [2, room]."""
    is_short = draws.uniform(draws.fold(keys, _IS_SHORT)) < rule.short_seq_prob
    short = 2 + draws.below(draws.fold(keys, _SHORT_TARGET), rule.room - 1)
    return np.where(is_short, short, rule.room)


def cut(
    token_starts: NDArray[np.int64],
    first_sentences: NDArray[np.int64],
    origins: NDArray[np.int64],
    limits: NDArray[np.int64],
    keys: NDArray[np.uint64],
    rule: InstanceRule,
    *,
    has_other_document: bool,
) -> tuple[Spans, NDArray[np.int64]]:
    """Cuts a block of documents into instances, for one pass.

    For every sentence of the block it is worked out, all at once, what an instance that starts
    there would be and where the next one starts; then each document's chain is followed from its
    first sentence. The block may end in the middle of its last document, as long as the sentences
    that an instance may still need (`rule.room` of them) follow; and it may begin in the middle of
    one, where the chain of the block before left off.

    Args:
        token_starts: int64 [M + 1], where each sentence begins in the token array, and the end.
        first_sentences: int64 [D], within the block, where each document's chain (re)starts.
        origins: int64 [D], within the block (negative if before it), each document's sentence 0.
        limits: int64 [D, 2], within the block: where the document ends, and where the chain stops
            being followed (the same, but for a document that the next block continues).
        keys: uint64 [D], from `pass_keys`.
        rule: how to cut.
        has_other_document: false if the corpus has only one, so that no B can be random.

    Returns:
        the instances in order of documents, and int64 [D]: the sentence after the last instance of
        each document (at least its stop).
    """
    owner = np.repeat(np.arange(len(keys)), np.maximum(limits[:, 1] - first_sentences, 0))
    sentence = _ranges(first_sentences, np.maximum(limits[:, 1] - first_sentences, 0))
    target = targets(keys, rule)[owner]
    key = draws.fold(keys[owner], _FIRST_SENTENCE + sentence - origins[owner])
    begin = token_starts[sentence]
    document_end = limits[owner, 0]
    if rule.pairs:
        # The first sentence at whose end the target is reached is the last one.
        end = np.minimum(np.searchsorted(token_starts, begin + target, "left"), document_end)
        count = end - sentence
        a_count = 1 + draws.below(draws.fold(key, _A_END), np.maximum(count - 1, 1))
        next_kind = (draws.uniform(draws.fold(key, _COIN)) < 0.5).astype(np.uint8) * RANDOM_NEXT
        next_kind[count == 1] = ONLY_RANDOM
        if not has_other_document:
            next_kind[:] = TRUE_NEXT
        following = np.where(next_kind == TRUE_NEXT, end, sentence + a_count)
    else:
        # As many sentences as fit.
        end = np.searchsorted(token_starts, begin + target, "right") - 1
        end = np.minimum(np.maximum(end, sentence + 1), document_end)
        a_count = end - sentence
        next_kind = np.full(len(sentence), TRUE_NEXT, np.uint8)
        following = end
    chosen, after = _follow(following, first_sentences, limits[:, 1])
    spans = Spans(
        key=key[chosen],
        document=owner[chosen],
        start=sentence[chosen],
        a_end=(sentence + a_count)[chosen],
        end=end[chosen],
        target=target[chosen],
        next_kind=next_kind[chosen],
    )
    return spans, after


def _follow(
    following: NDArray[np.int64], first: NDArray[np.int64], stop: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follows each document's chain of starts; `following` lies document behind document."""
    chosen: list[int] = []
    after: list[int] = []
    jumps = following.tolist()
    base = 0
    for begin, limit in zip(first.tolist(), stop.tolist(), strict=True):
        at = begin
        while at < limit:
            chosen.append(base + at - begin)
            at = jumps[base + at - begin]
        after.append(at)
        base += max(limit - begin, 0)
    return np.array(chosen, np.int64), np.array(after, np.int64)


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """[3, 10], [2, 3] -> [3, 4, 10, 11, 12]."""
    total = int(lengths.sum())
    offset = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(total) + offset


def random_documents(
    key: NDArray[np.uint64], own: NDArray[np.int64], num_documents: int
) -> NDArray[np.int64]:
    """int64 [n]: another document for each instance, uniform over all but its `own`."""
    other = draws.below(draws.fold(key, _RANDOM_DOCUMENT), num_documents - 1)
    return other + (other >= own)


def random_starts(key: NDArray[np.uint64], num_sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [n]: the sentence of the random document at which B begins, uniform."""
    return draws.below(draws.fold(key, _RANDOM_START), num_sentences)


@dataclasses.dataclass(frozen=True)
class Truncation:
    """What is dropped from a pair that is too long: int64 [n] each.

    Attributes:
        a_front, b_front: tokens dropped at the front of A and of B.
        a_length, b_length: tokens that stay.
    """

    a_front: NDArray[np.int64]
    a_length: NDArray[np.int64]
    b_front: NDArray[np.int64]
    b_length: NDArray[np.int64]


def truncate(
    key: NDArray[np.uint64],
    a_length: NDArray[np.int64],
    b_length: NDArray[np.int64],
    room: int,
) -> Truncation:
    """Drops tokens of the longer segment (tie: B) until both fit, front or back by a fair coin.

    Dropping one by one ends, whatever the coins say, at the lengths below; only how many of the
    dropped tokens came from the front is drawn.
    """
    half_b = room // 2
    half_a = room - half_b
    a_short, b_short = a_length <= half_a, b_length <= half_b
    a_kept = np.where(a_short, a_length, np.where(b_short, room - b_length, half_a))
    b_kept = np.where(b_short, b_length, np.where(a_short, room - a_length, half_b))
    a_kept, b_kept = np.minimum(a_kept, a_length), np.minimum(b_kept, b_length)
    return Truncation(
        a_front=draws.heads(draws.fold(key, _FRONT_A), a_length - a_kept),
        a_length=a_kept,
        b_front=draws.heads(draws.fold(key, _FRONT_B), b_length - b_kept),
        b_length=b_kept,
    )


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Joined instances: [CLS] A [SEP] B [SEP], or [CLS] A [SEP].

    Attributes:
        ids: int32 [n, W], 0 behind the end; W is the longest.
        continues_word: bool [n, W], whether a piece continues the word before it.
        is_text: bool [n, W], false for [CLS], [SEP] and padding.
        lengths: int64 [n], with the special tokens.
        a_lengths: int64 [n], tokens of A alone.
    """

    ids: NDArray[np.int32]
    continues_word: NDArray[np.bool_]
    is_text: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    a_lengths: NDArray[np.int64]


def join(
    ids: NDArray[np.int32],
    continues_word: NDArray[np.bool_],
    a_lengths: NDArray[np.int64],
    b_lengths: NDArray[np.int64],
    *,
    cls_id: int,
    sep_id: int,
    pairs: bool,
) -> Sequences:
    """Sets instances as rows.

    Args:
        ids: int32 [T], A and B of the first instance, A and B of the second, …
        continues_word: bool [T], likewise.
        a_lengths, b_lengths: int64 [n]; b_lengths are 0 where there are no pairs.
        cls_id, sep_id: ids of [CLS] and [SEP].
        pairs: whether a second segment follows.
    """
    lengths = a_lengths + b_lengths + (3 if pairs else 2)
    column = np.arange(int(lengths.max(initial=0)))
    a_end = a_lengths[:, None]
    is_text = (column >= 1) & (column < lengths[:, None] - 1) & (column != a_end + 1)
    matrix = np.zeros(is_text.shape, np.int32)
    matrix[is_text] = ids
    matrix[:, 0] = cls_id
    rows = np.arange(len(lengths))
    matrix[rows, a_lengths + 1] = sep_id
    matrix[rows, lengths - 1] = sep_id
    continues = np.zeros(is_text.shape, bool)
    continues[is_text] = continues_word
    # A segment may be cut in the middle of a word; what is left begins a word of its own.
    continues[:, 1] = False
    if pairs:
        continues[rows, a_lengths + 2] = False
    return Sequences(matrix, continues, is_text, lengths, a_lengths)
