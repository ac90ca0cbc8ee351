"""Step returns and episode returns, whatever the order of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.step_table import StepTable


def step_returns(table: StepTable, gamma: float) -> NDArray[np.float64]:
    """Discounted sum of the rewards from each step to the end of its trajectory.

    The sum doubles its reach in each pass, so a trajectory of T steps takes log2(T)
    passes over the table and no loop over rows.

    Args:
        table: R rows.
        gamma: Discount per step, in [0, 1].

    Returns:
        float64 [R], in the table's row order.

    Source: arXiv 2505.10978, Eq. 5.
    """
    num_steps_left = table.num_steps_left[table.order]
    returns = table.reward[table.order]
    reach = 1
    while reach <= num_steps_left.max(initial=0):
        is_within = num_steps_left[:-reach] >= reach
        returns[:-reach] += np.where(is_within, gamma**reach * returns[reach:], 0.0)
        reach *= 2
    unordered = np.empty_like(returns)
    unordered[table.order] = returns
    return unordered


def episode_returns(table: StepTable) -> NDArray[np.float64]:
    """Plain sum of the rewards of each trajectory, float64 [E].

    Source: arXiv 2505.10978, below Eq. 2.
    """
    return np.add.reduceat(table.reward[table.order], table.trajectory_start)
