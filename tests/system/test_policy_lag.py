"""One-step-off sampling, through the whole loop."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ray.rllib.core import DEFAULT_MODULE_ID

from rllib_gigpo import GiGPO, GiGPOConfig

MakeConfig = Callable[..., GiGPOConfig]


def test_lag_needs_runners_of_their_own(make_config: MakeConfig) -> None:
    config = make_config(max_policy_lag=1)
    with pytest.raises(ValueError, match="num_env_runners=1"):
        config.validate()


def test_samples_are_one_update_old_corrected_and_never_lost(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    algorithm = make_config(num_env_runners=1, max_policy_lag=1).build_algo()
    lags, drifts = [], []
    for _ in range(3):
        result = algorithm.train()
        lags.append(result["env_runners"]["policy_lag_max"])
        drifts.append(result["learners"][DEFAULT_MODULE_ID]["engine_drift_max"])
    assert lags == [0, 1, 1]
    # The engine's logprobs are those of older weights, which is what gets corrected.
    assert drifts[0] < 1e-5 < drifts[1]
    assert algorithm.config.resolved_importance_cap == 2.0
    # The fourth batch is sampled already; a restored run samples it again.
    assert algorithm._task_sampler.num_drawn == 16
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    algorithm.stop()
    restored = GiGPO.from_checkpoint(path)
    assert restored._task_sampler.num_drawn == 12
    assert restored.train()["env_runners"]["policy_lag_max"] == 0
    restored.stop()
