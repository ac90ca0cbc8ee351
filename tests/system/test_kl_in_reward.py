"""KL in the reward, through the whole loop."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from ray.rllib.core import DEFAULT_MODULE_ID

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.algorithms.kl_reward import kl_penalty
from rllib_gigpo.learning.learner import GiGPOLearner

MakeConfig = Callable[..., GiGPOConfig]


def move(learner: GiGPOLearner) -> None:
    """The same other weights on every learner; the reference stays."""
    generator = torch.Generator().manual_seed(0)
    for parameter in learner.module[DEFAULT_MODULE_ID].parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data += 0.05 * noise


def test_it_is_0_at_first_and_the_same_for_any_number_of_runners_and_learners(
    make_config: MakeConfig,
) -> None:
    penalties = []
    for num_env_runners, num_learners in ((0, 0), (1, 2)):
        config = make_config(
            num_env_runners=num_env_runners,
            num_learners=num_learners,
            kl_coeff=0.5,
            kl_placement="reward",
            lr=0.0,
        )
        algorithm = config.build_algo()
        algorithm.evaluate()
        # The policy that sampled the first batch is the reference.
        assert algorithm.train()["credit"]["kl_penalty_mean"] == 0.0
        algorithm.learner_group.foreach_learner(move)
        assert algorithm.train()["credit"]["kl_penalty_mean"] != 0.0
        episodes = algorithm.last_evaluation.episodes
        penalty, figures = kl_penalty(algorithm.learner_group, episodes, 0.5)
        penalties.append(penalty)
        algorithm.stop()
    assert np.abs(penalties[0]).max() > 0.01
    assert figures["kl_penalty_mean"] == pytest.approx(penalties[0].mean(), rel=1e-4)
    np.testing.assert_allclose(penalties[0], penalties[1], atol=1e-4)
