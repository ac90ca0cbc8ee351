"""What is refused before anything starts: names, keys, values, environments."""

import json

import pytest
from ray import tune
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_gigpo import GiGPOConfig
from rllib_gigpo.cli import settings
from rllib_gigpo.cli.train import flat_stop
from rllib_gigpo.errors import ConfigError
from tests.cli.refusals import refusal


def refused_config(
    capsys: pytest.CaptureFixture[str], algorithm: str, **config: object
) -> str:
    return refusal(capsys, "train", "-a", algorithm, "--config", json.dumps(config))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("gigpo", "'GiGPO'"), ("GiPGO", "'GiGPO'"), ("reinforce", "'REINFORCE++'")],
)
def test_an_unknown_algorithm(
    name: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refusal(capsys, "train", "--algo", name, "--env", "CartPole-v1")
    assert f"unknown algorithm '{name}'; did you mean {nearest}?" in sentence
    assert "`rllib algorithms`" in sentence


def test_a_name_that_resembles_nothing_gets_no_hint() -> None:
    assert settings.nearest("zzzzzz", ["GiGPO", "PPO"]) == ""


@pytest.mark.parametrize(
    ("algorithm", "key", "nearest"),
    [
        ("GiGPO", "group_sise", "group_size"),
        ("GiGPO", "groups_per_iter", "groups_per_iteration"),
        ("DAPO", "clip_hi", "clip_high"),
        ("PPO", "train_batch_size_per_leaner", "train_batch_size_per_learner"),
        ("PPO", "group_size", None),
    ],
)
def test_an_unknown_key(
    algorithm: str, key: str, nearest: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused_config(capsys, algorithm, **{key: 4})
    assert sentence.startswith(f"unknown config key '{key}' for {algorithm}")
    if nearest:
        assert sentence.endswith(f"did you mean '{nearest}'?")


def test_an_unknown_key_of_the_evaluation_config(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sentence = refused_config(capsys, "PPO", evaluation_config={"explor": False})
    assert "'evaluation_config/explor'" in sentence and "'explore'" in sentence


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"group_size": 1}, "at least 2"),
        ({"group_size": "8"}, "must be an integer"),
        ({"estimator": "gipgo"}, "'gigpo'"),
        ({}, "warm-start"),
        ({"env_config": 3}, "refuses these settings"),
    ],
)
def test_a_value_that_cannot_work(
    config: dict[str, object], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused_config(capsys, "GiGPO", **config)
    assert says in sentence
    assert "_validate_config" not in sentence


def test_a_value_of_a_type_that_rllib_cannot_compare(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sentence = refused_config(capsys, "PPO", num_learners="two", env="CartPole-v1")
    assert sentence.startswith("a setting of PPO has the wrong type: ")


def test_known_keys_of_every_kind_are_set() -> None:
    config = GiGPOConfig()
    given = {
        "group_size": 4,
        "num_env_runners": 2,
        "lr": 0.5,
        "env_config": {"length": 3},
        "evaluation_config": {"explore": False},
        "num_workers": 3,  # RLlib's older name.
    }
    settings.apply_settings(config, given)
    assert (config.group_size, config.lr) == (4, 0.5)
    assert config.num_env_runners == 3
    assert config.env_config["length"] == 3


def test_presets_keep_their_names() -> None:
    for name in ("GRPO", "DAPO", "PPO"):
        assert settings.algorithm_name(settings.default_config(name)) == name


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ("CartPole-v", "'CartPole-v1'"),
        ("Household-v9", "'Household-v0'"),
        ("cartpole-v1", "'CartPole-v1'"),
        ("ALFWorld", "'ALFWorld-v0'"),
    ],
)
def test_an_unknown_environment(
    env: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refusal(capsys, "train", "-a", "PPO", "--env", env)
    assert f"unknown environment '{env}'" in sentence and says in sentence


@pytest.mark.parametrize(
    "env", ["CartPole-v1", "Household-v0", "tests.fakes.CorridorEnv", None]
)
def test_a_known_environment(env: str | None) -> None:
    settings.check_environment(env)


def test_a_search_space_is_checked_by_tune_alone() -> None:
    config = PPOConfig().environment("CartPole-v1")
    assert not settings.has_search_space(config)
    config.training(lr=tune.grid_search([1.0, 2.0]))
    assert settings.has_search_space(config)
    settings.validate(config)
    sampled = PPOConfig().training(gamma=tune.uniform(0.9, 1.0))
    assert settings.has_search_space(sampled)


def test_a_config_without_an_algorithm() -> None:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    with pytest.raises(ConfigError, match="PPOConfig"):
        settings.algorithm_name(AlgorithmConfig())


def test_stop_criteria_are_joined_as_tune_compares_them() -> None:
    nested = {"training_iteration": 3, "env_runners": {"success_rate": 0.9}}
    assert flat_stop(nested) == {
        "training_iteration": 3,
        "env_runners/success_rate": 0.9,
    }


@pytest.mark.parametrize(
    ("stop", "where"),
    [
        ({"training_iteration": "10"}, "'training_iteration': '10'"),
        ({"env_runners": {"success_rate": [0.9]}}, "'env_runners/success_rate'"),
        ({"done": True}, "'done': True"),
        ({"training_iteration": None}, "None"),
    ],
)
def test_stop_criteria_must_be_numbers(
    stop: dict[str, object], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", "-a", "PPO", "--env", "CartPole-v1", "--stop", json.dumps(stop))
    sentence = refusal(capsys, *words)
    assert where in sentence and sentence.endswith("is not a number")


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("fastest", {}, "must be one of"),
        ("pbt", {}, "hyperparam_mutations"),
        ("pbt", {"hyperparam_mutations": {"lr": [0.1, 0.2]}}, '"mode": "max"'),
        ("AsyncHyperBand", {"max_t": -1, "metric": "a", "mode": "max"}, "not valid"),
        ("AsyncHyperBand", {"metric": "lr"}, "lacks mode"),
        ("AsyncHyperBand", {"grase_period": 3}, "'grace_period'"),
        ("FIFO", {"metric": "lr"}, "has no 'metric'"),
    ],
)
def test_a_scheduler_that_cannot_work(
    name: str,
    config: dict[str, object],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["train", "-a", "PPO", "--env", "CartPole-v1", "--scheduler", name]
    sentence = refusal(capsys, *words, "--scheduler-config", json.dumps(config))
    assert sentence.startswith("--scheduler")
    assert says in sentence
