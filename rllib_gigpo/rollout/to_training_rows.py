"""Episodes and their advantages to the rows that train, in the step table's order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rllib_gigpo.inference.engine import FinishReason
from rllib_gigpo.learning.rows import TrainingRows
from rllib_gigpo.rollout.records import EpisodeRecord


def to_training_rows(
    episodes: Sequence[EpisodeRecord],
    advantage: NDArray[np.float64],
    *,
    train_length_stopped: bool = True,
) -> TrainingRows:
    """One training row per step.

    Args:
        episodes: As given to ``to_step_table``.
        advantage: float64 [number of steps], in that table's order.
        train_length_stopped: Whether responses cut by their token limit train; if not
            they keep their place but have weight 0.

    Raises:
        ValueError: There are not as many advantages as steps.
    """
    steps = [step for episode in episodes for step in episode.steps]
    if len(advantage) != len(steps):
        raise ValueError(f"{len(advantage)} advantages for {len(steps)} steps")
    trains = [
        train_length_stopped or step.finish_reason is not FinishReason.LENGTH
        for step in steps
    ]
    return TrainingRows(
        prompt_ids=[step.prompt_ids for step in steps],
        response_ids=[step.response_ids for step in steps],
        sampled_logprobs=[step.sampled_logprobs for step in steps],
        advantage=np.asarray(advantage, np.float64),
        trajectory=np.repeat(
            np.arange(len(episodes)), [len(episode.steps) for episode in episodes]
        ),
        policy_version=np.array([step.policy_version for step in steps], np.int64),
        loss_weight=np.array(trains, np.float64),
    )
