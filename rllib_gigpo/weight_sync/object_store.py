"""Weights through Ray's object store: written once by a learner, read on each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import ray
from ray.rllib.core.learner.learner_group import LearnerGroup
from ray.rllib.env.env_runner_group import EnvRunnerGroup

from rllib_gigpo.errors import WeightSyncError
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.learning.learner import GiGPOLearner

T = TypeVar("T")


class ObjectStoreTransport:
    """See :class:`~.engine_sync.WeightTransport` for the contract.

    Works everywhere: weights pass through host memory, one copy a node for all engines.

    Args:
        engines: All of them.
    """

    def __init__(self, engines: EngineGroup) -> None:
        self._engines = engines

    def send(self, learner_group: LearnerGroup, policy_version: int) -> None:
        """See the protocol."""
        self._engines.load_weights(put_weights(learner_group), policy_version)


def sync_weights(
    learner_group: LearnerGroup, runners: EnvRunnerGroup, policy_version: int
) -> None:
    """Give every runner's engine the learner's present weights; returns when done.

    Args:
        learner_group: All learners hold the same weights; the first one sends.
        runners: Each with an engine of its own.
        policy_version: What to stamp on completions from now on.

    Raises:
        WeightSyncError: A runner did not take them.
    """
    if runners.local_env_runner is not None:
        weights = on_first_learner(learner_group, GiGPOLearner.export_weights)
        runners.local_env_runner.load_weights(weights, policy_version)
    ids = runners.healthy_env_runner_ids()
    if not ids:
        return
    reference = put_weights(learner_group)
    taken = runners.foreach_env_runner(
        "load_weights",
        kwargs={"weights": reference, "policy_version": policy_version},
        remote_worker_ids=ids,
        local_env_runner=False,
    )
    if len(taken) < len(runners.healthy_env_runner_ids()):
        raise WeightSyncError(
            f"{len(ids) - len(taken)} of {len(ids)} env runners did not take the "
            f"weights of policy version {policy_version}; see their logs"
        )


def put_weights(learner_group: LearnerGroup) -> ray.ObjectRef:
    """The learner's present weights in the object store: one copy a node."""
    # From the learner's own process, so that they never pass through the driver.
    return on_first_learner(
        learner_group, lambda learner: ray.put(learner.export_weights())
    )


def on_first_learner(
    learner_group: LearnerGroup, function: Callable[[GiGPOLearner], T]
) -> T:
    """What a function of the first learner returns, computed where that learner is."""
    ids = None if learner_group.is_local else [0]
    (result,) = learner_group.foreach_learner(function, remote_actor_ids=ids)
    return result.get()
