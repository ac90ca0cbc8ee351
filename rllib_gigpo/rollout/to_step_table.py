"""Episodes to the table that credit is assigned on: one row per step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.credit import StepTable
from rllib_gigpo.rollout.records import EpisodeRecord


def to_step_table(
    episodes: Sequence[EpisodeRecord],
    *,
    penalize_inadmissible: bool = False,
    reward_penalty: NDArray[np.float64] | None = None,
) -> StepTable:
    """All steps of all episodes, episode by episode in order.

    Args:
        episodes: Each with at least one step.
        penalize_inadmissible: Whether a well-formed action that is not on the list
            counts as invalid too.
        reward_penalty: float64 [number of steps], taken from each step's reward.
    """
    rows = [
        (episode, index, step)
        for episode in episodes
        for index, step in enumerate(episode.steps)
    ]
    reward = np.array([step.reward for _, _, step in rows], np.float64)
    return StepTable.from_columns(
        group=[episode.group_id for episode, _, _ in rows],
        trajectory=[episode.episode_id for episode, _, _ in rows],
        step=np.array([index for _, index, _ in rows], np.int64),
        state_key=[step.state_key for _, _, step in rows],
        reward=reward if reward_penalty is None else reward - reward_penalty,
        valid=np.array(
            [
                step.is_valid and (step.is_admissible or not penalize_inadmissible)
                for _, _, step in rows
            ],
            bool,
        ),
        success=np.array([episode.success for episode, _, _ in rows], bool),
    )
