"""Settings: sections, refusals, presets, names."""

import pytest
from ray.tune.registry import get_trainable_cls

from rllib_gigpo import GiGPO, GiGPOConfig
from rllib_gigpo.algorithms import presets
from rllib_gigpo.algorithms.registration import NAMES


def config(**training: object) -> GiGPOConfig:
    return (
        GiGPOConfig()
        .environment("Household-v0")
        .llm(model_name_or_path="some/model")
        .training(**training)
    )


def test_defaults_are_the_papers() -> None:
    c = GiGPOConfig()
    assert (c.group_size, c.groups_per_iteration, c.gamma, c.step_weight) == (
        8,
        16,
        0.95,
        1.0,
    )
    assert (c.lr, c.clip_low, c.clip_high, c.kl_coeff) == (1e-6, 0.2, 0.2, 0.01)
    assert (c.max_prompt_tokens, c.max_response_tokens) == (2048, 512)


def test_a_valid_configuration_passes() -> None:
    config().validate()


def test_the_kl_is_in_the_loss_or_in_the_reward_never_in_both() -> None:
    assert config(kl_coeff=0.3).loss_config.kl_coeff == 0.3
    moved = config(kl_coeff=0.3, kl_placement="reward", kl_estimator="k1")
    moved.validate()
    assert moved.loss_config.kl_coeff == 0.0


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"group_size": 1}, "at least 2"),
        ({"groups_per_iteration": 0}, "at least 1"),
        ({"estimator": "gigop"}, "did you mean 'gigpo'"),
        ({"loss_aggregation": "token_mean"}, "did you mean 'token-mean'"),
        ({"loss_aggregation": "sequence-sum-constant"}, "loss_constant"),
        ({"policy_ratio": "sequence"}, "clip_low=3e-4"),
        ({"kl_estimator": "k1"}, "no gradient in expectation"),
        ({"kl_coeff": -0.1}, "kl_coeff=-0.1 must be >= 0"),
        ({"kl_placement": "rewards"}, "did you mean 'reward'"),
        ({"kl_placement": "reward", "kl_coeff": 0.0}, "set kl_coeff"),
        ({"kl_placement": "reward", "kl_coeff": -0.1}, "must be >= 0"),
        ({"kl_placement": "reward", "kl_estimator": "k2"}, "is for the loss"),
        ({"dual_clip": 0.5}, "dual_clip=0.5 must be above 1"),
        ({"similarity": 2.0}, "similarity=2.0"),
        ({"invalid_penalty_placement": "official"}, 'episode_unit="step"'),
        ({"lr_schedule": "cosine"}, "lr_total_steps"),
        ({"gamma": 1.5}, r"\[0, 1\]"),
    ],
)
def test_impossible_settings_are_refused_with_advice(
    training: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        config(**training).validate()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_epochs", 0),
        ("num_minibatches", 0),
        ("max_tokens_per_micro_batch", 0),
        ("groups_per_iteration", 1.5),
        ("group_size", "8"),
        ("num_envs_per_env_runner", 0),
        ("max_batch_size", 0),
        ("max_episode_steps", 0),
        ("env_timeout_s", 0.0),
        ("evaluation_num_tasks", 0),
        ("evaluation_episodes_per_task", 0),
        ("evaluation_temperature", -1.0),
        ("lr", -1e-6),
        ("lr", float("nan")),
        ("lr", [[0, 1e-6], [100, 0.0]]),
        ("weight_decay", -0.1),
        ("entropy_coeff", float("nan")),
        ("temperature", float("nan")),
        ("seed", -1),
        ("engine", "hf"),
        ("old_logprobs", "now"),
        ("lr_schedule", "cos"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(
    name: str, value: object
) -> None:
    # As --config sets them, past the checks of RLlib's sections.
    with pytest.raises(ValueError, match=rf"{name}="):
        config().update_from_dict({name: value}).validate()


def test_a_missing_model_is_refused_with_the_command_that_makes_one() -> None:
    with pytest.raises(ValueError, match="rllib-gigpo warm-start"):
        GiGPOConfig().environment("Household-v0").validate()


def test_greedy_training_is_refused() -> None:
    with pytest.raises(ValueError, match="sampled responses"):
        config().inference(temperature=0.0).validate()


def test_a_learner_with_two_gpus_is_refused() -> None:
    with pytest.raises(ValueError, match="num_learners"):
        config().learners(num_gpus_per_learner=2).validate()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_resolves_through_rllibs_registry(name: str) -> None:
    algorithm = get_trainable_cls(name)
    assert issubclass(algorithm, GiGPO)
    default = algorithm.get_default_config()
    assert default.algo_class is algorithm
    default.llm(model_name_or_path="m").environment("Household-v0").validate()


def test_presets_differ_where_their_papers_do() -> None:
    assert presets.GRPOConfig().estimator == "grpo"
    assert presets.RLOOConfig().normalize == "none"
    assert presets.DAPOConfig().dynamic_sampling
    assert presets.DrGRPOConfig().loss_aggregation == "sequence-sum-constant"
    assert presets.GSPOConfig().policy_ratio == "sequence"
    assert presets.ReinforcePlusPlusConfig().estimator == "reinforce_plus_plus"


def test_rarer_credit_options_reach_credit_assignment() -> None:
    config = GiGPOConfig().training(
        credit_options={"lone_episode": "raw", "hgpo": {}}, gamma=0.9
    )
    assert config.credit_config.lone_episode == "raw"
    assert config.credit_config.gamma == 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lone_episodes": "raw"}, "did you mean 'lone_episode'"),
        ({"gamma": 0.5}, r"\.training\(gamma="),
        ({"ddof": 7}, "ddof"),
    ],
)
def test_wrong_credit_options_are_refused(
    options: dict[str, object], message: str
) -> None:
    config = GiGPOConfig().training(credit_options=options)
    with pytest.raises(ValueError, match=message):
        config.validate()
