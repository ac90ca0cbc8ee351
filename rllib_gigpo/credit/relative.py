"""Relative advantages: each value against the others of its group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.anchor_groups import is_first_visit
from rllib_gigpo.credit.config import CreditConfig, LoneRule
from rllib_gigpo.credit.group_statistics import GroupStatistics, group_statistics
from rllib_gigpo.credit.step_table import StepTable


def episode_advantage(
    table: StepTable,
    score: NDArray[np.float64],
    group: NDArray[np.int64],
    config: CreditConfig,
) -> NDArray[np.float64]:
    """A^E: each row's episode score against those of its group, float64 [R].

    Args:
        table: R rows.
        score: float64 [R], the episode return on every row of the trajectory, less the
            row's penalty where that is placed inside the statistics.
        group: int64 [R], dense codes of what is compared, constant along a trajectory;
            ``table.group``, or zeros for the whole batch.
        config: ``normalize``, ``episode_unit``, ``lone_episode``, ``ddof``, ``epsilon``
            and ``constant_tolerance`` are read.

    Source: arXiv 2505.10978, Eq. 3. ``episode_unit="step"`` is the official code's
    deviation, where each row counts.
    """
    statistics = episode_statistics(table, score, group, config)
    is_lone = _lone_episodes(table, group, statistics, config)
    return _relative(score, group, statistics, is_lone, config.lone_episode, config)


def anchor_advantage(
    table: StepTable,
    value: NDArray[np.float64],
    anchor_group: NDArray[np.int64],
    config: CreditConfig,
) -> NDArray[np.float64]:
    """A^S: each row's value against those of its anchor group, float64 [R].

    Args:
        table: R rows.
        value: float64 [R], e.g. the step returns.
        anchor_group: int64 [R], dense codes.
        config: ``normalize``, ``revisits``, ``lone_step``, ``min_anchor_group_size``,
            ``ddof``, ``epsilon`` and ``constant_tolerance`` are read.

    Source: arXiv 2505.10978, Eq. 7. ``revisits="first"`` is ours: the first visits are
    the members, and later ones get 0.
    """
    if config.revisits == "all":
        is_member = np.ones(len(table), np.bool_)
    else:
        is_member = is_first_visit(table, anchor_group)
    value, group = value[is_member], anchor_group[is_member]
    statistics = group_statistics(
        value,
        group,
        ddof=config.ddof,
        constant_tolerance=config.constant_tolerance,
    )
    is_lone = statistics.count < config.min_anchor_group_size
    advantage = np.zeros(len(table))
    advantage[is_member] = _relative(
        value, group, statistics, is_lone, config.lone_step, config
    )
    return advantage


def episode_statistics(
    table: StepTable,
    score: NDArray[np.float64],
    group: NDArray[np.int64],
    config: CreditConfig,
) -> GroupStatistics:
    """Statistics of the scores of each group, counted in ``config.episode_unit``."""
    if config.episode_unit == "trajectory":
        first_row = table.order[table.trajectory_start]
        score, group = score[first_row], group[first_row]
    return group_statistics(
        score, group, ddof=config.ddof, constant_tolerance=config.constant_tolerance
    )


def _lone_episodes(
    table: StepTable,
    group: NDArray[np.int64],
    statistics: GroupStatistics,
    config: CreditConfig,
) -> NDArray[np.bool_]:
    """Which groups have no second episode, bool [G].

    The official rule counts what its statistics count, so in the step unit only a
    single *row* is lone there.
    """
    if config.lone_episode == "raw":
        num_episodes = statistics.count
    else:
        num_episodes = np.bincount(group[table.order[table.trajectory_start]])
    return np.equal(num_episodes, 1)


def _relative(
    value: NDArray[np.float64],
    group: NDArray[np.int64],
    statistics: GroupStatistics,
    is_lone: NDArray[np.bool_],
    lone_rule: LoneRule,
    config: CreditConfig,
) -> NDArray[np.float64]:
    """Centred, and divided by std + epsilon if asked for; constant groups exactly 0."""
    is_zero = statistics.is_constant | is_lone
    advantage = value - statistics.mean[group]
    if config.normalize == "std":
        # Where the result is 0 anyway, epsilon may be 0 as well.
        scale = np.where(is_zero, 1.0, statistics.std + config.epsilon)
        advantage /= scale[group]
    advantage[is_zero[group]] = 0.0
    if lone_rule == "raw":
        at_row = is_lone[group]
        advantage[at_row] = value[at_row]
    return advantage
