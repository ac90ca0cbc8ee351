"""BM25 over short documents, equal to Lucene's in every rounding.

Source: S. Robertson and H. Zaragoza, The Probabilistic Relevance Framework, 2009, as
Lucene computes it: document lengths in one byte, single precision, ties by document
name. General BM25 libraries keep exact lengths, which reorders one result page in ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from environments.webshop.lucene_analysis import analyze

K1 = np.float32(0.9)
B = np.float32(0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchIndex:
    """An inverted index; documents are numbered by the order of their names.

    Attributes:
        names: The documents' names, sorted.
        terms: Term to its number; the postings of term t are rows
            ``offsets[t]:offsets[t + 1]``.
        offsets: int64 [num_terms + 1].
        documents: int32 [num_postings], the document of each posting.
        saturations: float32 [num_postings], 1 + frequency / length norm.
    """

    names: tuple[str, ...]
    terms: dict[str, int]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int32]
    saturations: NDArray[np.float32]

    def search(self, query: str, k: int) -> list[str]:
        """The names of the best documents, best first; only those with a term."""
        scores = np.zeros(len(self.names))
        counts = Counter(self.terms.get(term, -1) for term in analyze(query))
        for term, count in counts.items():
            if term >= 0:
                self._add_scores(scores, term, count)
        rounded = scores.astype(np.float32)
        found = np.flatnonzero(rounded)
        if len(found) > k:
            lowest = np.partition(rounded[found], -k)[-k]
            found = found[rounded[found] >= lowest]
        order = np.argsort(-rounded[found], kind="stable")[:k]
        return [self.names[row] for row in found[order]]

    def _add_scores(self, scores: NDArray[np.float64], term: int, count: int) -> None:
        start, end = self.offsets[term], self.offsets[term + 1]
        num_with_term = int(end - start)
        inverse_frequency = np.log(
            1 + (len(self.names) - num_with_term + 0.5) / (num_with_term + 0.5)
        )
        weight = np.float32(count) * np.float32(inverse_frequency)
        # A document occurs once in a term's postings, so nothing is lost here.
        scores[self.documents[start:end]] += (
            weight - weight / self.saturations[start:end]
        )


def build_index(documents: Sequence[tuple[str, str]]) -> SearchIndex:
    """Index (name, text) pairs; the names are unique."""
    in_order = sorted(documents)
    frequencies = [Counter(analyze(text)) for _, text in in_order]
    lengths = np.array([counts.total() for counts in frequencies])
    mean_length = np.float32(lengths.sum() / max(1, len(lengths)))
    norms = np.float32(1) / (
        K1 * ((1 - B) + B * _as_stored(lengths).astype(np.float32) / mean_length)
    )
    terms: dict[str, int] = {}
    postings: list[list[tuple[int, int]]] = []
    for row, counts in enumerate(frequencies):
        for term, frequency in counts.items():
            number = terms.setdefault(term, len(terms))
            if number == len(postings):
                postings.append([])
            postings[number].append((row, frequency))
    flat = np.array(
        [posting for rows in postings for posting in rows], dtype=np.int32
    ).reshape(-1, 2)
    rows, row_frequencies = flat[:, 0].copy(), flat[:, 1].astype(np.float32)
    return SearchIndex(
        names=tuple(name for name, _ in in_order),
        terms=terms,
        offsets=np.cumsum([0, *map(len, postings)]),
        documents=rows,
        saturations=np.float32(1) + row_frequencies * norms[rows],
    )


def _as_stored(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Document lengths as one byte keeps them: exact below 40, then four leading bits.

    Lucene stores 24 + x for lengths above 23, x cut to its four leading bits.
    """
    excess = np.maximum(lengths - 24, 0)
    num_bits = np.floor(np.log2(np.maximum(excess, 1))).astype(np.int64) + 1
    unit = 1 << np.maximum(num_bits - 4, 0)
    return np.where(lengths < 24, lengths, 24 + excess // unit * unit)
