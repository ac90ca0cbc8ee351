"""One runner's connection to one engine actor: batches out, batches back."""

from __future__ import annotations

import asyncio

from ray.actor import ActorHandle
from ray.exceptions import RayActorError

from rllib_gigpo.errors import EngineError
from rllib_gigpo.inference.engine import Completion, GenerationRequest
from rllib_gigpo.inference.engine_actor import RequestFailure

_MOST_REQUESTS_HELD = 16
"""Requests that wait for others of the same tick to come along."""


class EngineGoneError(EngineError):
    """The engine's process died, or cannot be reached."""


class EngineLink:
    """Requests of one tick leave together, and one waiting call brings outcomes back.

    Args:
        actor: An :class:`~.engine_actor.EngineActor`.
        client: Names this runner; unique among all that use the engine.
    """

    def __init__(self, actor: ActorHandle, client: str) -> None:
        self._actor = actor
        self._client = client
        self._outgoing: list[GenerationRequest] = []
        self._futures: dict[str, asyncio.Future[Completion]] = {}
        self._receiver: asyncio.Task[None] | None = None
        self._senders: set[asyncio.Task[None]] = set()

    async def generate(self, request: GenerationRequest) -> Completion:
        """Complete one prompt; cancelling the caller gives the request up.

        Raises:
            ValueError: The request can never be completed.
            EngineGoneError: The engine died meanwhile.
            EngineError: vLLM failed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Completion] = loop.create_future()
        self._futures[request.request_id] = future
        self._outgoing.append(request)
        if len(self._outgoing) == 1:
            loop.call_soon(self._send)
        elif len(self._outgoing) >= _MOST_REQUESTS_HELD:
            self._send()
        if self._receiver is None:
            self._receiver = loop.create_task(self._receive())
        try:
            return await future
        finally:
            # Still there only if the caller was cancelled.
            if self._futures.pop(request.request_id, None) is not None:
                self._actor.cancel.remote([request.request_id])

    def _send(self) -> None:
        batch, self._outgoing = self._outgoing, []
        if batch:
            sender = asyncio.get_running_loop().create_task(self._submit(batch))
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)

    async def _submit(self, batch: list[GenerationRequest]) -> None:
        try:
            await self._actor.submit.remote(self._client, batch)
        except RayActorError as error:
            self._fail_all(error)

    async def _receive(self) -> None:
        try:
            while self._futures:
                for outcome in await self._actor.take.remote(self._client):
                    future = self._futures.pop(outcome.request_id, None)
                    if future is None or future.done():
                        continue
                    if isinstance(outcome, RequestFailure):
                        future.set_exception(outcome.error)
                    else:
                        future.set_result(outcome)
        except RayActorError as error:
            self._fail_all(error)
        finally:
            self._receiver = None

    def _fail_all(self, cause: RayActorError) -> None:
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(EngineGoneError(f"the engine died: {cause}"))
