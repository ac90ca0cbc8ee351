"""A vLLM engine as a Ray actor, shared by any number of runners.

What enters: batches of requests. What leaves: batches of outcomes, each as soon as
there is one. Batches, since a call between processes costs about as much as a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from rllib_gigpo.errors import EngineError
from rllib_gigpo.inference.engine import Completion, GenerationRequest
from rllib_gigpo.inference.vllm_engine import VLLMEngine
from rllib_gigpo.inference.vllm_settings import VLLMSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailure:
    """A request that the engine could not complete.

    Attributes:
        request_id: Of the request.
        error: ``ValueError`` for a request that can never be completed, ``EngineError``
            for one that another engine could.
    """

    request_id: str
    error: Exception


Outcome = Completion | RequestFailure


@dataclass(slots=True)
class _Outbox:
    """What is ready for one client."""

    outcomes: list[Outcome] = field(default_factory=list)
    has_some: asyncio.Event = field(default_factory=asyncio.Event)


class EngineActor:
    """Runs one :class:`VLLMEngine`; every call but construction is asynchronous.

    Args:
        settings: Of the engine.
        weights: To load before anything is generated; None keeps those on disk.
        policy_version: Of the weights.
        stall_timeout_s: A step that takes longer counts as a failure of the engine.
    """

    def __init__(
        self,
        settings: VLLMSettings,
        weights: Mapping[str, torch.Tensor] | None,
        policy_version: int,
        stall_timeout_s: float,
    ) -> None:
        self._engine = VLLMEngine(settings, policy_version=policy_version)
        if weights is not None:
            self._engine.load_weights(weights, policy_version)
        self._stall_timeout_s = stall_timeout_s
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._outboxes: dict[str, _Outbox] = {}
        self._may_start = asyncio.Event()
        self._may_start.set()

    async def submit(self, client: str, requests: Sequence[GenerationRequest]) -> None:
        """Start requests; their outcomes go to ``client``.

        A request whose id is in flight already replaces that one, which belongs to a
        runner that died.
        """
        await self._may_start.wait()
        for request in requests:
            await self._cancel([request.request_id])
            self._tasks[request.request_id] = asyncio.create_task(
                self._complete(client, request)
            )

    async def take(self, client: str) -> list[Outcome]:
        """The outcomes that are ready for a client; waits for the first one."""
        outbox = self._outboxes.setdefault(client, _Outbox())
        await outbox.has_some.wait()
        self._outboxes.pop(client, None)
        return outbox.outcomes

    async def cancel(self, request_ids: Sequence[str]) -> None:
        """Give requests up."""
        await self._cancel(request_ids)

    async def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        """Take over new weights.

        Whoever is alive awaits its completions before weights change: what is still in
        flight belongs to a runner that died, and is given up.

        Raises:
            WeightSyncError: The weights do not cover the model, or vLLM failed.
        """
        await self._give_up_all()
        await asyncio.to_thread(self._engine.load_weights, weights, policy_version)

    async def pause(self) -> None:
        """Give up what a dead runner left, and start nothing until :meth:`resume`."""
        self._may_start.clear()
        await self._give_up_all()

    async def resume(self) -> None:
        """Start requests again, those that came meanwhile first."""
        self._may_start.set()

    async def transfer(self, method: str, *payload: Mapping[str, object]) -> None:
        """See :meth:`VLLMEngine.transfer`."""
        await asyncio.to_thread(self._engine.transfer, method, *payload)

    async def accept_weights(self, policy_version: int) -> None:
        """See :meth:`VLLMEngine.accept_weights`."""
        await asyncio.to_thread(self._engine.accept_weights, policy_version)

    async def probe(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        """Complete requests by the way, to see which weights are at work."""
        return await asyncio.gather(*(self._engine.generate(r) for r in requests))

    async def weight_digests(self) -> dict[str, str]:
        """See :meth:`VLLMEngine.weight_digests`."""
        return await asyncio.to_thread(self._engine.weight_digests)

    async def sleep(self, level: int) -> None:
        """Pause, then see :meth:`VLLMEngine.sleep`."""
        await self.pause()
        await asyncio.to_thread(self._engine.sleep, level)

    async def wake_up(self, *tags: str) -> None:
        """See :meth:`VLLMEngine.wake_up`; resumes once nothing sleeps any more."""
        await asyncio.to_thread(self._engine.wake_up, *tags)
        if not self._engine.is_asleep:
            await self.resume()

    async def heartbeat(self) -> int:
        """The policy version, as a sign of life.

        Raises:
            EngineError: vLLM failed, or a step takes too long.
        """
        self._engine.check()
        if self._engine.seconds_without_progress > self._stall_timeout_s:
            raise EngineError(
                f"vLLM has not ended a step for {self._stall_timeout_s:g} s"
            )
        return self._engine.policy_version

    async def close(self) -> None:
        """Stop vLLM; the process can then be killed without leaving others behind."""
        await asyncio.to_thread(self._engine.close)

    async def _complete(self, client: str, request: GenerationRequest) -> None:
        outcome: Outcome
        try:
            outcome = await self._engine.generate(request)
        except (ValueError, EngineError) as error:
            outcome = RequestFailure(request_id=request.request_id, error=error)
        except asyncio.CancelledError:
            given_up = EngineError("the engine gave the request up")
            outcome = RequestFailure(request_id=request.request_id, error=given_up)
        del self._tasks[request.request_id]
        outbox = self._outboxes.setdefault(client, _Outbox())
        outbox.outcomes.append(outcome)
        outbox.has_some.set()

    async def _give_up_all(self) -> None:
        await self._cancel(list(self._tasks))
        self._outboxes = {
            client: outbox
            for client, outbox in self._outboxes.items()
            if not outbox.has_some.is_set()
        }

    async def _cancel(self, request_ids: Sequence[str]) -> None:
        running = [self._tasks[i] for i in request_ids if i in self._tasks]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
