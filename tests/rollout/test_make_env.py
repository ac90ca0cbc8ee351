"""Environments by class, dotted path, Gymnasium id and Tune's registry."""

import pytest
from ray.tune import register_env

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.rollout.make_env import make_text_env
from tests.fakes import CorridorEnv


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    register_env("corridor-for-tune", lambda context: CorridorEnv(**context))
    register_env("not-an-env", lambda context: 3)


@pytest.mark.parametrize(
    "env", [CorridorEnv, "tests.fakes.CorridorEnv", "corridor-for-tune"]
)
def test_every_way_to_name_an_environment_makes_it(env: str | type) -> None:
    made = make_text_env(env, {"length": 7})
    assert isinstance(made, CorridorEnv)
    assert made.length == 7


def test_gymnasiums_module_prefix_is_no_dotted_path() -> None:
    made = make_text_env("environments.cards:Blackjack-v0", {})
    assert type(made).__name__ == "BlackjackEnv"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("tests.fakes.CoridorEnv", "tests.fakes has no 'CoridorEnv'"),
        ("tests.fake.CorridorEnv", "No module named 'tests.fake'"),
        ("nowhere.fakes.CorridorEnv", "No module named 'nowhere'"),
        ("Nowhere-v0", "register it"),
        ("not-an-env", "is a int, not an"),
        ("CartPole-v1", "is a CartPoleEnv, not an"),
    ],
)
def test_what_is_no_text_environment_is_refused(env: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_text_env(env, {})
