"""Engines as part of what Tune reserves for a trial."""

from collections.abc import Callable
from pathlib import Path

import pytest
import ray
from ray import tune
from ray.util import placement_group_table

from rllib_gigpo import GiGPO, GiGPOConfig
from tests.inference.vllm_fixtures import needs_vllm, save_vllm_model
from tests.processes import wait_until

MakeConfig = Callable[..., GiGPOConfig]


def vllm_config(make_config: MakeConfig, num_engines: int) -> GiGPOConfig:
    return (
        make_config(num_env_runners=1)
        .inference(
            engine="vllm",
            num_engines=num_engines,
            engine_kwargs={"kv_cache_memory_bytes": 1 << 26},
        )
        .resources(num_cpus_for_main_process=1)
    )


def test_engine_bundles_come_last(make_config: MakeConfig) -> None:
    config = vllm_config(make_config, num_engines=3)
    config.inference(num_cpus_per_engine=2)
    request = GiGPO.default_resource_request(config)
    assert request.bundles[-3:] == [{"CPU": 2.0}] * 3
    config.inference(engine="transformers")
    assert GiGPO.default_resource_request(config).bundles == request.bundles[:-3]


@pytest.mark.vllm
@needs_vllm
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_concurrent_trials_reserve_and_release_their_engines(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    """Six CPUs: each trial takes three, one of them for its engine."""
    config = vllm_config(make_config, num_engines=1)
    config.llm(model_name_or_path=str(save_vllm_model(tmp_path / "model")))
    config.training(lr=tune.grid_search([1e-3, 2e-3]))
    num_groups_before = len(placement_group_table())
    results = tune.Tuner(
        GiGPO,
        param_space=config,
        run_config=tune.RunConfig(
            stop={"training_iteration": 2},
            storage_path=str(tmp_path / "results"),
            verbose=0,
        ),
    ).fit()
    assert not results.errors
    assert len(results) == 2
    for result in results:
        assert result.metrics["engines"]["num_engines"] == 1
        assert result.metrics["env_runners"]["num_failed_episodes"] == 0
    # One group a trial: the engines sit in their trial's, not in groups of their own.
    assert len(placement_group_table()) == num_groups_before + 2
    assert all(g["state"] == "REMOVED" for g in placement_group_table().values())
    num_cpus = ray.cluster_resources()["CPU"]
    wait_until(lambda: ray.available_resources()["CPU"] == num_cpus)
