"""BM25 in this process: lexical retrieval that needs no model and no server.

Scores are Lucene's with Anserini's parameters; words are lower-cased, stripped of
Lucene's English stop words and stemmed by Porter's rules. An index in memory is built
from a corpus; a saved one is memory-mapped, so that all processes of a machine share
its pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from environments.search.corpus import Corpus
from environments.search.retrieval import ScoredPassage

K1 = 0.9
B = 0.4
# Danger: raise it with every change of how an index comes about; saved ones are found
# by it.
INDEX_VERSION = "bm25-1"
_WORD = r"(?u)\b\w+\b"
_PASSAGES = "passages.arrow"


class Bm25Retriever:
    """A BM25 index and its passages.

    Attributes:
        runs_inline: True: a query takes well under a millisecond for ten thousand
            passages, and some for a million.

    Args:
        corpus: The passages.
        index: Their index, in the same order.
    """

    runs_inline = True

    def __init__(self, corpus: Corpus, index: bm25s.BM25) -> None:
        self.corpus = corpus
        self._index = index

    @classmethod
    def build(cls, corpus: Corpus, *, k1: float = K1, b: float = B) -> Bm25Retriever:
        """Index a corpus in memory.

        Raises:
            ValueError: The corpus is empty.
        """
        if not len(corpus):
            raise ValueError("a corpus without passages cannot be indexed")
        index = bm25s.BM25(k1=k1, b=b, method="lucene")
        words = _words(list(corpus.contents()), return_ids=True)
        index.index(words, show_progress=False)
        return cls(corpus, index)

    @classmethod
    def open(cls, folder: Path) -> Bm25Retriever:
        """Map what :meth:`save` wrote."""
        index = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        return cls(Corpus.open(folder / _PASSAGES), index)

    def save(self, folder: Path) -> None:
        """Write index and passages into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self._index.save(folder, show_progress=False)
        self.corpus.save(folder / _PASSAGES)

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        """See :meth:`Retriever.search`; equal scores in the order of the corpus."""
        return [self._search(query, top_k) for query in queries]

    def _search(self, query: str, top_k: int) -> list[ScoredPassage]:
        words = _words([query], return_ids=False)[0]
        ids = [i for i in self._index.get_tokens_ids(words) if i < self._num_words]
        if not ids:
            return []
        scores = self._index.get_scores_from_ids(ids)
        return [
            ScoredPassage(passage=self.corpus[row], score=float(scores[row]))
            for row in best_rows(scores, top_k)
        ]

    @property
    def _num_words(self) -> int:
        return len(self._index.scores["indptr"]) - 1


def best_rows(scores: NDArray[np.float32], top_k: int) -> list[int]:
    """The rows of the highest scores above 0, ties in row order whatever the machine.

    Args:
        scores: float32 [num_rows].
        top_k: How many at most.
    """
    if top_k < 1:
        return []
    if top_k < len(scores):
        lowest = np.partition(scores, -top_k)[-top_k]
        rows = np.flatnonzero(scores >= max(lowest, np.finfo(np.float32).tiny))
    else:
        rows = np.flatnonzero(scores > 0)
    order = np.lexsort((rows, -scores[rows]))
    return [int(row) for row in rows[order[:top_k]]]


def _words(texts: list[str], *, return_ids: bool) -> bm25s.tokenization.Tokenized:
    """The words of each text, as bm25s takes them for an index or for a query."""
    return bm25s.tokenize(
        texts,
        token_pattern=_WORD,
        stopwords="english",
        # A stemmer of its own for each call: they are not safe to share by threads.
        stemmer=Stemmer.Stemmer("porter"),
        return_ids=return_ids,
        show_progress=False,
    )
