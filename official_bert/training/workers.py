"""What the processes that train together agree on.

Each method is a collective operation: all workers call the same ones in the same order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import tensorflow as tf

from official_bert.training.strategy import is_chief

# What TensorFlow's collective operations say when a process that they wait for is gone. Their code
# is that of what happened there: Unavailable, Unknown, Internal, …
_LOST_WORDS = ("Collective ops is aborted", "oordination service", "RecvBuf", "heartbeat")


class WorkerLost(Exception):  # noqa: N818 (nothing is wrong here)
    """Another worker is gone, and with it the step that all were at."""


class Workers:
    """The processes of a strategy; a single one agrees with itself, at no cost.

    Args:
        strategy: of the run.

    Attributes:
        count: how many processes there are.
        is_chief: whether this is the one that writes files and decides.
    """

    def __init__(self, strategy: tf.distribute.Strategy):
        self.is_chief = is_chief(strategy)
        self.count = 1
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            cluster = strategy.cluster_resolver.cluster_spec().as_dict()
            self.count = max(1, sum(len(cluster.get(job, [])) for job in ("chief", "worker")))
        self._reduce = _make_reduction(strategy) if self.count > 1 else None

    def sum(self, values: Sequence[float]) -> list[float]:
        """The sums over all workers, of as many numbers from each."""
        return list(values) if self._reduce is None else self._reduce(values)

    def any(self, flag: bool) -> bool:
        """Whether any worker says so."""
        return self.sum([float(flag)])[0] > 0

    def from_chief(self, values: Sequence[float]) -> list[float]:
        """The chief's numbers; those of the others are only as many."""
        return self.sum([value if self.is_chief else 0.0 for value in values])

    def wait(self) -> None:
        """Returns when all workers have come here."""
        self.any(False)

    @contextlib.contextmanager
    def losses_named(self) -> Iterator[None]:
        """Turns TensorFlow's complaint about another worker into `WorkerLost`."""
        try:
            yield
        except (tf.errors.OpError, RuntimeError) as error:
            if self.count > 1 and any(word in str(error) for word in _LOST_WORDS):
                raise WorkerLost("another worker is gone") from error
            raise


def _make_reduction(
    strategy: tf.distribute.Strategy,
) -> Callable[[Sequence[float]], list[float]]:
    def add(values: tf.Tensor) -> tf.Tensor:
        # A copy on the replica's device: an argument is on none, and nowhere is it added up.
        return tf.distribute.get_replica_context().all_reduce("sum", tf.identity(values))

    @tf.function(reduce_retracing=True, autograph=False)
    def run(values: tf.Tensor) -> tf.Tensor:
        total = strategy.run(add, args=(values,))
        return strategy.experimental_local_results(total)[0]

    def reduce(values: Sequence[float]) -> list[float]:
        # The first replica of this worker has its numbers.
        own, none = iter([tf.constant(values, tf.float64)]), tf.zeros([len(values)], tf.float64)
        each = strategy.experimental_distribute_values_from_function(lambda _: next(own, none))
        total: list[float] = run(each).numpy().tolist()
        return total

    return reduce
