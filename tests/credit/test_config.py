"""The options of credit assignment, one by one, and those that are refused."""

import numpy as np
import pytest

from rllib_gigpo.credit import (
    CreditConfig,
    GraphGPOOptions,
    HGPOOptions,
    StepTable,
    assign_credit,
)
from rllib_gigpo.errors import ConfigError, CreditError
from tests.credit.tables import final_reward, one_step_episodes, table_of


def step_advantage(groups, **settings):
    return assign_credit(table_of(groups), CreditConfig(**settings)).step_advantage


def test_defaults_are_the_papers():
    config = CreditConfig()
    assert (config.estimator, config.gamma, config.step_weight) == ("gigpo", 0.95, 1.0)
    assert (config.normalize, config.episode_unit) == ("std", "trajectory")
    assert (config.ddof, config.epsilon, config.similarity) == (1, 1e-6, None)
    assert (config.lone_episode, config.lone_step) == ("zero", "zero")
    assert config.revisits == "all"


@pytest.mark.parametrize(("ddof", "std"), [(1, 5.0), (0, (50 / 3) ** 0.5)])
def test_ddof_of_three_values(ddof, std):
    table = table_of({"g": one_step_episodes([10.0, 5.0, 0.0])})
    credit = assign_credit(table, CreditConfig(ddof=ddof, epsilon=0.0))
    for part in (credit.episode_advantage, credit.step_advantage):
        np.testing.assert_allclose(part, np.array([5.0, 0.0, -5.0]) / std, rtol=1e-12)


def test_epsilon_is_added_to_the_std():
    table = table_of({"g": one_step_episodes([10.0, 5.0, 0.0])})
    credit = assign_credit(table, CreditConfig(epsilon=5.0))
    np.testing.assert_allclose(credit.episode_advantage, [0.5, 0.0, -0.5], rtol=1e-12)


@pytest.mark.parametrize("episode_unit", ["trajectory", "step"])
def test_lone_trajectory_of_several_rows_gets_zero_in_both_units(episode_unit):
    table = table_of({"g": [final_reward("abc", 10.0)]})
    credit = assign_credit(table, CreditConfig(episode_unit=episode_unit))
    assert credit.advantage.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("episode_unit", "expected"), [("trajectory", 10.0), ("step", 0.0)]
)
def test_official_rule_counts_rows_of_a_lone_trajectory_in_the_step_unit(
    episode_unit, expected
):
    table = table_of({"g": [final_reward("abc", 10.0)]})
    config = CreditConfig(episode_unit=episode_unit, lone_episode="raw")
    assert assign_credit(table, config).episode_advantage.tolist() == [expected] * 3


def test_lone_step_raw_gets_its_step_return():
    groups = {"g": [final_reward("ab", 10.0), final_reward("ac", 0.0)]}
    actual = step_advantage(groups, lone_step="raw", gamma=0.5, normalize="none")
    assert actual.tolist() == [2.5, 10.0, -2.5, 0.0]


def test_first_visits_are_compared_and_later_ones_get_zero():
    # "s": returns at gamma 1 are 3, 2 (a revisit), 0 and 1. First visits: 3, 0, 1.
    groups = {"g": [[("s", 1.0), ("s", 2.0)], [("s", 0.0)], [("s", 1.0)]]}
    first = step_advantage(groups, revisits="first", gamma=1.0, normalize="none")
    np.testing.assert_allclose(first, [5 / 3, 0.0, -4 / 3, -1 / 3], atol=1e-12)
    every = step_advantage(groups, revisits="all", gamma=1.0, normalize="none")
    np.testing.assert_allclose(every, [1.5, 0.5, -1.5, -0.5], atol=1e-12)


def test_first_visit_is_first_in_steps_not_in_rows():
    table = StepTable.from_columns(
        group=["g"] * 3,
        trajectory=["x", "x", "y"],
        step=[1, 0, 0],
        state_key=["s"] * 3,
        reward=[4.0, 0.0, 0.0],
    )
    config = CreditConfig(revisits="first", gamma=0.5, normalize="none")
    assert assign_credit(table, config).step_advantage.tolist() == [0.0, 1.0, -1.0]


def test_thin_anchor_groups_can_count_as_lone():
    # One lucky step of two at "thin", one of eight at "thick".
    groups = {
        "g": [
            *one_step_episodes([10.0, 0.0], "thin"),
            *one_step_episodes([10.0] + [0.0] * 7, "thick"),
        ]
    }
    every = step_advantage(groups)
    assert every[0] == pytest.approx(0.7071, abs=1e-4)
    thick_only = step_advantage(groups, min_anchor_group_size=3)
    assert thick_only[:2].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(thick_only[2:], every[2:])
    # However lucky, a step gets no more than (n - 1) / sqrt(n) standard deviations.
    assert every[2] == pytest.approx(7 / 8**0.5, abs=1e-4)


def test_penalty_comes_off_the_invalid_row_alone():
    groups = {"g": [[("s", 10.0), ("t", 0.0, False)], [("s", 0.0), ("t", 0.0)]]}
    plain = assign_credit(table_of(groups))
    credit = assign_credit(table_of(groups), CreditConfig(invalid_penalty=0.1))
    np.testing.assert_array_equal(credit.episode_advantage, plain.episode_advantage)
    np.testing.assert_array_equal(credit.step_advantage, plain.step_advantage)
    assert credit.penalty.tolist() == [0.0, 0.1, 0.0, 0.0]
    np.testing.assert_allclose(credit.advantage - plain.advantage, [0, -0.1, 0, 0])


def test_official_penalty_is_not_discounted_back_to_earlier_steps():
    groups = {"g": [[("s", 0.0), ("t", 0.0, False)], [("s", 0.0), ("t", 0.0)]]}
    actual = step_advantage(
        groups,
        normalize="none",
        episode_unit="step",
        invalid_penalty=0.2,
        invalid_penalty_placement="official",
    )
    np.testing.assert_allclose(actual, [0.0, -0.1, 0.0, 0.1], atol=1e-12)


def test_similarity_joins_texts_of_one_group_only():
    a, b = "the red door is shut", "the red door is open"
    groups = {"x": [[(a, 4.0)], [(b, 0.0)]], "y": [[(a, 4.0)], [(b, 4.0)]]}
    apart = step_advantage(groups, normalize="none")
    assert apart.tolist() == [0.0] * 4
    joined = step_advantage(groups, normalize="none", similarity=0.7)
    assert joined.tolist() == [2.0, -2.0, 0.0, 0.0]


@pytest.mark.parametrize("texts", [("tide", "diet"), ("diet", "tide")])
def test_components_are_the_same_where_the_ratio_depends_on_the_order(texts):
    # Python's ratio is 0.25 one way round and 0.5 the other, in sorted order.
    groups = {"g": [[(text, 0.0)] for text in texts]}
    config = CreditConfig(similarity=0.4, similarity_method="components")
    assert assign_credit(table_of(groups), config).anchor_group.tolist() == [0, 0]


def test_similarity_of_keys_that_are_no_texts_is_refused():
    table = table_of({"g": [[("text", 0.0)], [(7, 0.0)]]})
    with pytest.raises(CreditError, match=r"row 1: similarity compares texts.* int"):
        assign_credit(table, CreditConfig(similarity=0.9))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"normalize": "sdt"}, "normalize='sdt' .*did you mean 'std'"),
        ({"episode_unit": "trajectories"}, "did you mean 'trajectory'"),
        ({"similarity_method": "firstfit"}, "did you mean 'first_fit'"),
        ({"lone_episode": "zeros"}, "did you mean 'zero'"),
        ({"revisits": "frist"}, "did you mean 'first'"),
        ({"invalid_penalty_placement": "oficial"}, "did you mean 'official'"),
        ({"gamma": 1.5}, r"gamma=1.5 must be a finite number in \[0.0, 1.0\]"),
        ({"gamma": float("nan")}, "gamma=nan"),
        ({"gamma": "0.9"}, "gamma='0.9' must be a finite number"),
        ({"step_weight": -1.0}, "step_weight=-1.0"),
        ({"similarity": 0.0}, "similarity=0.0"),
        ({"epsilon": -1e-6}, "epsilon"),
        ({"ddof": 2}, r"ddof=2 must be 0 \(population std\) or 1"),
        ({"min_anchor_group_size": 1}, "min_anchor_group_size=1 .* at least 2"),
        ({"invalid_penalty": -0.1}, "invalid_penalty=-0.1"),
        ({"hgpo": {"history": 4}}, r"hgpo is a dict; it must be HGPOOptions\(...\)"),
        ({"graphgpo": HGPOOptions()}, "it must be GraphGPOOptions"),
        (
            {"invalid_penalty": 0.1, "invalid_penalty_placement": "official"},
            'set episode_unit="step" or invalid_penalty_placement="anchor"',
        ),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(ConfigError, match=match):
        CreditConfig(**settings)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (HGPOOptions, {"history": 1.5}),
        (HGPOOptions, {"history": -1}),
        (HGPOOptions, {"weight_exponent": -1.0}),
        (HGPOOptions, {"level_weights": "code"}),
        (HGPOOptions, {"ddof": 3}),
        (GraphGPOOptions, {"gamma": 0.0}),
        (GraphGPOOptions, {"success_reward": float("inf")}),
    ],
)
def test_wrong_options_of_an_estimator_are_refused(options, settings):
    (name,) = settings
    with pytest.raises(ConfigError, match=name):
        options(**settings)


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(TypeError, match="'gama'"):
        CreditConfig(gama=0.9)
