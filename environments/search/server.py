"""A retrieval server: Search-R1's ``POST /retrieve`` as an ASGI application.

Needs the extra ``serve``. Requests of both published forms are answered: ``queries``
with several, and ``query`` with one. Whatever runs ASGI can run it (uvicorn, or Ray
Serve through ``serve.ingress``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from environments.search.batching import SearchBatcher
from environments.search.retrieval import DEFAULT_TOP_K, Retriever, ScoredPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What one request may ask for.

    Attributes:
        default_top_k: Passages per query when the request does not say.
        max_top_k: Most passages per query.
        max_queries: Most queries per request.
        max_body_bytes: Longest request.
    """

    default_top_k: int = DEFAULT_TOP_K
    max_top_k: int = 100
    max_queries: int = 1024
    max_body_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        for name in ("default_top_k", "max_top_k", "max_queries", "max_body_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} is less than 1")
        if self.default_top_k > self.max_top_k:
            raise ValueError(
                f"default_top_k={self.default_top_k} exceeds max_top_k={self.max_top_k}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveRequest:
    """A request that was checked.

    Attributes:
        queries: At least one.
        top_k: Passages per query.
        return_scores: Whether each passage comes with its score.
    """

    queries: tuple[str, ...]
    top_k: int
    return_scores: bool


def create_app(retriever: Retriever, limits: ServerLimits | None = None) -> Starlette:
    """The application.

    ``POST /retrieve`` answers ``{"result": [[...], ...]}``, a list for each query, of
    ``{"document": {"id", "contents"}, "score"}``, or of bare documents when scores are
    not asked for. A request beyond a limit is answered 413, a malformed one 422, both
    with ``{"detail": reason}``. ``GET /health`` answers 200.

    Args:
        retriever: Called in one thread at a time, with concurrent requests joined.
        limits: By default those of :class:`ServerLimits`.
    """
    limits = limits or ServerLimits()
    batcher = SearchBatcher(retriever)

    async def retrieve(request: Request) -> JSONResponse:
        body = await _read_body(request, limits.max_body_bytes)
        asked = read_request(body, limits)
        found = await batcher.search(asked.queries, asked.top_k)
        result = [[_item(hit, asked.return_scores) for hit in hits] for hits in found]
        return JSONResponse({"result": result})

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return JSONResponse({"detail": error.detail}, error.status_code)

    return Starlette(
        routes=[
            Route("/retrieve", retrieve, methods=["POST"]),
            Route("/health", health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: refuse},
    )


def read_request(body: bytes, limits: ServerLimits) -> RetrieveRequest:
    """Check a request's body.

    Raises:
        HTTPException: 422 when it is malformed, 413 when it asks for too much.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed("the body is no JSON") from None
    if not isinstance(fields, dict):
        raise _malformed("the body must be a JSON object")
    return_scores = fields.get("return_scores", False)
    if not isinstance(return_scores, bool):
        raise _malformed("return_scores must be true or false")
    return RetrieveRequest(
        queries=_queries(fields, limits.max_queries),
        top_k=_top_k(fields, limits),
        return_scores=return_scores,
    )


def _queries(fields: dict[str, Any], most: int) -> tuple[str, ...]:
    if ("queries" in fields) == ("query" in fields):
        raise _malformed("give either `queries`, a list of texts, or `query`, one text")
    queries = fields["queries"] if "queries" in fields else [fields["query"]]
    if not isinstance(queries, list) or not queries:
        raise _malformed("queries must be a list of at least one text")
    if not all(isinstance(query, str) for query in queries):
        raise _malformed("every query must be a text")
    if len(queries) > most:
        raise _too_much(f"{len(queries)} queries in a request; at most {most}")
    return tuple(queries)


def _top_k(fields: dict[str, Any], limits: ServerLimits) -> int:
    top_k = fields.get("topk")
    if top_k is None:
        return limits.default_top_k
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise _malformed("topk must be a whole number of at least 1")
    if top_k > limits.max_top_k:
        raise _too_much(f"topk={top_k}; at most {limits.max_top_k}")
    return top_k


async def _read_body(request: Request, most: int) -> bytes:
    """The body, read no further than the limit whatever its header promises."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise _too_much(f"a body of more than {most} bytes")
    return bytes(body)


def _item(hit: ScoredPassage, return_scores: bool) -> dict[str, Any]:
    document = {"id": hit.passage.id, "contents": hit.passage.contents}
    return {"document": document, "score": hit.score} if return_scores else document


def _malformed(reason: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, reason)


def _too_much(reason: str) -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
