"""Learns a WordPiece vocabulary from word counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from official_bert.errors import InputError
from official_bert.text.vocab import SPECIAL_TOKENS

# google-research/bert: longer words are [UNK] to the tokenizer.
_MAX_WORD_LENGTH = 200
# Rare words are forgotten when more different ones than this have been seen.
_MAX_DISTINCT_WORDS = 4_000_000
# The learner counts words itself; more copies than this in all teach it nothing new.
_MAX_FED_WORDS = 50_000_000
_COPIES_AT_ONCE = 1000
_PUBLISHED_UNUSED = 99


class WordCounts:
    """Counts words, with bounded memory.

    When too many different words have been seen, those seen least often are forgotten (as in the
    lossy counting of Manku & Motwani 2002); on natural text they are names and typing errors.

    Attributes:
        counts: word -> how often.
        forgotten: how many words were forgotten, each time counted.
    """

    def __init__(self, max_distinct: int = _MAX_DISTINCT_WORDS) -> None:
        self.counts: Counter[str] = Counter()
        self.forgotten = 0
        self._max_distinct = max_distinct

    def add(self, words: Iterable[str]) -> None:
        """Counts `words`."""
        self.counts.update(words)
        least = 1
        while len(self.counts) > self._max_distinct:
            kept = {word: count for word, count in self.counts.items() if count > least}
            self.forgotten += len(self.counts) - len(kept)
            self.counts = Counter(kept)
            least += 1


def reserved_tokens(num_unused: int) -> list[str]:
    """The entries before all learned ones, where the published vocabularies have them.

    With 99: [PAD] is 0, [unused0] 1, …, [unused98] 99, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103.
    Further unused entries follow [MASK], as in the published vocabularies.
    """
    pad, unk, cls, sep, mask = (
        SPECIAL_TOKENS[role]
        for role in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    )
    unused = [f"[unused{number}]" for number in range(num_unused)]
    return [
        pad,
        *unused[:_PUBLISHED_UNUSED],
        unk,
        cls,
        sep,
        mask,
        *unused[_PUBLISHED_UNUSED:],
    ]


def learn_vocabulary(
    counts: Counter[str],
    vocab_size: int,
    *,
    num_unused: int = _PUBLISHED_UNUSED,
    max_characters: int = 1000,
    min_frequency: int = 2,
) -> list[str]:
    """Learns a vocabulary.

    Args:
        counts: normalised word -> how often.
        vocab_size: number of entries, reserved ones counted.
        num_unused: [unusedN] entries.
        max_characters: how many different characters to keep, the most frequent ones; words with
            other ones are left out.
        min_frequency: how often a pair of pieces must stand side by side to become one.

    Returns:
        the entries in id order: reserved ones, characters by frequency, learned pieces in the
        order of learning. Fewer than `vocab_size` where the words give no more.

    Raises:
        InputError: there is no word, or no room for the characters.
    """
    if not counts:
        raise InputError("the input has no word: give text files with words in them")
    kept = _frequent_characters(counts, max_characters)
    words = {
        word: count
        for word, count in counts.items()
        if len(word) <= _MAX_WORD_LENGTH and kept.issuperset(word)
    }
    reserved = reserved_tokens(num_unused)
    characters = _character_pieces(words)
    base = [*reserved, *(piece for piece in characters if piece not in reserved)]
    if len(base) > vocab_size:
        raise InputError(
            f"vocab_size={vocab_size} is below {len(base)}: {len(reserved)} reserved entries and "
            f"{len(characters)} characters; give a larger one, or keep fewer characters "
            "(--limit_alphabet) or unused entries (--num_unused)"
        )
    if len(base) == vocab_size:
        return base
    return _train(words, base, kept, vocab_size, min_frequency)


def _frequent_characters(counts: Counter[str], most: int) -> set[str]:
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    return set(sorted(characters, key=lambda c: (-characters[c], c))[:most])


def _character_pieces(words: dict[str, int]) -> list[str]:
    """ "a" for each character, then "##a" for each that stands within a word, by frequency."""
    alone: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for word, count in words.items():
        alone[word[0]] += count
        for character in word[1:]:
            alone[character] += count
            within[f"##{character}"] += count
    return [
        piece
        for pieces in (alone, within)
        for piece in sorted(pieces, key=lambda piece: (-pieces[piece], piece))
    ]


def _train(
    words: dict[str, int], base: list[str], characters: set[str], vocab_size: int, frequency: int
) -> list[str]:
    import tokenizers

    learner = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token=base[0]))
    learner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=frequency,
        show_progress=False,
        # The library numbers pieces in the order of a hash map, and breaks ties of frequency by
        # number. Entries given here have fixed numbers, so the result is the same in each run.
        special_tokens=base,
        initial_alphabet=sorted(characters),
        limit_alphabet=len(characters),
    )
    learner.train_from_iterator(_copies(words), trainer)
    ids = learner.get_vocab()
    return sorted(ids, key=lambda token: ids[token])


def _copies(words: dict[str, int]) -> Iterator[str]:
    """Each word as often as it was counted, which is the only way to tell the library."""
    divisor = max(1, -(-sum(words.values()) // _MAX_FED_WORDS))
    for word, count in words.items():
        left = round(count / divisor)
        while left > 0:
            now = min(left, _COPIES_AT_ONCE)
            yield " ".join([word] * now)
            left -= now
