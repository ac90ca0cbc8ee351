"""Clusters of similar texts, by the matching ratio of Python's difflib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.config import SimilarityMethod


def cluster_texts(
    texts: Sequence[str], threshold: float, method: SimilarityMethod
) -> NDArray[np.int64]:
    """The cluster of each of M distinct texts, int64 [M], numbered from 0.

    Args:
        texts: Distinct, in order of appearance.
        threshold: Texts whose matching ratio is at least this are similar.
        method: ``"first_fit"`` or ``"components"``; the first depends on the order of
            the texts, the second does not. Both compare O(M * clusters) to O(M**2)
            pairs.

    Source: arXiv 2505.10978, search experiments; ``first_fit`` is the official code's
    rule, ``components`` is ours since that rule groups one set of texts differently in
    another order.
    """
    return _METHODS[method](texts, threshold)


def _first_fit(texts: Sequence[str], threshold: float) -> NDArray[np.int64]:
    """Join the first cluster whose first member is similar, else open a new one."""
    clusters: list[SequenceMatcher[str]] = []
    assigned = []
    for text in texts:
        cluster = _first_similar(clusters, text, threshold)
        if cluster is None:
            cluster = len(clusters)
            clusters.append(SequenceMatcher(None, "", text))
        assigned.append(cluster)
    return np.array(assigned, np.int64)


def _first_similar(
    clusters: Sequence[SequenceMatcher[str]], text: str, threshold: float
) -> int | None:
    for index, matcher in enumerate(clusters):
        matcher.set_seq1(text)
        if _is_similar(matcher, threshold):
            return index
    return None


def _components(texts: Sequence[str], threshold: float) -> NDArray[np.int64]:
    """Join all texts that a chain of similar texts connects."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    root = list(range(len(texts)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    # Sorted, since difflib's ratio is not symmetric and the order must not matter.
    for place, later in enumerate(order):
        matcher = SequenceMatcher(None, "", texts[later])
        for earlier in order[:place]:
            one, other = find(earlier), find(later)
            if one != other:
                matcher.set_seq1(texts[earlier])
                if _is_similar(matcher, threshold):
                    root[max(one, other)] = min(one, other)
    roots = [find(index) for index in range(len(texts))]
    return np.unique(roots, return_inverse=True)[1].astype(np.int64, copy=False)


def _is_similar(matcher: SequenceMatcher[str], threshold: float) -> bool:
    """Whether the ratio reaches the threshold; the cheap upper bounds go first."""
    return (
        matcher.real_quick_ratio() >= threshold
        and matcher.quick_ratio() >= threshold
        and matcher.ratio() >= threshold
    )


_METHODS: dict[
    SimilarityMethod, Callable[[Sequence[str], float], NDArray[np.int64]]
] = {"first_fit": _first_fit, "components": _components}
