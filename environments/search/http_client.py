"""A retriever that asks servers speaking Search-R1's ``/retrieve``."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import urllib3

from environments.errors import RetrievalError
from environments.search.corpus import Passage
from environments.search.retrieval import ScoredPassage

Protocol: TypeAlias = Literal["batched", "single"]
_RETRIED_STATUSES = frozenset({500, 502, 503, 504})
_CONNECTIONS_PER_SERVER = 32


class HttpRetriever:
    """Asks servers over HTTP, each request the next one in turn.

    Connection errors, time-outs and the statuses 500, 502, 503 and 504 are tried again,
    after 1, 2, 3, … seconds. Safe to use from several threads.

    Attributes:
        runs_inline: False: a server may take its time.

    Args:
        urls: Of one server or several with the same corpus, e.g.
            ``"http://127.0.0.1:8000/retrieve"``.
        protocol: ``"batched"``: Search-R1's requests, all queries in one;
            ``"single"``: one query a request, as the server published with GiGPO
            wants it.
        timeout_s: Of each try.
        num_tries: Before giving up.
        sleep: Waits so many seconds; for tests.

    Raises:
        ValueError: No address is given, or a number is out of range.
    """

    runs_inline = False

    def __init__(
        self,
        urls: str | Iterable[str],
        *,
        protocol: Protocol = "batched",
        timeout_s: float = 60.0,
        num_tries: int = 10,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.urls = (urls,) if isinstance(urls, str) else tuple(urls)
        if not self.urls:
            raise ValueError("urls is empty: name at least one /retrieve address")
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"{url!r} is no address such as http://host:8000/…")
        if num_tries < 1 or timeout_s <= 0:
            raise ValueError(f"num_tries={num_tries}, timeout_s={timeout_s}: too small")
        if protocol not in ("batched", "single"):
            raise ValueError(f"protocol={protocol!r}: choose 'batched' or 'single'")
        self.protocol = protocol
        self._num_tries = num_tries
        self._sleep = sleep
        # One step of a `cycle` is atomic; a list and a counter would not be.
        self._next_url = itertools.cycle(self.urls)
        self._pool = urllib3.PoolManager(
            maxsize=_CONNECTIONS_PER_SERVER,
            timeout=timeout_s,
            retries=False,
        )

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        """See :meth:`Retriever.search`.

        Raises:
            RetrievalError: No server gave a proper answer.
        """
        if not queries:
            return []
        if self.protocol == "batched":
            return self._ask({"queries": list(queries)}, top_k, len(queries))
        return [self._ask({"query": query}, top_k, 1)[0] for query in queries]

    def _ask(
        self, question: dict[str, Any], top_k: int, num_queries: int
    ) -> list[list[ScoredPassage]]:
        body = {**question, "topk": top_k, "return_scores": True}
        url, answer = self._post(body)
        try:
            found = [[_scored(item) for item in items] for items in answer["result"]]
        except (KeyError, TypeError, ValueError) as error:
            raise RetrievalError(
                f"{url} does not answer by the protocol ({error!r}): {answer!r:.200}"
            ) from error
        if len(found) != num_queries:
            raise RetrievalError(
                f"{url} gave {len(found)} results for {num_queries} queries; if it "
                "takes one query a request, use protocol='single'"
            )
        return found

    def _post(self, body: Mapping[str, Any]) -> tuple[str, Any]:
        """The address asked and its answer, after as many tries as it takes."""
        for number in range(1, self._num_tries + 1):
            url = next(self._next_url)
            try:
                response = self._pool.request("POST", url, json=body)
                if response.status == 200:
                    return url, response.json()
                problem = f"status {response.status}: {response.data[:200]!r}"
                if response.status not in _RETRIED_STATUSES:
                    raise RetrievalError(f"{url} refused a request, {problem}")
            except urllib3.exceptions.HTTPError as error:
                problem = str(error)
            except ValueError as error:
                raise RetrievalError(f"{url} answered no JSON: {error}") from error
            if number < self._num_tries:
                self._sleep(float(number))
        raise RetrievalError(
            f"no answer from {', '.join(self.urls)} after {self._num_tries} tries; "
            f"the last: {problem}. Is the server running? `rllib-gigpo serve-search`"
        )


def _scored(item: Mapping[str, Any]) -> ScoredPassage:
    document = item["document"]
    return ScoredPassage(
        passage=Passage(id=str(document["id"]), contents=str(document["contents"])),
        score=float(item["score"]),
    )
