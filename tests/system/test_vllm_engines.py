"""The whole loop with generation in vLLM engine actors."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import ray
from ray.rllib.core import DEFAULT_MODULE_ID

from rllib_gigpo import GiGPO, GiGPOConfig
from tests.inference.vllm_fixtures import (
    greedy_tokens,
    load_reference,
    make_prompt,
    make_request,
    needs_vllm,
    save_vllm_model,
)

pytestmark = [pytest.mark.vllm, needs_vllm]

MakeConfig = Callable[..., GiGPOConfig]


@pytest.fixture(scope="module")
def vllm_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_vllm_model(tmp_path_factory.mktemp("vllm_model"))


@pytest.fixture
def make_vllm_config(make_config: MakeConfig, vllm_model: Path) -> MakeConfig:
    def make(**settings: object) -> GiGPOConfig:
        return (
            make_config(**settings)
            .llm(model_name_or_path=str(vllm_model))
            .inference(
                engine="vllm",
                num_engines=2,
                engine_kwargs={"kv_cache_memory_bytes": 1 << 26},
            )
        )

    return make


@pytest.fixture
def algorithm(make_vllm_config: MakeConfig) -> Iterator[GiGPO]:
    algorithm = make_vllm_config(num_env_runners=1).build_algo()
    yield algorithm
    algorithm.stop()


def test_two_engines_train_stay_exact_and_are_replaced(
    algorithm: GiGPO, tmp_path: Path
) -> None:
    """One story, since starting engines costs more than all the rest of it."""
    _check_an_iteration(algorithm)
    _check_greedy_equals_transformers(algorithm, tmp_path)


def _check_an_iteration(algorithm: GiGPO) -> None:
    for _ in range(3):
        result = algorithm.train()
        sampled = result["env_runners"]
        learned = result["learners"][DEFAULT_MODULE_ID]
        assert sampled["num_episodes"] == 24
        assert sampled["num_failed_episodes"] == 0
        # Of the size of the update if weights came too late or prefixes were stale.
        assert learned["engine_drift_max"] < 1e-4
        assert learned["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-5)
    assert sampled["cached_prompt_fraction"] >= 0.0
    assert result["engines"]["num_engines"] == 2
    assert result["engines"]["num_restarts_lifetime"] == 0


def _check_greedy_equals_transformers(algorithm: GiGPO, folder: Path) -> None:
    """After updates, prefix cache on, against the model as a checkpoint has it."""
    (module,) = algorithm.learner_group.foreach_learner(
        lambda learner: learner.module[DEFAULT_MODULE_ID].unwrapped().model
    )
    module.get().save_pretrained(folder)
    reference = load_reference(folder)
    requests = [make_request(str(n), make_prompt(40, seed=n)) for n in range(3)]
    for actor in algorithm.engine_group.actors:
        for _ in range(2):
            for request in requests:
                completion = ray.get(actor.probe.remote(request))
                tokens, logprobs = greedy_tokens(reference, request)
                assert completion.token_ids.tolist() == tokens
                np.testing.assert_allclose(completion.logprobs, logprobs, atol=1e-4)
                assert completion.policy_version == algorithm.policy_version == 3
        assert completion.num_cached_tokens == 32
