"""How a learner talks to engine actors during vLLM's own weight transfer.

vLLM's trainer side calls the methods of :class:`TransferClient`; each reaches all
engines and returns when all have answered. Importable without vLLM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ray
from ray.actor import ActorHandle

TransferPayload = Mapping[str, object]


class TransferClient:
    """Fulfils vLLM's ``VLLMWeightSyncClient`` for several engine actors.

    Args:
        actors: :class:`~rllib_gigpo.inference.engine_actor.EngineActor` handles.
        workers_per_engine: Processes that hold weights in each, one a GPU.

    Attributes:
        policy_version: What engines stamp completions with after the next transfer.

    Source: ``vllm.distributed.weight_transfer.base`` of vLLM 0.32.
    """

    def __init__(
        self, actors: Sequence[ActorHandle], *, workers_per_engine: int
    ) -> None:
        self._actors = tuple(actors)
        self._workers_per_engine = workers_per_engine
        self.policy_version = 0

    def init_weight_transfer_engine(self, init_info: TransferPayload) -> None:
        """Connect all engines, those of an earlier connection anew.

        vLLM gives all of them the same rank of their first worker: for separate engines
        that is the same rank several times, and a rendezvous that never ends.
        """
        self._all("shutdown_weight_transfer_engine")
        calls = []
        for place, actor in enumerate(self._actors):
            own_info = dict(init_info)
            if "rank_offset" in own_info:
                own_info["rank_offset"] += place * self._workers_per_engine
            calls.append(actor.transfer.remote("init_weight_transfer_engine", own_info))
        ray.get(calls)

    def start_weight_update(self) -> None:
        """Let engines expect weights."""
        self._all("start_weight_update")

    def update_weights(self, update_info: TransferPayload) -> None:
        """Tell engines what comes, or has come; returns when they have loaded it."""
        self._all("update_weights", update_info)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """End the transfer: new version, empty prefix cache."""
        self._all("finish_weight_update")
        version = self.policy_version
        ray.get([actor.accept_weights.remote(version) for actor in self._actors])

    def _all(self, method: str, *payload: TransferPayload) -> None:
        ray.get([actor.transfer.remote(method, *payload) for actor in self._actors])
