import numpy as np
import pytest

from official_bert.features.windows import best_windows, overlapping_windows


def test_windows_reach_the_end():
    assert overlapping_windows(7, room=4, stride=2) == [(0, 4), (2, 6), (4, 7)]
    assert overlapping_windows(8, room=4, stride=4) == [(0, 4), (4, 8)]
    assert overlapping_windows(4, room=4, stride=2) == [(0, 4)]
    assert overlapping_windows(0, room=4, stride=2) == [(0, 0)]


def test_a_token_is_taken_from_where_it_has_most_context():
    # Tokens 2 and 3 stand in the first two windows, 4 and 5 in the last two.
    assert best_windows(7, [(0, 4), (2, 6), (4, 7)]).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert best_windows(0, [(0, 0)]).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_best_by_trying_all(seed):
    random = np.random.default_rng(seed)
    room = int(random.integers(1, 12))
    count, stride = int(random.integers(0, 60)), int(random.integers(1, room + 1))
    windows = overlapping_windows(count, room, stride)
    assert windows[0][0] == 0
    assert windows[-1][1] == count
    for token, chosen in enumerate(best_windows(count, windows)):
        contexts = [
            min(token - start, limit - 1 - token) if start <= token < limit else -1
            for start, limit in windows
        ]
        assert chosen == np.argmax(contexts)
        assert contexts[chosen] >= 0
