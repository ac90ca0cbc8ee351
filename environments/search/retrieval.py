"""What a retriever is: queries in, the best passages of each out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from environments.search.corpus import Passage

DEFAULT_TOP_K = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPassage:
    """A passage that was found.

    Attributes:
        passage: The passage.
        score: How well it fits; higher is better, comparable within one query only.
    """

    passage: Passage
    score: float


class Retriever(Protocol):
    """Finds passages. The same query gives the same passages, in every process."""

    @property
    def runs_inline(self) -> bool:
        """Whether a search always takes mere milliseconds; see ``TextEnv``."""
        ...

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        """The best passages of each query, best first, at most ``top_k``.

        Any string is a query; one that fits no passage finds none.

        Raises:
            RetrievalError: A server that does the work failed.
        """
        ...
