"""Small cases whose figures the official code gives, or gives wrong where said so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllib_gigpo.credit import CreditConfig, StepTable, assign_credit
from rllib_gigpo.errors import CreditError
from tests.credit.tables import (
    PROPERTY,
    columns_of,
    final_reward,
    one_step_episodes,
    table_of,
)

WIN, LOSS = 10.0, 0.0


def per_episode(table, config):
    """A^E of each trajectory; the same on all its rows."""
    advantage = assign_credit(table, config).episode_advantage
    values = [
        np.unique(advantage[table.trajectory == e])
        for e in range(table.num_trajectories)
    ]
    assert all(len(value) == 1 for value in values)
    return [float(value[0]) for value in values]


def distinct_states(length):
    return [f"s{i}" for i in range(length)]


@pytest.mark.parametrize(
    ("episode_unit", "normalize", "of_win", "of_loss"),
    [
        ("step", "std", 2.2314, -0.4463),
        ("step", "none", 8.3333, -1.6667),
        ("trajectory", "std", 0.9354, -0.9354),
        ("trajectory", "none", 5.0, -5.0),
    ],
)
def test_long_losses_weigh_more_in_the_step_unit_only(
    episode_unit, normalize, of_win, of_loss
):
    wins = [final_reward(distinct_states(10), WIN)] * 4
    losses = [final_reward(distinct_states(50), LOSS)] * 4
    config = CreditConfig(episode_unit=episode_unit, normalize=normalize)
    actual = per_episode(table_of({"task": wins + losses}), config)
    np.testing.assert_allclose(actual, [of_win] * 4 + [of_loss] * 4, atol=1e-4)


@pytest.mark.parametrize(
    ("episode_unit", "normalize", "expected"),
    [
        ("step", "std", [1.897, -0.474]),
        ("step", "none", [8.0, -2.0]),
        ("trajectory", "std", [0.707, -0.707]),
        ("trajectory", "none", [5.0, -5.0]),
    ],
)
def test_short_win_against_long_loss(episode_unit, normalize, expected):
    table = table_of(
        {"task": [final_reward("ab", WIN), final_reward("cdefghij", LOSS)]}
    )
    config = CreditConfig(episode_unit=episode_unit, normalize=normalize)
    np.testing.assert_allclose(per_episode(table, config), expected, atol=1e-3)


@pytest.mark.parametrize("episode_unit", ["trajectory", "step"])
@pytest.mark.parametrize("normalize", ["std", "none"])
def test_lone_row_gets_its_raw_score_only_by_name(episode_unit, normalize):
    table = table_of({"task": one_step_episodes([WIN])})
    config = {"episode_unit": episode_unit, "normalize": normalize}
    official = assign_credit(table, CreditConfig(**config, lone_episode="raw"))
    assert official.episode_advantage == [WIN]
    assert official.step_advantage == [0.0]
    assert assign_credit(table, CreditConfig(**config)).advantage == [0.0]


@pytest.mark.parametrize(
    ("score", "normalize", "of_invalid", "of_others"),
    [
        (WIN, "std", -8.832, 0.112),
        (WIN, "none", -0.0988, 0.00125),
        (LOSS, "std", -8.832, 0.112),
    ],
)
def test_official_penalty_dominates_a_group_without_contrast(
    score, normalize, of_invalid, of_others
):
    episodes = [final_reward(distinct_states(10), score) for _ in range(8)]
    episodes[0][3] = (*episodes[0][3], False)
    config = CreditConfig(
        normalize=normalize,
        episode_unit="step",
        invalid_penalty=0.1,
        invalid_penalty_placement="official",
    )
    advantage = assign_credit(table_of({"task": episodes}), config).episode_advantage
    assert advantage[3] == pytest.approx(of_invalid, abs=1e-3)
    np.testing.assert_allclose(np.delete(advantage, 3), of_others, atol=5e-4)


@pytest.mark.parametrize("score", [WIN, LOSS])
def test_penalty_outside_the_statistics_pushes_no_other_row(score):
    episodes = [final_reward(distinct_states(10), score) for _ in range(8)]
    episodes[0][3] = (*episodes[0][3], False)
    credit = assign_credit(
        table_of({"task": episodes}), CreditConfig(invalid_penalty=0.1)
    )
    assert np.all(credit.episode_advantage == 0.0)
    assert credit.advantage[3] == -0.1
    assert np.all(np.delete(credit.advantage, 3) == 0.0)


def test_equal_float32_returns_give_exactly_zero():
    groups = {
        (size, k): one_step_episodes([float(np.float32(10.0 * 0.95**k))] * size)
        for size in range(2, 40)
        for k in range(50)
    }
    credit = assign_credit(table_of(groups))
    assert np.all(credit.step_advantage == 0.0)
    assert np.all(credit.episode_advantage == 0.0)


def test_discounting_along_different_paths_leaves_no_noise():
    # 10 * 0.95**k by three routes: discounted by the table, by numpy, by one product.
    groups = {
        k: [
            final_reward(["s", *distinct_states(k)], WIN),
            [("s", 10.0 * 0.95**k)],
            [("s", float(np.prod([10.0, *[0.95] * k])))],
        ]
        for k in range(50)
    }
    table = table_of(groups)
    credit = assign_credit(table, CreditConfig(gamma=0.95))
    assert np.all(credit.step_advantage[table.step == 0] == 0.0)


@pytest.mark.parametrize(
    ("gap", "expected", "tolerance"),
    [(0.5, 0.7071, 1e-4), (9.0, 0.7071, 1e-4), (0.001, 0.706, 2e-4)],
)
def test_two_returns_give_the_same_whatever_their_gap(gap, expected, tolerance):
    table = table_of({"task": one_step_episodes([gap, 0.0])})
    actual = assign_credit(table, CreditConfig(normalize="std")).step_advantage
    np.testing.assert_allclose(actual, [expected, -expected], atol=tolerance)


def test_padding_by_a_duplicated_row_is_refused():
    columns = columns_of({"task": one_step_episodes([10.0, 0.0, 0.0, 0.0])})
    config = CreditConfig(normalize="none")
    credit = assign_credit(StepTable.from_columns(**columns), config)
    assert credit.episode_advantage.tolist() == [7.5, -2.5, -2.5, -2.5]
    padded = {name: [*column, column[0]] for name, column in columns.items()}
    with pytest.raises(
        CreditError, match=r"\('task', 0\) has step 0 2 times.*pad after"
    ):
        StepTable.from_columns(**padded)


def test_revisits_of_one_trajectory_are_compared_by_default():
    table = table_of({"task": [final_reward(["s", "t", "s"], WIN)]})
    everything = CreditConfig(normalize="none", revisits="all")
    actual = assign_credit(table, everything).step_advantage
    np.testing.assert_allclose(actual, [-0.4875, 0.0, 0.4875], atol=1e-12)
    first = CreditConfig(normalize="none", revisits="first")
    assert assign_credit(table, first).step_advantage.tolist() == [0.0, 0.0, 0.0]


A, B, C = "a" * 100, "a" * 90 + "b" * 10, "a" * 80 + "b" * 20


@pytest.mark.parametrize(
    ("texts", "method", "num_clusters"),
    [
        ([A, B, C], "first_fit", 2),
        ([B, A, C], "first_fit", 1),
        ([A, B, C], "components", 1),
        ([B, A, C], "components", 1),
        ([C, A, B], "components", 1),
    ],
)
def test_first_fit_depends_on_the_order_and_components_does_not(
    texts, method, num_clusters
):
    table = table_of({"task": [[(text, 0.0)] for text in texts]})
    config = CreditConfig(similarity=0.9, similarity_method=method)
    assert len(set(assign_credit(table, config).anchor_group)) == num_clusters


THREE_EPISODES = {
    "task": [
        final_reward(["s0", "s1"], WIN),
        final_reward(["s0", "s2", "s0", "s1"], LOSS),
        final_reward(["s0", "s2"], WIN),
    ]
}


def test_step_advantages_of_three_episodes():
    table = table_of(THREE_EPISODES)
    none = assign_credit(table, CreditConfig(normalize="none"))
    np.testing.assert_allclose(
        none.step_advantage, [4.75, 5, -4.75, -5, -4.75, -5, 4.75, 5], atol=1e-12
    )
    std = assign_credit(table, CreditConfig(normalize="std"))
    np.testing.assert_allclose(
        std.step_advantage,
        [0.866, 0.7071, -0.866, -0.7071, -0.866, -0.7071, 0.866, 0.7071],
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("episode_unit", "normalize", "of_win", "of_loss"),
    [
        ("step", "none", 5.0, -5.0),
        ("trajectory", "none", 3.3333, -6.6667),
        ("step", "std", 0.9354, -0.9354),
        ("trajectory", "std", 0.5774, -1.1547),
    ],
)
def test_episode_advantages_of_three_episodes(episode_unit, normalize, of_win, of_loss):
    config = CreditConfig(episode_unit=episode_unit, normalize=normalize)
    actual = per_episode(table_of(THREE_EPISODES), config)
    np.testing.assert_allclose(actual, [of_win, of_loss, of_win], atol=1e-4)


def test_official_penalty_on_one_of_three_episodes():
    columns = columns_of(THREE_EPISODES)
    columns["valid"][3] = False
    config = CreditConfig(
        normalize="none",
        episode_unit="step",
        invalid_penalty=0.1,
        invalid_penalty_placement="official",
    )
    credit = assign_credit(StepTable.from_columns(**columns), config)
    np.testing.assert_allclose(
        credit.episode_advantage,
        [5.0125, 5.0125, -4.9875, -5.0875, -4.9875, -4.9875, 5.0125, 5.0125],
        atol=1e-12,
    )
    assert credit.step_advantage[3] == pytest.approx(-5.05)
    assert np.all(credit.penalty == 0.0)
    # The step return itself is what was earned.
    assert credit.step_return[2:6].tolist() == [0.0] * 4


@PROPERTY
@given(st.lists(st.floats(-20.0, 20.0), min_size=2, max_size=9))
def test_centred_times_n_over_n_minus_one_is_leave_one_out(rewards):
    table = table_of({"task": one_step_episodes(rewards)})
    centred = assign_credit(table, CreditConfig(estimator="grpo", normalize="none"))
    left_out = assign_credit(table, CreditConfig(estimator="rloo"))
    n = len(rewards)
    np.testing.assert_allclose(
        left_out.episode_advantage, n / (n - 1) * centred.episode_advantage, atol=1e-12
    )
    if np.ptp(rewards) > 1e-3:
        plain = [r - (sum(rewards) - r) / (n - 1) for r in rewards]
        np.testing.assert_allclose(left_out.episode_advantage, plain, atol=1e-9)
