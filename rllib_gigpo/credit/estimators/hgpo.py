"""HGPO: steps against those with the same recent history, at several depths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit.config import HGPOOptions
from rllib_gigpo.credit.estimators.contract import AdvantageParts, CreditInputs
from rllib_gigpo.credit.keys import compact_pairs
from rllib_gigpo.credit.relative import anchor_advantage, episode_advantage
from rllib_gigpo.credit.step_table import StepTable


def hgpo(inputs: CreditInputs) -> AdvantageParts:
    """Weighted mean of A^S over levels; level l groups rows by their last l states.

    Levels where a row has no advantage (too few past states, a lone or constant group)
    are left out of its mean, so ``lone_step`` is not read.

    Source: arXiv 2602.22817. The paper weighs levels by 1, 2, 3, ...; the authors' code
    by 2, 3, 4, ... (``config.hgpo.level_weights``).
    """
    table, options = inputs.table, inputs.config.hgpo
    config = replace(inputs.config, ddof=options.ddof, lone_step="zero")
    total = np.zeros(len(table))
    weight_sum = np.zeros(len(table))
    history = inputs.anchor_group
    for level in range(1, options.history + 2):
        advantage = anchor_advantage(table, inputs.step_return, history, config)
        advantage[table.step < level - 1] = 0.0
        weight = _level_weight(level, options)
        total += weight * advantage
        weight_sum += weight * (advantage != 0.0)
        history = _extend_history(table, history, inputs.anchor_group)
    return AdvantageParts(
        episode_advantage=(
            episode_advantage(table, inputs.episode_score, table.group, inputs.config)
            if options.add_episode_advantage
            else np.zeros(len(table))
        ),
        step_advantage=total / np.where(weight_sum > 0, weight_sum, 1.0),
    )


def _level_weight(level: int, options: HGPOOptions) -> float:
    first = 1 if options.level_weights == "paper" else 2
    return float((level - 1 + first) ** options.weight_exponent)


def _extend_history(
    table: StepTable, history: NDArray[np.int64], anchor_group: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Codes of the histories one state longer: the previous row's, then this state.

    A trajectory's first row has no previous one and gets a code of its own kind, so
    that short histories never share a group with full ones.
    """
    previous = np.zeros(len(table), np.int64)
    previous[table.order[1:]] = history[table.order[:-1]] + 1
    previous[table.order[table.trajectory_start]] = 0
    return compact_pairs(previous, anchor_group)
