"""Engines that die, stall or freeze, with real actors around a fake engine."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import ray
import torch

from rllib_gigpo import GiGPO, GiGPOConfig
from rllib_gigpo.errors import EngineError
from rllib_gigpo.inference import engine_group
from rllib_gigpo.inference.engine import Completion
from rllib_gigpo.inference.engine_client import EngineClient
from rllib_gigpo.inference.engine_group import EngineGroup
from rllib_gigpo.inference.vllm_settings import VLLMSettings
from tests.inference.fake_engine_actor import FakeEngineActor, plan_faults
from tests.inference.vllm_fixtures import (
    make_prompt,
    make_request,
    needs_vllm,
    save_vllm_model,
)
from tests.processes import wait_until


@pytest.fixture(autouse=True)
def actors_are_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_group, "EngineActor", FakeEngineActor)


@contextmanager
def started(
    folder: Path,
    *,
    num_engines: int = 1,
    max_num_restarts: int = 10,
    stall_timeout_s: float = 60.0,
) -> Iterator[EngineGroup]:
    engines = EngineGroup(
        VLLMSettings(model=str(folder), max_model_len=128),
        num_engines=num_engines,
        resources={"CPU": 1.0},
        max_num_restarts=max_num_restarts,
        stall_timeout_s=stall_timeout_s,
    )
    try:
        engines.load_weights(ray.put({"weight": torch.zeros(1)}), 3)
        yield engines
    finally:
        engines.shutdown()


def complete(
    engines: EngineGroup, num_requests: int = 4, **settings: float
) -> list[Completion]:
    client = EngineClient(engines.actor_names, **settings)

    async def gather() -> list[Completion]:
        requests = [make_request(str(n), make_prompt(5)) for n in range(num_requests)]
        return await asyncio.gather(*(client.generate(r) for r in requests))

    return asyncio.run(gather())


@pytest.mark.parametrize(
    "fault", ["die", pytest.param("break", marks=pytest.mark.slow)]
)
def test_a_lone_engine_that_fails_is_replaced_and_its_requests_complete(
    ray_session: None, tmp_path: Path, fault: str
) -> None:
    with started(tmp_path) as engines:
        (first,) = engines.actors
        plan_faults(tmp_path, fault, 1)
        completions = complete(engines)
        assert sorted(c.request_id for c in completions) == ["0", "1", "2", "3"]
        # With the weights of the last sync, not with those on disk.
        assert {c.policy_version for c in completions} == {3}
        assert engines.actors != [first]
        assert engines.metrics()["num_restarts_lifetime"] == 1
        engines.check()


@pytest.mark.slow
def test_an_engine_that_ends_no_step_any_more_is_replaced(
    ray_session: None, tmp_path: Path
) -> None:
    with started(tmp_path, stall_timeout_s=1.0) as engines:
        plan_faults(tmp_path, "stall", 1)
        assert len(complete(engines)) == 4
        (failure,) = engines.failures
        assert "has not ended a step for 1 s" in failure.reason


@pytest.mark.slow
def test_a_process_that_does_not_answer_any_more_is_replaced(
    ray_session: None, tmp_path: Path
) -> None:
    with started(tmp_path, stall_timeout_s=3.0) as engines:
        plan_faults(tmp_path, "freeze", 1)
        assert len(complete(engines)) == 4
        assert engines.failures[0].reason == "no answer for 3 s"


@pytest.mark.slow
def test_more_deaths_than_allowed_are_the_end_with_the_reason(
    ray_session: None, tmp_path: Path
) -> None:
    with started(tmp_path, max_num_restarts=1) as engines:
        plan_faults(tmp_path, "die", 100)
        with pytest.raises(EngineError, match="engines"):
            complete(engines, 1, replacement_timeout_s=3.0)
        with pytest.raises(
            EngineError, match=r"failed 2 times.*max_num_engine_restarts=1 allows"
        ):
            engines.check()


@pytest.mark.slow
def test_weights_that_cannot_be_fetched_are_the_end_with_the_reason(
    ray_session: None, tmp_path: Path
) -> None:
    def fetch() -> ray.ObjectRef:
        raise RuntimeError("the learner is gone")

    with started(tmp_path) as engines:
        engines.expect_weights(fetch, 4)
        plan_faults(tmp_path, "die", 1)
        with pytest.raises(EngineError):
            complete(engines, 1, replacement_timeout_s=3.0)
        wait_until(lambda: len(engines.failures) == 2)
        with pytest.raises(EngineError, match=r"replaced.*the learner is gone"):
            engines.check()


@pytest.mark.slow
def test_all_are_replaced_at_once_with_the_weights_to_expect(
    ray_session: None, tmp_path: Path
) -> None:
    with started(tmp_path, num_engines=2) as engines:
        before = engines.actors
        weights = ray.put({"weight": torch.ones(1)})
        engines.expect_weights(lambda: weights, 8)
        engines.replace_all("for a test")
        assert not set(before) & set(engines.actors)
        assert {c.policy_version for c in complete(engines)} == {8}
        assert [f.reason for f in engines.failures] == ["for a test"] * 2


def test_a_paused_engine_starts_requests_when_resumed(
    ray_session: None, tmp_path: Path
) -> None:
    with started(tmp_path) as engines:
        (actor,) = engines.actors
        engines.call_all("pause")
        submitted = actor.submit.remote("client", [make_request("x", make_prompt(5))])
        taken = actor.take.remote("client")
        assert ray.wait([taken], timeout=0.5)[0] == []
        engines.call_all("resume")
        ray.get(submitted)
        (completion,) = ray.get(taken)
        assert completion.request_id == "x"


@needs_vllm
def test_a_run_whose_engine_keeps_dying_stops_with_the_reason(
    make_config: Callable[..., GiGPOConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = save_vllm_model(tmp_path)
    defaults = EngineClient.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "replacement_timeout_s", 3.0)
    config = make_config().llm(model_name_or_path=str(folder))
    config.inference(engine="vllm", max_num_engine_restarts=0)
    algorithm: GiGPO = config.build_algo()
    try:
        plan_faults(folder, "die", 100)
        with pytest.raises(EngineError, match="max_num_engine_restarts=0 allows"):
            algorithm.train()
    finally:
        algorithm.stop()
