"""GraphGPO: steps against those from the same state, by how near success they lead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.relative import anchor_advantage, episode_advantage
from rllib_gigpo.credit.returns import episode_returns
from rllib_gigpo.credit.shortest_paths import distance_to_goals


def graphgpo(inputs: CreditInputs) -> AdvantageParts:
    """A^S over edge returns: success_reward * gamma**d, d the distance after the step.

    All trajectories of a group are merged into one graph of states. A step leads to the
    next state of its trajectory; the last one to success, or to a dead end. Where no
    success can be reached, d is one more than the group's farthest state that reaches
    it.

    Source: arXiv 2605.26684. Deviation: the state after a failed trajectory's last step
    is not in the step table, so that step counts as leading nowhere.
    """
    table, config, options = inputs.table, inputs.config, inputs.config.graphgpo
    edge_return = options.success_reward * options.gamma ** _distance_after_step(inputs)
    # Equal distances give equal bits, and far from success all edge returns are tiny.
    exact = replace(config, constant_tolerance=0.0)
    return AdvantageParts(
        episode_advantage=episode_advantage(
            table, inputs.episode_score, table.group, config
        ),
        step_advantage=anchor_advantage(
            table, edge_return - inputs.step_penalty, inputs.anchor_group, exact
        ),
    )


def _distance_after_step(inputs: CreditInputs) -> NDArray[np.float64]:
    """Steps left to success after each row's step, float64 [R].

    Nodes are the anchor groups, then one success per group, then one dead end for all.
    """
    table, state = inputs.table, inputs.anchor_group
    num_states = int(state.max()) + 1
    successes = num_states + np.arange(table.num_groups)
    dead_end = num_states + table.num_groups
    after = np.empty(len(table), np.int64)
    after[table.order[:-1]] = state[table.order[1:]]
    last_row = table.order[table.trajectory_start + table.trajectory_length - 1]
    after[last_row] = np.where(
        _is_success(inputs), successes[table.trajectory_group], dead_end
    )
    distance = distance_to_goals(
        source=state, target=after, goals=successes, num_nodes=dead_end + 1
    )
    farthest = np.zeros(table.num_groups)
    reaches = np.isfinite(distance[state])
    np.maximum.at(farthest, table.group[reaches], distance[state[reaches]])
    return np.where(
        np.isfinite(distance[after]), distance[after], farthest[table.group] + 1.0
    )


def _is_success(inputs: CreditInputs) -> NDArray[np.bool_]:
    """Which trajectories reached the goal, bool [E]."""
    table = inputs.table
    if table.trajectory_success is not None:
        return table.trajectory_success
    return episode_returns(table) > inputs.config.graphgpo.success_threshold
