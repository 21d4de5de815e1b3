"""Runs jobs on worker processes, in order, and names the job that a killed worker had.

Each worker is a fresh process (TensorFlow does not survive a fork) with a pipe of its own, so the
parent knows at any time which worker has which job. When the parent dies, its end of the pipes
closes and the workers stop.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection
from typing import Any

from official_bert.errors import InputError
from official_bert.file_errors import explain

# How many finished results may wait for an earlier one, for each worker.
_AHEAD = 4
_IDLE = -1


class WorkerError(RuntimeError):
    """A worker was killed, or failed with an error of ours."""


@dataclasses.dataclass
class _Worker:
    process: Any
    pipe: connection.Connection
    job: int = _IDLE


class WorkerPool:
    """Worker processes that share one prepared context.

    Args:
        num_workers: 1 runs the jobs in this process.
        make_context: a module-level function; each worker calls it once with `settings`.
        settings: a picklable argument for it.
    """

    def __init__(self, num_workers: int, make_context: Callable[[Any], Any], settings: Any) -> None:
        self._make_context = make_context
        self._settings = settings
        self._context: Any = None
        self._workers: list[_Worker] = []
        if num_workers > 1:
            fresh = multiprocessing.get_context("spawn")
            # Ctrl-C reaches the whole process group; the parent alone answers it. What is blocked
            # here stays blocked in a process that is started meanwhile.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                for _ in range(num_workers):
                    here, there = fresh.Pipe()
                    process = fresh.Process(
                        target=_serve, args=(there, make_context, settings), daemon=True
                    )
                    process.start()
                    there.close()
                    self._workers.append(_Worker(process, here))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            if exception[0] is not None:
                worker.process.terminate()
            worker.process.join()

    def run(
        self,
        function: Callable[[Any, Any], Any],
        jobs: Iterable[Any],
        name: Callable[[Any], str],
        *,
        in_order: bool = True,
    ) -> Iterator[tuple[Any, Any]]:
        """Calls `function(context, job)` for each job.

        Args:
            function: a module-level function.
            jobs: picklable; taken as workers become free.
            name: says what a job is, for messages.
            in_order: give results in the order of the jobs; false gives each when it is done.

        Yields:
            (job, result).

        Raises:
            WorkerError: a worker was killed or failed.
            InputError: `function` raised it, or an error of the file system.
        """
        if not self._workers:
            if self._context is None:
                self._context = self._make_context(self._settings)
            for job in jobs:
                yield job, function(self._context, job)
            return
        yield from self._run_parallel(function, jobs, name, in_order)

    def _run_parallel(
        self,
        function: Callable[[Any, Any], Any],
        jobs: Iterable[Any],
        name: Callable[[Any], str],
        in_order: bool,
    ) -> Iterator[tuple[Any, Any]]:
        numbered = enumerate(jobs)
        running: dict[int, Any] = {}
        done: dict[int, tuple[Any, Any]] = {}
        idle = deque(self._workers)
        following = 0
        exhausted = False
        while True:
            while idle and not exhausted and len(done) < _AHEAD * len(self._workers):
                number, job = next(numbered, (_IDLE, None))
                if number == _IDLE:
                    exhausted = True
                    break
                worker = idle.popleft()
                worker.job = number
                running[number] = job
                with contextlib.suppress(BrokenPipeError):  # Its death is seen below.
                    worker.pipe.send((function, job))
            if in_order:
                while following in done:
                    yield done.pop(following)
                    following += 1
            else:
                while done:
                    yield done.popitem()[1]
            if not running:
                if exhausted:
                    return
                continue
            busy = {worker.pipe: worker for worker in self._workers if worker.job != _IDLE}
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                job = running.pop(worker.job)
                done[worker.job] = (job, _receive(worker, name(job)))
                worker.job = _IDLE
                idle.append(worker)


def _receive(worker: _Worker, job_name: str) -> Any:
    try:
        failure, result = worker.pipe.recv()
    except (EOFError, OSError):  # The latter where it died in the middle of its answer.
        worker.process.join()
        code = worker.process.exitcode
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        raise WorkerError(f"worker {worker.process.pid} died ({how}) at {job_name}") from None
    if failure is None:
        return result
    kind, text = failure
    if kind == "input":
        raise InputError(text)
    raise WorkerError(f"a worker failed at {job_name}:\n{text}")


def _serve(pipe: connection.Connection, make_context: Callable[[Any], Any], settings: Any) -> None:
    context = None
    while True:
        try:
            function, job = pipe.recv()
        except (EOFError, OSError):  # The parent is gone.
            return
        failure, result = None, None
        try:
            if context is None:
                context = make_context(settings)
            result = function(context, job)
        except InputError as error:
            failure = ("input", str(error))
        except Exception as error:
            line = explain(error)
            failure = ("input", line) if line else ("error", traceback.format_exc())
        try:
            pipe.send((failure, result))
        except OSError:
            return
