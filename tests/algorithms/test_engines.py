"""What can be said about engines before any is started."""

from pathlib import Path

import pytest

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.algorithms import resources
from rllib_gigpo.algorithms.engines import (
    check_head_size,
    vllm_settings,
    weight_transport,
)
from rllib_gigpo.errors import ConfigError
from tests.corridor_model import save_corridor_model
from tests.inference.vllm_fixtures import save_vllm_model


def test_heads_that_vllm_cannot_compute_on_a_cpu_are_refused(tmp_path: Path) -> None:
    small = save_corridor_model(tmp_path / "small")
    with pytest.raises(ConfigError, match=r"heads of 8.*takes 32, 64"):
        check_head_size(GiGPOConfig().llm(model_name_or_path=str(small)))
    fitting = save_vllm_model(tmp_path / "fitting")
    check_head_size(GiGPOConfig().llm(model_name_or_path=str(fitting)))


SHARED = {"colocate": True, "num_gpus_per_engine": 0.5}


def config(*, gpus_per_learner: float = 0.0, **inference: object) -> GiGPOConfig:
    return (
        GiGPOConfig()
        .environment("Household-v0")
        .llm(model_name_or_path="some/model")
        .learners(num_gpus_per_learner=gpus_per_learner)
        .inference(**inference)
    )


@pytest.mark.parametrize(
    ("settings", "transport"),
    [
        ({"gpus_per_learner": 1}, "nccl"),
        ({"gpus_per_learner": 1, "tensor_parallel_size": 2}, "nccl"),
        ({"gpus_per_learner": 0.5} | SHARED, "ipc"),
        ({"gpus_per_learner": 0}, "object_store"),
        # Two ranks of NCCL must not share a GPU.
        ({"gpus_per_learner": 1, "num_gpus_per_engine": 0.5}, "object_store"),
        ({"gpus_per_learner": 1, "weight_transport": "object_store"}, "object_store"),
    ],
)
def test_weights_take_the_fastest_way_there_is(
    settings: dict[str, object], transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = config(**settings)
    c.validate()
    assert weight_transport(c) == "object_store"  # Without a GPU.
    assert not vllm_settings(c).sleep_mode
    monkeypatch.setattr(resources, "has_gpu", lambda: True)
    assert weight_transport(c) == transport
    settings_of_engine = vllm_settings(c)
    assert settings_of_engine.sleep_mode == c.colocate
    assert settings_of_engine.weight_transfer == (
        None if transport == "object_store" else transport
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SHARED | {"num_engines": 2}, "one engine and one learner share one GPU"),
        (SHARED | {"gpus_per_learner": 1}, "parts of one GPU"),
        (SHARED | {"weight_transport": "nccl"}, "two processes on one GPU"),
        ({"weight_transport": "ipc"}, "use colocate=True"),
        ({"weight_transport": "ncll"}, "did you mean 'nccl'"),
    ],
)
def test_what_gpus_cannot_do_is_refused(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        config(**settings).validate()


def test_an_engine_that_sleeps_cannot_sample_ahead() -> None:
    c = config(**SHARED).training(max_policy_lag=1).env_runners(num_env_runners=1)
    with pytest.raises(ValueError, match="sleeps then"):
        c.validate()
