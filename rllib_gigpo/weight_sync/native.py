"""Weights from GPU to GPU, by vLLM's own transfer: CUDA IPC or NCCL."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from ray.actor import ActorHandle
from ray.rllib.core.learner.learner_group import LearnerGroup

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.weight_sync.ipc import open_ipc
from rllib_gigpo.weight_sync.learner_side import (
    OpenSender,
    SendFailure,
    send_from_learner,
)
from rllib_gigpo.weight_sync.nccl import open_nccl
from rllib_gigpo.weight_sync.object_store import put_weights

logger = logging.getLogger(__name__)

OPEN_SENDER: Mapping[str, OpenSender] = MappingProxyType(
    {"ipc": open_ipc, "nccl": open_nccl}
)


class NativeTransport:
    """See :class:`~.engine_sync.WeightTransport` for the contract.

    An engine that dies during a transfer leaves the others with half of the weights,
    or waiting for ever: all are replaced, and start with the learner's weights from the
    object store. Any other failure ends the engines and the run.

    Args:
        engines: All of them.
        open_sender: Connects a learner with them.
        workers_per_engine: GPUs of each engine.
        timeout_s: Longest time a transfer may take.
        keeps_copy: Put the weights into the object store as well, after each transfer.
            Without it an engine that replaces another asks the learner for them, which
            must not have learned on meanwhile.
    """

    def __init__(
        self,
        engines: EngineGroup,
        open_sender: OpenSender,
        *,
        workers_per_engine: int,
        timeout_s: float,
        keeps_copy: bool,
    ) -> None:
        self._engines = engines
        self._open_sender = open_sender
        self._workers_per_engine = workers_per_engine
        self._timeout_s = timeout_s
        self._keeps_copy = keeps_copy
        self._connected: list[ActorHandle] = []

    def send(self, learner_group: LearnerGroup, policy_version: int) -> None:
        """See the protocol."""
        engines = self._engines
        engines.expect_weights(partial(put_weights, learner_group), policy_version)
        actors = engines.actors
        failure = self._transfer(learner_group, actors, policy_version)
        if failure is None:
            self._connected = actors
        elif failure.is_engine_dead:
            logger.warning("an engine died while it took weights: %s", failure.reason)
            self._connected = []
            engines.replace_all("its transfer of weights was cut short")
        else:
            engines.shutdown()
            raise WeightSyncError(
                f"engines did not take policy version {policy_version} and were "
                f"stopped: {failure.reason}\nWeights that go through host memory "
                "instead need .inference(weight_transport='object_store')"
            )
        if self._keeps_copy:
            copy = put_weights(learner_group)
            engines.expect_weights(lambda: copy, policy_version)

    def _transfer(
        self,
        learner_group: LearnerGroup,
        actors: list[ActorHandle],
        policy_version: int,
    ) -> SendFailure | None:
        results = learner_group.foreach_learner(
            partial(
                send_from_learner,
                actors=tuple(actors),
                workers_per_engine=self._workers_per_engine,
                open_sender=self._open_sender,
                is_new=actors != self._connected,
                policy_version=policy_version,
                timeout_s=self._timeout_s,
            )
        )
        failures: list[SendFailure] = []
        for result in results:
            outcome = result.get()
            if isinstance(outcome, Exception):  # RLlib hands out a learner's death so.
                outcome = SendFailure(reason=f"a learner failed: {outcome!r}")
            if outcome is not None:
                failures.append(outcome)
        # Others may have failed only since one of them did.
        return min(failures, key=lambda f: f.is_engine_dead, default=None)
