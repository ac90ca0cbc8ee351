"""Joins the searches of concurrent requests into batches, without waiting for more.

While a batch is being searched, requests gather; they are the next batch. So an idle
server answers at once, and a busy one encodes many queries together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from environments.search.retrieval import Retriever, ScoredPassage


@dataclass(slots=True)
class _Request:
    """Queries of one client, and where their results are awaited."""

    queries: Sequence[str]
    top_k: int
    result: asyncio.Future[list[list[ScoredPassage]]]


class SearchBatcher:
    """Serves one retriever to many coroutines of one event loop.

    At most one search runs at a time, in a thread, so that the loop stays free.

    Args:
        retriever: Need not be safe to use from several threads.
        max_batch_size: Most queries searched at once; a single larger request is still
            searched whole.
    """

    def __init__(self, retriever: Retriever, max_batch_size: int = 256) -> None:
        self._retriever = retriever
        self._max_batch_size = max_batch_size
        self._waiting: deque[_Request] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def search(
        self, queries: Sequence[str], top_k: int
    ) -> list[list[ScoredPassage]]:
        """As :meth:`Retriever.search`, its errors included."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(_Request(queries, top_k, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        result: list[list[ScoredPassage]] = await future
        return result

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            queries = [query for request in batch for query in request.queries]
            top_k = max(request.top_k for request in batch)
            try:
                found = await asyncio.to_thread(self._retriever.search, queries, top_k)
            except Exception as error:
                # Whatever it is belongs to those who asked, and is raised there.
                for request in batch:
                    if not request.result.done():
                        request.result.set_exception(error)
                continue
            start = 0
            for request in batch:
                own = found[start : start + len(request.queries)]
                start += len(request.queries)
                # A client that has gone away has cancelled its future.
                if not request.result.done():
                    request.result.set_result([hits[: request.top_k] for hits in own])

    def _next_batch(self) -> list[_Request]:
        batch = [self._waiting.popleft()]
        size = len(batch[0].queries)
        while self._waiting:
            size += len(self._waiting[0].queries)
            if size > self._max_batch_size:
                break
            batch.append(self._waiting.popleft())
        return batch
