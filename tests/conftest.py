"""One Ray for all tests that need it, a tiny model, a configuration to vary."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ray

from rllib_gigpo import GiGPOConfig
from tests.corridor_model import save_corridor_model
from tests.fakes import CorridorEnv


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    ray.init(num_cpus=6, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def corridor_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_corridor_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def make_config(ray_session: None, corridor_model: Path) -> Callable[..., GiGPOConfig]:
    def make(
        *, num_env_runners: int = 0, num_learners: int = 0, **training: object
    ) -> GiGPOConfig:
        settings = {
            "group_size": 6,
            "groups_per_iteration": 4,
            "lr": 3e-3,
            "kl_coeff": 0.0,
            "max_tokens_per_micro_batch": 1024,
        }
        return (
            GiGPOConfig()
            .environment(CorridorEnv, env_config={"length": 2, "max_steps": 4})
            .llm(
                model_name_or_path=str(corridor_model),
                dtype="float32",
                max_prompt_tokens=60,
                max_response_tokens=3,
            )
            .training(**settings | training)
            .inference(engine="transformers")
            .env_runners(num_env_runners=num_env_runners, num_envs_per_env_runner=12)
            .learners(num_learners=num_learners)
            .evaluation(evaluation_temperature=0.0)
            .debugging(seed=3)
        )

    return make
