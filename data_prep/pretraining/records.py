"""Plan entries -> serialized records: gather tokens, join, mask, encode."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from data_prep.pretraining import instances as pretraining
from data_prep.pretraining.instances import InstanceRule, Sequences
from data_prep.pretraining.record_encoding import Column, encode_examples
from data_prep.pretraining.token_store import Ranges
from official_bert.errors import InputError
from official_bert.text import masking
from official_bert.text.masking import MaskedBatch, MaskingRule
from official_bert.text.vocab import Vocab

MASKS = ("static", "dynamic", "none")


@dataclasses.dataclass(frozen=True)
class RecordRule:
    """What the records hold.

    Attributes:
        instances: how documents are cut.
        masking: how instances are masked.
        masks: "static" masks them in the records; "dynamic" leaves that to training; "none" where
            nothing is to be masked.
        pad: pad with zeros to fixed lengths, as the readers of other programs expect.
        v2_names: `input_word_ids` and `input_type_ids` in place of `input_ids`, `segment_ids`.
        pack: several instances in a row.
    """

    instances: InstanceRule
    masking: MaskingRule
    masks: str = "static"
    pad: bool = False
    v2_names: bool = False
    pack: bool = False

    def __post_init__(self) -> None:
        """Raises InputError for a setting that is wrong, or two that exclude each other."""
        if self.masks not in MASKS:
            raise InputError(f"masks={self.masks!r} is not one of {MASKS}")
        if self.pack and self.pad:
            raise InputError(
                "pack_sequences and pad_records: readers of padded records do not know packed "
                "ones; leave one of the two out"
            )


def gather_sequences(tokens: Ranges, plan: NDArray, rule: InstanceRule, vocab: Vocab) -> Sequences:
    """Joins the tokens of plan entries (PLAN_DTYPE [n]) to sequences.

    Args:
        tokens: coded as in tokens.bin (token_store.py).
        plan: which of them each instance takes.
        rule: of the instances.
        vocab: the vocabulary.
    """
    starts = np.stack([plan["a_start"], plan["b_start"]], axis=1)
    lengths = np.stack([plan["a_length"], plan["b_length"]], axis=1).astype(np.int64)
    coded = tokens.gather(starts.ravel().tolist(), lengths.ravel().tolist())
    return pretraining.join(
        (coded >> 1).astype(np.int32),
        (coded & 1).astype(bool),
        lengths[:, 0],
        lengths[:, 1],
        cls_id=vocab.cls_id,
        sep_id=vocab.sep_id,
        pairs=rule.pairs,
    )


class RecordMaker:
    """Makes records of sequences and counts what is in them.

    Args:
        rule: what the records hold.
        vocab: the vocabulary.

    Attributes:
        counts: sums over all records made: "records", "instances", "tokens", "random_next",
            "only_random_next", "predictions", "masked", "random", "kept", "unknown_tokens"; and the
            largest seen: "max_predictions_per_record", "max_instances_per_record".
    """

    def __init__(self, rule: RecordRule, vocab: Vocab) -> None:
        self._rule = rule
        self._vocab = vocab
        self.counts: Counter[str] = Counter()
        self._pool = masking.random_tokens(
            len(vocab), vocab.special_ids, vocab.unused_ids, rule.masking.random_token_pool
        )

    def make(
        self,
        sequences: Sequences,
        keys: NDArray[np.uint64],
        next_kinds: NDArray[np.uint8],
        row_sizes: NDArray[np.int64],
    ) -> list[bytes]:
        """Serialized records of sequences.

        Args:
            sequences: n of them.
            keys: uint64 [n], of the instances.
            next_kinds: uint8 [n], where the second segments come from (pretraining.py).
            row_sizes: int64 [rows], how many sequences, in order, each record takes: ones, but
                where they are packed.
        """
        row_starts = np.cumsum(row_sizes) - row_sizes
        lengths = sequences.lengths
        self.counts.update(
            records=len(row_sizes),
            instances=len(keys),
            tokens=int(lengths.sum()),
            unknown_tokens=int(((sequences.ids == self._vocab.unk_id) & sequences.is_text).sum()),
        )
        self._count_most("max_instances_per_record", row_sizes)
        # Where in its row each sequence begins.
        offsets = np.cumsum(lengths) - lengths
        offsets -= np.repeat(offsets[row_starts], row_sizes)
        columns = self._inputs(sequences)
        if self._rule.masks != "none":
            # With whole words an instance may get fewer, never more.
            predictions = masking.num_predictions(lengths, self._rule.masking)
            self._count_most("max_predictions_per_record", np.add.reduceat(predictions, row_starts))
        if self._rule.masks == "static":
            masked = masking.mask_instances(
                sequences.ids,
                sequences.is_text,
                lengths,
                keys,
                ~sequences.continues_word,
                rule=self._rule.masking,
                mask_id=self._vocab.mask_id,
                pool=self._pool,
            )
            self._count_masks(masked)
            columns[0] = self._tokens(columns[0].name, masked.ids, lengths)
            columns += self._predictions(masked, offsets)
        one = np.ones(len(keys), np.int64)
        if self._rule.instances.pairs:
            is_random = next_kinds != pretraining.TRUE_NEXT
            self.counts["random_next"] += int(is_random.sum())
            self.counts["only_random_next"] += int((next_kinds == pretraining.ONLY_RANDOM).sum())
            columns.append(Column("next_sentence_labels", is_random, one))
        if self._rule.pack:
            number = np.arange(len(keys)) - np.repeat(row_starts, row_sizes) + 1
            rows = np.zeros_like(sequences.ids)
            columns += [
                self._tokens("position_ids", rows + np.arange(rows.shape[1]), lengths),
                self._tokens("pack_ids", rows + number[:, None], lengths),
                Column("cls_positions", offsets, one),
            ]
            columns = [
                Column(column.name, column.values, np.add.reduceat(column.lengths, row_starts))
                for column in columns
            ]
        return encode_examples(columns)

    def _inputs(self, sequences: Sequences) -> list[Column]:
        names = ("input_ids", "segment_ids")
        if self._rule.v2_names:
            names = ("input_word_ids", "input_type_ids")
        lengths = sequences.lengths
        column = np.arange(sequences.ids.shape[1])
        inside = column < lengths[:, None]
        second = inside & (column >= sequences.a_lengths[:, None] + 2)
        return [
            self._tokens(names[0], sequences.ids, lengths),
            self._tokens("input_mask", inside, lengths),
            self._tokens(names[1], second, lengths),
        ]

    def _predictions(self, masked: MaskedBatch, offsets: NDArray[np.int64]) -> list[Column]:
        most = self._rule.masking.max_predictions_per_seq
        positions = masked.positions
        if self._rule.pack:
            positions = positions + offsets[:, None]
        rows = {
            "masked_lm_positions": positions,
            "masked_lm_ids": masked.labels,
            "masked_lm_weights": masked.weights(),
        }
        return [self._column(name, values, masked.counts, most) for name, values in rows.items()]

    def _tokens(self, name: str, rows: NDArray, lengths: NDArray[np.int64]) -> Column:
        return self._column(name, rows, lengths, self._rule.instances.max_seq_length)

    def _column(self, name: str, rows: NDArray, lengths: NDArray[np.int64], padded: int) -> Column:
        """Rows [n, W], 0 behind their lengths, without padding or padded to a fixed length."""
        if not self._rule.pad:
            return Column(name, rows[np.arange(rows.shape[1]) < lengths[:, None]], lengths)
        rows = np.pad(rows, [(0, 0), (0, padded - rows.shape[1])])
        return Column(name, rows.ravel(), np.full(len(rows), padded))

    def _count_masks(self, masked: MaskedBatch) -> None:
        predicted = masked.weights() > 0
        now = np.take_along_axis(masked.ids, masked.positions, 1)[predicted]
        labels = masked.labels[predicted]
        is_mask, is_kept = now == self._vocab.mask_id, now == labels
        self.counts.update(
            predictions=len(now),
            masked=int(is_mask.sum()),
            kept=int((is_kept & ~is_mask).sum()),
            random=int((~is_kept & ~is_mask).sum()),
        )

    def _count_most(self, name: str, values: NDArray[np.int64]) -> None:
        self.counts[name] = max(self.counts[name], int(values.max()))
