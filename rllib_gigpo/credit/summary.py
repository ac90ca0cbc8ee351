"""The figures of credit assignment that a user wants to watch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.config import CreditConfig
from rllib_gigpo.credit.group_statistics import group_statistics
from rllib_gigpo.credit.keys import compact_pairs
from rllib_gigpo.credit.returns import episode_returns
from rllib_gigpo.credit.step_table import StepTable

# Upper ends of the size ranges in `CreditSummary.metrics`, after those of the paper.
_SIZE_RANGES = {"1": 1, "2": 2, "3_4": 4, "5_9": 9, "10_49": 49, "50_up": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditSummary:
    """Figures of one call of `assign_credit`.

    Attributes:
        num_rows: R.
        num_groups: G.
        num_trajectories: E.
        num_anchor_groups: How many (group, state) pairs there are.
        anchor_group_sizes: Size -> number of anchor groups of that size.
        lone_anchor_row_fraction: Rows that are alone in their anchor group: no step
            credit there. High when state keys tell too much apart.
        shared_anchor_group_fraction: Anchor groups with at least two trajectories. The
            others hold a lone row, or one trajectory's revisits.
        constant_group_fraction: Groups whose episode returns are all equal: no episode
            credit there, the tasks are too easy or too hard. Lone episodes are in it.
        episode_advantage_abs_mean: Mean |A^E| over rows.
        step_advantage_abs_mean: Mean |A^S| over rows.
    """

    num_rows: int
    num_groups: int
    num_trajectories: int
    num_anchor_groups: int
    anchor_group_sizes: dict[int, int]
    lone_anchor_row_fraction: float
    shared_anchor_group_fraction: float
    constant_group_fraction: float
    episode_advantage_abs_mean: float
    step_advantage_abs_mean: float

    def metrics(self) -> dict[str, float]:
        """All figures as flat numbers, the histogram in six ranges of sizes."""
        figures = {
            name: float(getattr(self, name))
            for name in self.__dataclass_fields__
            if name != "anchor_group_sizes"
        }
        low = 0
        for label, high in _SIZE_RANGES.items():
            figures[f"num_anchor_groups_of_{label}"] = float(
                sum(
                    count
                    for size, count in self.anchor_group_sizes.items()
                    if size > low and (high is None or size <= high)
                )
            )
            low = high or low
        return figures


def summarize(
    table: StepTable,
    config: CreditConfig,
    *,
    anchor_group: NDArray[np.int64],
    episode_advantage: NDArray[np.float64],
    step_advantage: NDArray[np.float64],
) -> CreditSummary:
    """Count what `CreditSummary` names; arrays are [R]."""
    size = np.bincount(anchor_group)
    sizes, counts = np.unique(size, return_counts=True)
    returns = group_statistics(
        episode_returns(table),
        table.trajectory_group,
        ddof=config.ddof,
        constant_tolerance=config.constant_tolerance,
    )
    return CreditSummary(
        num_rows=len(table),
        num_groups=table.num_groups,
        num_trajectories=table.num_trajectories,
        num_anchor_groups=len(size),
        anchor_group_sizes=dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
        lone_anchor_row_fraction=float(np.mean(size[anchor_group] == 1)),
        shared_anchor_group_fraction=float(
            np.mean(_num_trajectories(table, anchor_group) >= 2)
        ),
        constant_group_fraction=float(np.mean(returns.is_constant)),
        episode_advantage_abs_mean=float(np.mean(np.abs(episode_advantage))),
        step_advantage_abs_mean=float(np.mean(np.abs(step_advantage))),
    )


def _num_trajectories(
    table: StepTable, anchor_group: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Distinct trajectories of each anchor group."""
    pair = compact_pairs(anchor_group, table.trajectory)
    anchor_of_pair = np.empty(int(pair.max()) + 1, np.int64)
    anchor_of_pair[pair] = anchor_group
    return np.bincount(anchor_of_pair)
