"""An expert finds its way from wherever random commands have led."""

from __future__ import annotations

import numpy as np
import pytest

from environments.household.env import HouseholdEnv


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_the_exploring_expert_recovers_from_random_commands(size: str) -> None:
    env = HouseholdEnv(size=size, max_episode_steps=400)
    for number, task in enumerate(env.tasks("train")[:90]):
        rng = np.random.default_rng([7, number])
        _, info = env.reset(seed=number, options={"task": task})
        expert = env.expert()
        is_over = False
        while not is_over:
            action = expert.next_action().action
            if rng.random() < 0.4:
                offered = info["admissible_actions"]
                assert offered is not None
                action = offered[int(rng.integers(len(offered)))]
            _, _, terminated, truncated, info = env.step(action)
            is_over = terminated or truncated
        assert info["success"], task
