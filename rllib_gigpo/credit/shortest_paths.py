"""Shortest paths in a directed graph, breadth first, one frontier at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distance_to_goals(
    *,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    goals: NDArray[np.int64],
    num_nodes: int,
) -> NDArray[np.float64]:
    """Fewest edges from each node to a goal, float64 [num_nodes]; inf without a path.

    Args:
        source: int64 [num_edges], where each edge starts.
        target: int64 [num_edges], where it ends; parallel edges and loops are fine.
        goals: int64, distinct nodes.
        num_nodes: Nodes are 0 .. num_nodes - 1.
    """
    sources_by_target = source[np.argsort(target, kind="stable")]
    num_incoming = np.bincount(target, minlength=num_nodes)
    first_incoming = np.cumsum(num_incoming) - num_incoming
    distance = np.full(num_nodes, np.inf)
    frontier, reach = goals, 0
    while len(frontier):
        distance[frontier] = reach
        edges = _join_ranges(first_incoming[frontier], num_incoming[frontier])
        before = np.unique(sources_by_target[edges])
        frontier = before[np.isinf(distance[before])]
        reach += 1
    return distance


def _join_ranges(
    starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The integers of ``[start, start + length)`` of each range, one after another."""
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())
