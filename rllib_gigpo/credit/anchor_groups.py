"""Anchor groups: the rows of one group that stand in one state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.config import CreditConfig
from rllib_gigpo.credit.keys import compact, compact_pairs
from rllib_gigpo.credit.similarity import cluster_texts
from rllib_gigpo.credit.step_table import StepTable
from rllib_gigpo.errors import CreditError


def anchor_groups(table: StepTable, config: CreditConfig) -> NDArray[np.int64]:
    """The anchor group of each row, int64 [R], dense codes from 0.

    Two rows share an anchor group exactly when they share the group *and* the state:
    equal keys, or similar texts when ``config.similarity`` is set. A trajectory that
    comes back to a state has several rows in the anchor group.

    Raises:
        CreditError: Similarity is asked for and a state key is not a string.

    Source: arXiv 2505.10978, Eq. 4 and 6; similarity from its search experiments.
    """
    pair = compact_pairs(table.group, table.state)
    if config.similarity is None:
        return pair
    return _similar_pairs(table, pair, config)


def is_first_visit(
    table: StepTable, anchor_group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the row is its trajectory's first in its anchor group, bool [R]."""
    visit = compact_pairs(table.trajectory, anchor_group)[table.order]
    # Danger: np.unique returns the first index in the array, so it must be in step
    # order.
    _, first = np.unique(visit, return_index=True)
    is_first = np.zeros(len(table), np.bool_)
    is_first[table.order[first]] = True
    return is_first


def _similar_pairs(
    table: StepTable, pair: NDArray[np.int64], config: CreditConfig
) -> NDArray[np.int64]:
    """Anchor groups of similar texts; each distinct text of a group is looked at once.

    A text that comes again joins the cluster it joined the first time, so the distinct
    texts in order of appearance decide for all rows.
    """
    assert config.similarity is not None
    first_row = np.full(int(pair.max()) + 1, len(table))
    np.minimum.at(first_row, pair, np.arange(len(table)))
    cluster = np.empty(len(first_row), np.int64)
    pairs = np.argsort(first_row)
    pairs = pairs[np.argsort(table.group[first_row[pairs]], kind="stable")]
    ends = np.flatnonzero(np.diff(table.group[first_row[pairs]])) + 1
    num_clusters = 0
    for pairs_of_group in np.split(pairs, ends):
        texts = [_text(table, row) for row in first_row[pairs_of_group].tolist()]
        local = cluster_texts(texts, config.similarity, config.similarity_method)
        cluster[pairs_of_group] = local + num_clusters
        num_clusters += int(local.max()) + 1
    return compact(cluster[pair])


def _text(table: StepTable, row: int) -> str:
    label = table.state_labels[table.state[row]]
    if not isinstance(label, str):
        raise CreditError(
            f"row {row}: similarity compares texts, but the state key is a "
            f"{type(label).__name__}; use string keys or similarity=None"
        )
    return label
