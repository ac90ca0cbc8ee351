"""Batches sampled one ahead of the learner, or not: one code path for both.

Source: one-step-off sampling, e.g. Noukhovitch et al., arXiv 2410.18252: rollouts take
most of an iteration, and one version of lag costs little when it is corrected for.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.rollout.group_scheduler import Rollout

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was sampled for one training iteration.

    Attributes:
        rollout: The groups that count.
        num_rounds: Rounds of sampling it took.
        seconds: Wall time it took.
        num_drawn_after: Groups drawn in the run up to its end: where a restored run
            goes on, since a batch sampled ahead of a checkpoint is not in it.
    """

    rollout: Rollout
    num_rounds: int
    seconds: float
    num_drawn_after: int


def policy_lag(
    sampled_version: NDArray[np.int64], policy_version: int
) -> dict[str, float]:
    """By how many updates the learner is ahead of what it learns from.

    Args:
        sampled_version: int64 [R], policy version that each row was sampled with.
        policy_version: Of the learner now.
    """
    lag = policy_version - sampled_version
    return {"policy_lag_mean": float(lag.mean()), "policy_lag_max": int(lag.max())}


class SampleAhead(Generic[T]):
    """Hands out batches; with a lag of 1 the next one is sampled meanwhile.

    Use: :meth:`take` a batch, :meth:`start` the next, learn, :meth:`wait`, then change
    the weights. Nothing is in flight after :meth:`wait`.

    Args:
        sample: Samples one batch; with a lag it runs on another thread, but never
            twice at a time.
        max_policy_lag: 0 samples each batch when it is taken; 1 samples ahead.
    """

    def __init__(self, sample: Callable[[], T], max_policy_lag: int) -> None:
        self._sample = sample
        self._next: Future[T] | None = None
        self._thread = (
            ThreadPoolExecutor(1, thread_name_prefix="sample-ahead")
            if max_policy_lag
            else None
        )

    def take(self) -> T:
        """The batch sampled ahead, or else one sampled now.

        Raises:
            Exception: What ``sample`` raised.
        """
        ahead, self._next = self._next, None
        return self._sample() if ahead is None else ahead.result()

    def start(self) -> None:
        """Begin with the next batch; does nothing without lag."""
        if self._thread is not None:
            self._next = self._thread.submit(self._sample)

    def wait(self) -> None:
        """Return when nothing is being sampled; errors come with :meth:`take`."""
        if self._next is not None:
            self._next.exception()

    def drop(self) -> None:
        """Forget the batch sampled ahead, after a restore."""
        self.wait()
        self._next = None

    def close(self) -> None:
        """Start nothing any more. Idempotent."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
