"""KL from the initial policy as a part of the reward.

A step's reward becomes

    r - kl_coeff * sum over the response's tokens of (logprob - reference_logprob),

the estimator k1, before anything else is made of rewards: step returns, episode returns
and their statistics all hold it. The sum is the log ratio of the whole response, so the
policy gradient of an episode's return is that of reward minus KL(policy || reference).
Rewards and returns in results stay the environment's.

Danger: with ``normalize="std"`` a group whose environment returns are equal learns from
its KL alone, scaled up to 1 however small it is; ``normalize="none"`` keeps the scale.

Source: Ziegler et al., arXiv 1909.08593, equation 2, for each step of an episode in
place of the one response there. Their tokens get the reward one by one; here a response
has one advantage, so it gets their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from ray.rllib.core.learner.learner_group import LearnerGroup

from rllib_gigpo.learning.reference_kl import reference_kl
from rllib_gigpo.rollout.records import EpisodeRecord
from rllib_gigpo.rollout.to_training_rows import to_training_rows


def kl_penalty(
    learner_group: LearnerGroup, episodes: Sequence[EpisodeRecord], kl_coeff: float
) -> tuple[NDArray[np.float64], dict[str, float]]:
    """What each step's reward loses to its KL, and figures to log.

    Args:
        learner_group: Holds policy and reference.
        episodes: Each with at least one step.
        kl_coeff: > 0.

    Returns:
        float64 [number of steps] in the step table's order, negative where a response
        has become less likely; ``kl_per_token_mean`` in nats and ``kl_penalty_mean``
        per step in units of reward.
    """
    num_steps = sum(len(episode.steps) for episode in episodes)
    rows = to_training_rows(episodes, np.zeros(num_steps))
    kl_R = reference_kl(learner_group, rows)
    num_tokens = sum(len(ids) for ids in rows.response_ids)
    return kl_coeff * kl_R, {
        "kl_per_token_mean": float(kl_R.sum()) / num_tokens,
        "kl_penalty_mean": kl_coeff * float(kl_R.mean()),
    }
