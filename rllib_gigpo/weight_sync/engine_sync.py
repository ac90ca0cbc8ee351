"""Engine actors and learner kept in step, whatever carries the weights.

What enters: the learner group and its policy version. What leaves: engines that
generate with these weights. Invariant: nothing is generated between a sync's first step
and its last, see :mod:`.phases`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ray.rllib.core.learner.learner_group import LearnerGroup

from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.weight_sync.learner_side import free_gpu_memory
from rllib_gigpo.weight_sync.phases import APART, COLOCATED, SyncPhases, SyncStep


class WeightTransport(Protocol):
    """One way for weights from the learners to all engines."""

    def send(self, learner_group: LearnerGroup, policy_version: int) -> None:
        """Give all engines the learner's present weights; returns when all have them.

        Afterwards completions are stamped with ``policy_version``, no prefix computed
        with other weights is served, and an engine that replaces another starts with
        these weights.

        Raises:
            WeightSyncError: An engine did not take them.
            EngineError: Engines die faster than they can be replaced.
        """
        ...


class EngineSync:
    """Takes engines through the steps of a sync.

    Args:
        engines: All of them; they generate.
        transport: What carries the weights.
        shares_gpu: Whether engines must sleep while the learner works.
    """

    def __init__(
        self, engines: EngineGroup, transport: WeightTransport, *, shares_gpu: bool
    ) -> None:
        self._engines = engines
        self._transport = transport
        self._shares_gpu = shares_gpu
        self._phases = SyncPhases(COLOCATED if shares_gpu else APART)

    def before_learning(self) -> None:
        """Make room for the learner; apart from it, engines just go on."""
        if self._shares_gpu and self._phases.is_generating:
            self._take(SyncStep.SLEEP, self._engines.sleep)

    def send(self, learner_group: LearnerGroup, policy_version: int) -> None:
        """Give the learner's weights to all engines, and let them generate.

        Raises:
            WeightSyncError: An engine did not take them, or an earlier sync ended in
                the middle.
            EngineError: Engines die faster than they can be replaced.
        """
        engines = self._engines
        if self._shares_gpu:
            self.before_learning()
            self._take(
                SyncStep.WAKE_WEIGHTS, lambda: self._hand_gpu_over(learner_group)
            )
        else:
            self._take(SyncStep.PAUSE, lambda: engines.call_all("pause"))
        self._take(
            SyncStep.SEND, lambda: self._transport.send(learner_group, policy_version)
        )
        if self._shares_gpu:
            self._take(SyncStep.WAKE_KV_CACHE, engines.wake_kv_cache)
        else:
            self._take(SyncStep.RESUME, lambda: engines.call_all("resume"))

    def _hand_gpu_over(self, learner_group: LearnerGroup) -> None:
        learner_group.foreach_learner(free_gpu_memory)
        self._engines.wake_weights()

    def _take(self, step: SyncStep, action: Callable[[], object]) -> None:
        self._phases.check(step)
        action()
        self._phases.done(step)
