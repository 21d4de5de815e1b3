"""Jobs on worker processes: order, errors, deaths."""

from __future__ import annotations

import os
import signal
import time

import pytest

from data_prep.pretraining.workers import WorkerError, WorkerPool
from official_bert.errors import InputError


def make_context(settings: int) -> list[int]:
    return [settings]


def work(context: list[int], job: int) -> tuple[int, int]:
    """Jobs above 100 misbehave; even ones take longer than odd ones."""
    if job == 101:
        raise InputError("the file is bad")
    if job == 102:
        raise ValueError("a fault of ours")
    if job == 103:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.03 * (1 - job % 2))
    return job * context[0], os.getpid()


def _name(job: int) -> str:
    return f"job {job}"


@pytest.mark.parametrize("num_workers", [1, 2])
def test_results_in_order(num_workers):
    with WorkerPool(num_workers, make_context, 10) as pool:
        for _ in range(2):  # a pool may be used again
            results = list(pool.run(work, iter(range(20)), _name))
            assert [job for job, _ in results] == list(range(20))
            assert [result for _, (result, _) in results] == [10 * job for job in range(20)]
    assert len({pid for _, (_, pid) in results}) == num_workers
    assert (results[0][1][1] == os.getpid()) == (num_workers == 1)


def test_results_as_they_come():
    with WorkerPool(2, make_context, 1) as pool:
        results = list(pool.run(work, range(20), _name, in_order=False))
    assert sorted(job for job, _ in results) == list(range(20))


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        (101, InputError, "^the file is bad$"),
        (102, WorkerError, r"(?s)failed at job 102:.*ValueError: a fault of ours"),
        (103, WorkerError, r"died \(signal 9\) at job 103$"),
    ],
)
def test_errors(job, error, message):
    seen = []
    with pytest.raises(error, match=message), WorkerPool(2, make_context, 1) as pool:  # noqa: PT012
        for done, _ in pool.run(work, [1, 3, job, *range(4, 40)], _name):
            seen.append(done)
    assert seen in ([], [1], [1, 3])
