"""The tokenised corpus on disk: what is written is read, and what a state says survives."""

from __future__ import annotations

import numpy as np
import pytest

from data_prep.pretraining.token_store import FlatFile, Store, StoreWriter, token_dtype

SPLITS = ["train", "dev"]


def _every_third(numbers):
    return (numbers % 3 == 2).astype(np.int64)


def _append(writer: StoreWriter, number: int) -> None:
    """Block `number`: a sentence of two tokens and one of one; the second starts a document."""
    writer.append(np.array([10, 11, 12]) + 100 * number, np.array([2, 1]), np.array([False, True]))


def test_round_trip(tmp_path):
    writer = StoreWriter(tmp_path, 100, SPLITS, _every_third)
    for number in range(4):
        _append(writer, number)
    writer.end_document()
    writer.end_document()  # No sentence has come since: no further document.
    writer.close()
    assert writer.num_documents == 5
    train, dev = (Store(tmp_path, 100, split) for split in SPLITS)
    # Documents 0 1 3 4 and 2; sentences 0 | 1 2 | 3 4 | 5 6 | 7.
    assert train.documents(0, 4).tolist() == [[0, 0, 1], [1, 1, 3], [3, 5, 7], [4, 7, 8]]
    assert dev.documents(0, 1).tolist() == [[2, 3, 5]]
    assert train.documents_at(np.array([3, 0])).tolist() == [[4, 7, 8], [0, 0, 1]]
    assert train.sentences.read(0, 9).tolist() == [0, 2, 3, 5, 6, 8, 9, 11, 12]
    assert dev.tokens.gather([3, 0], [3, 2]).tolist() == [110, 111, 112, 10, 11]


def test_a_state_survives_what_was_written_after_it(tmp_path):
    writer = StoreWriter(tmp_path, 100, SPLITS, _every_third)
    for number in range(3):
        _append(writer, number)
    state = writer.state()
    _append(writer, 77)
    writer.end_document()
    writer.close()
    writer = StoreWriter(tmp_path, 100, SPLITS, _every_third, state)
    _append(writer, 3)
    writer.end_document()
    writer.close()
    resumed = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "straight").mkdir()
    writer = StoreWriter(tmp_path / "straight", 100, SPLITS, _every_third)
    for number in range(4):
        _append(writer, number)
    writer.end_document()
    writer.close()
    straight = {path.name: path.read_bytes() for path in (tmp_path / "straight").iterdir()}
    assert resumed == straight


def test_token_types(tmp_path):
    assert token_dtype(32_768) == np.uint16  # 2 * 32767 + 1 fits
    assert token_dtype(32_769) == np.uint32


def test_reading_behind_the_end(tmp_path):
    (tmp_path / "x").write_bytes(bytes(10))
    file = FlatFile(tmp_path / "x", np.dtype("<u2"))
    assert file.size == 5
    assert len(file.read(5, 5)) == 0
    with pytest.raises(EOFError, match="element 6 is behind the end"):
        file.read(4, 6)
