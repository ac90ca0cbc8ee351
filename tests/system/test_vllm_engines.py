"""The whole loop with generation in vLLM engine actors."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import ray
from ray.actor import ActorHandle
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.util import placement_group_table

from rllib_gigpo import GiGPO, GiGPOConfig
from rllib_gigpo.errors import WeightSyncError
from tests.inference.vllm_fixtures import (
    greedy_tokens,
    load_reference,
    make_prompt,
    make_request,
    needs_vllm,
    perturb,
    save_vllm_model,
)
from tests.processes import is_alive, pid_of, wait_until
from tests.slow_corridor import SlowCorridorEnv

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
                verify_weights=True,
                engine_kwargs={"kv_cache_memory_bytes": 1 << 26},
            )
        )

    return make


@contextmanager
def built(config: GiGPOConfig) -> Iterator[GiGPO]:
    algorithm = config.build_algo()
    try:
        yield algorithm
    finally:
        algorithm.stop()


def test_two_engines_train_stay_exact_and_survive_a_kill(
    make_vllm_config: MakeConfig, tmp_path: Path
) -> None:
    """One story, since starting engines costs more than all the rest of it."""
    config = make_vllm_config(num_env_runners=1)
    config.environment(SlowCorridorEnv, env_config={"length": 2, "max_steps": 4})
    with built(config) as algorithm:
        for _ in range(2):
            _check_iteration(algorithm.train())
        _check_greedy_equals_transformers(algorithm, tmp_path / "before")

        pids = [pid_of(actor) for actor in algorithm.engine_group.actors]
        killer = threading.Thread(
            target=kill_when_busy, args=(algorithm.engine_group.actors[0],)
        )
        killer.start()
        result = algorithm.train()
        killer.join()
        assert not is_alive(pids[0])
        _check_iteration(result)
        wait_until(lambda: len(algorithm.engine_group.failures) == 1)
        _check_iteration(algorithm.train())
        _check_greedy_equals_transformers(algorithm, tmp_path / "after")

        _check_that_a_mismatch_is_found(algorithm, tmp_path / "after")

        actors = algorithm.engine_group.actors
        names = algorithm.engine_group.actor_names
        pids += [pid_of(actor) for actor in actors]
        assert len(set(pids)) == 3
    wait_until(lambda: not any(is_alive(pid) for pid in pids))
    for name in names:
        with pytest.raises(ValueError, match="Failed to look up actor"):
            ray.get_actor(name)
    assert no_placement_group_is_left()


def _check_iteration(result: dict) -> None:
    sampled = result["env_runners"]
    learned = result["learners"][DEFAULT_MODULE_ID]
    # Neither lost nor counted twice.
    assert sampled["num_episodes"] == 24
    assert sampled["num_failed_episodes"] == 0
    assert learned["num_rows_trained"] == sampled["num_env_steps_sampled"]
    # Of the size of the update if weights came too late or prefixes were stale.
    assert learned["engine_drift_max"] < 1e-4
    assert learned["policy_ratio_mean"] == pytest.approx(1.0, abs=1e-5)
    assert result["engines"]["num_engines"] == 2


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
            completions = ray.get(actor.probe.remote(requests))
            for request, completion in zip(requests, completions, strict=True):
                tokens, logprobs = greedy_tokens(reference, request)
                assert completion.token_ids.tolist() == tokens
                np.testing.assert_allclose(completion.logprobs, logprobs, atol=1e-4)
                assert completion.policy_version == algorithm.policy_version
        assert completion.num_cached_tokens == 32


def _check_that_a_mismatch_is_found(algorithm: GiGPO, folder: Path) -> None:
    verifier, engines = algorithm._weight_verifier, algorithm.engine_group
    assert verifier.verify(algorithm.learner_group, engines) < 1e-4
    other = ray.put(perturb(load_reference(folder), seed=0))
    first, second = engines.actors
    ray.get(second.load_weights.remote(other, algorithm.policy_version))
    with pytest.raises(WeightSyncError, match="hold different weights"):
        verifier.verify(algorithm.learner_group, engines)
    ray.get(first.load_weights.remote(other, algorithm.policy_version))
    with pytest.raises(WeightSyncError, match="did not change together"):
        verifier.verify(algorithm.learner_group, engines)
    # As at the first sync, with nothing to compare with.
    verifier._before = None
    with pytest.raises(WeightSyncError, match="does not generate with the learner's"):
        verifier.verify(algorithm.learner_group, engines)


def kill_when_busy(actor: ActorHandle) -> None:
    pid = pid_of(actor)
    wait_until(
        lambda: ray.get(actor.__ray_call__.remote(lambda self: len(self._tasks)))
    )
    os.kill(pid, signal.SIGKILL)


def no_placement_group_is_left() -> bool:
    return all(
        group["state"] == "REMOVED" for group in placement_group_table().values()
    )
