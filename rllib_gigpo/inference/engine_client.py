"""The engine of a runner whose tokens come from engine actors.

What enters: a runner's requests. What leaves: their completions, from whichever engine
the router chose; when one dies, its requests are sent again to another. A request has
one completion whatever happens, and the same tokens wherever it is sampled.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping, Sequence

import ray
import torch
from ray.actor import ActorHandle
from ray.exceptions import RayActorError

from rllib_gigpo.errors import EngineError, WeightSyncError
from rllib_gigpo.inference.engine import Completion, GenerationRequest
from rllib_gigpo.inference.engine_link import EngineLink
from rllib_gigpo.inference.router import Router

logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_TRIES = 0.25


class EngineClient:
    """See :class:`~.engine.Engine` for the contract, but for :meth:`load_weights`.

    Args:
        actor_names: Of the engine actors; one that is replaced keeps its name.
        offset: Which of equally loaded engines this client prefers.
        max_attempts: Engines that a request is sent to before it fails.
        replacement_timeout_s: Longest wait for a dead engine's replacement to appear.
        start_timeout_s: Longest wait for it to start.
    """

    def __init__(
        self,
        actor_names: Sequence[str],
        *,
        offset: int = 0,
        max_attempts: int = 4,
        replacement_timeout_s: float = 30.0,
        start_timeout_s: float = 600.0,
    ) -> None:
        self._names = tuple(actor_names)
        self._client = uuid.uuid4().hex
        self._max_attempts = max_attempts
        self._replacement_timeout_s = replacement_timeout_s
        self._start_timeout_s = start_timeout_s
        self._router = Router(len(self._names), offset=offset)
        # Looked up when first needed: a runner may be restored before its engines.
        self._links: dict[int, EngineLink] = {}
        self._reconnecting: dict[int, asyncio.Task[None]] = {}
        self._policy_version = 0

    @property
    def policy_version(self) -> int:
        """Of the latest completion; the engines themselves know better."""
        return self._policy_version

    async def generate(self, request: GenerationRequest) -> Completion:
        """Complete one prompt, on another engine if the first one dies.

        Raises:
            ValueError: The request can never be completed.
            EngineError: ``max_attempts`` engines failed, or none came back in time.
        """
        error = EngineError("no engine was tried")
        for _ in range(self._max_attempts):
            engine = await self._route(request.group or request.request_id)
            try:
                completion = await self._link(engine).generate(request)
            except EngineError as failure:
                error = failure
                self._on_failure(engine, failure)
                continue
            finally:
                self._router.release(engine)
            self._policy_version = completion.policy_version
            return completion
        raise EngineError(
            f"request {request.request_id!r} failed on {self._max_attempts} engines in "
            f"a row; the last one: {error}"
        ) from error

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Not a client's business.

        Raises:
            WeightSyncError: Always.
        """
        raise WeightSyncError(
            "engine actors get their weights from EngineGroup.load_weights, once for "
            "all runners"
        )

    def close(self) -> None:
        """Nothing is held; the actors belong to the engine group."""

    async def _route(self, group: str) -> int:
        while (engine := self._router.route(group)) is None:
            # All are down: whichever comes back first.
            if not self._reconnecting:
                raise EngineError(
                    f"none of the engines {', '.join(self._names)} came back; see the "
                    "algorithm's log for why they died"
                )
            await asyncio.wait(
                list(self._reconnecting.values()), return_when=asyncio.FIRST_COMPLETED
            )
        return engine

    def _link(self, engine: int) -> EngineLink:
        if engine not in self._links:
            actor = _find(self._names[engine])
            if actor is None:
                raise EngineError(f"there is no engine actor {self._names[engine]!r}")
            self._links[engine] = EngineLink(actor, self._client)
        return self._links[engine]

    def _on_failure(self, engine: int, failure: EngineError) -> None:
        """Send nothing there until the engine answers again."""
        if engine in self._reconnecting:
            return
        logger.warning("engine %s failed: %s", self._names[engine], failure)
        self._router.mark_down(engine)
        self._links.pop(engine, None)
        task = asyncio.get_running_loop().create_task(self._reconnect(engine))
        self._reconnecting[engine] = task

    async def _reconnect(self, engine: int) -> None:
        try:
            actor = await self._find_alive(self._names[engine])
        finally:
            del self._reconnecting[engine]
        if actor is not None:
            self._links[engine] = EngineLink(actor, self._client)
            self._router.mark_up(engine)

    async def _find_alive(self, name: str) -> ActorHandle | None:
        """The actor of that name once it answers, or None after the time limit."""
        last_seen = time.monotonic()
        while time.monotonic() - last_seen < self._replacement_timeout_s:
            await asyncio.sleep(_SECONDS_BETWEEN_TRIES)
            if (actor := _find(name)) is None:
                continue
            try:
                await asyncio.wait_for(actor.heartbeat.remote(), self._start_timeout_s)
            except (RayActorError, EngineError, TimeoutError) as error:
                logger.info("engine %s does not answer yet: %s", name, error)
            else:
                return actor
        return None


def _find(name: str) -> ActorHandle | None:
    try:
        return ray.get_actor(name)
    except ValueError:
        return None
