"""Every estimator on cases worked out by hand."""

import numpy as np
import pytest

from rllib_gigpo.credit import (
    ESTIMATORS,
    AdvantageParts,
    CreditConfig,
    GraphGPOOptions,
    HGPOOptions,
    StepTable,
    assign_credit,
    find_estimator,
)
from rllib_gigpo.errors import ConfigError, CreditError
from tests.credit.tables import columns_of, final_reward, one_step_episodes, table_of


def credit_of(groups, estimator, **settings):
    return assign_credit(
        table_of(groups), CreditConfig(estimator=estimator, **settings)
    )


def test_gigpo_adds_episodes_and_steps():
    # Episode returns 4, 2, 0, half of it per step; gamma 0.5. Step returns at "s": 3,
    # 1.5, 0; mean 1.5, deviations 1.5, 0, -1.5, sample std 1.5. At "t": 2, 1, 0;
    # deviations 1, 0, -1, std 1. Episodes: deviations 2, 0, -2, std 2.
    groups = {"g": [[("s", r), ("t", r)] for r in (2.0, 1.0, 0.0)]}
    none = credit_of(groups, "gigpo", gamma=0.5, normalize="none")
    assert none.step_return.tolist() == [3.0, 2.0, 1.5, 1.0, 0.0, 0.0]
    assert none.episode_advantage.tolist() == [2.0, 2.0, 0.0, 0.0, -2.0, -2.0]
    assert none.step_advantage.tolist() == [1.5, 1.0, 0.0, 0.0, -1.5, -1.0]
    assert none.advantage.tolist() == [3.5, 3.0, 0.0, 0.0, -3.5, -3.0]
    std = credit_of(groups, "gigpo", gamma=0.5, epsilon=0.0, step_weight=3.0)
    assert std.advantage.tolist() == [4.0, 4.0, 0.0, 0.0, -4.0, -4.0]


def test_grpo_gives_no_step_credit():
    # Mean 10/3, deviations 20/3, -10/3, -10/3, sample std sqrt(100/3).
    groups = {"g": one_step_episodes([10.0, 0.0, 0.0])}
    credit = credit_of(groups, "grpo")
    np.testing.assert_allclose(
        credit.advantage, [1.1547, -0.57735, -0.57735], atol=1e-4
    )
    assert credit.step_advantage.tolist() == [0.0, 0.0, 0.0]


def test_rloo_leaves_one_trajectory_out():
    groups = {
        "three": one_step_episodes([10.0, 0.0, 5.0]),  # baselines 2.5, 7.5, 5
        "lone": one_step_episodes([10.0]),
    }
    credit = credit_of(groups, "rloo")
    np.testing.assert_allclose(credit.advantage, [7.5, -7.5, 0.0, 0.0], atol=1e-12)
    raw = credit_of(groups, "rloo", lone_episode="raw")
    np.testing.assert_allclose(raw.advantage, [7.5, -7.5, 0.0, 10.0], atol=1e-12)


def test_rloo_leaves_one_row_out_in_the_step_unit():
    # Scores of the rows 10, 10, 0: baselines (10 + 0) / 2 twice, and 10.
    groups = {"g": [final_reward("ab", 10.0), [("a", 0.0)]]}
    credit = credit_of(groups, "rloo", episode_unit="step")
    np.testing.assert_allclose(credit.advantage, [5.0, 5.0, -10.0], atol=1e-12)


def test_reinforce_plus_plus_compares_with_the_whole_batch():
    # Returns 10, 10, 0, 0 in two groups: mean 5, sample std sqrt(100/3).
    groups = {
        "won": one_step_episodes([10.0, 10.0]),
        "lost": one_step_episodes([0.0, 0.0]),
    }
    credit = credit_of(groups, "reinforce_plus_plus")
    np.testing.assert_allclose(
        credit.advantage, [0.866025, 0.866025, -0.866025, -0.866025], atol=1e-5
    )
    assert np.all(credit_of(groups, "grpo").advantage == 0.0)


# Returns 9, 5, 1, 1 on every row (gamma 1). State "c" of step 2 is reached by:
#   level 1, "c": all four, mean 4 -> 5, 1, -3, -3; population std sqrt(11)
#   level 2, "bc": 9, 5, 1 -> 4, 0, -4; std sqrt(32 / 3); "yc" alone
#   level 3, "abc": 9, 5 -> 2, -2; std 2; "xbc" and "xyc" alone
HISTORIES = {
    "g": [
        final_reward("abc", 9.0),
        final_reward("abc", 5.0),
        final_reward("xbc", 1.0),
        final_reward("xyc", 1.0),
    ]
}
LAST_STEP = slice(2, None, 3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # The second row's level 2 is 0 and left out of its mean, as lone levels are.
        (HGPOOptions(), [19 / 6, (1 - 3 * 2) / 4, (-3 - 2 * 4) / 3, -3]),
        (
            HGPOOptions(level_weights="official"),
            [(2 * 5 + 3 * 4 + 4 * 2) / 9, (2 - 4 * 2) / 6, (-2 * 3 - 3 * 4) / 5, -3],
        ),
        (
            HGPOOptions(weight_exponent=2.0),
            [(5 + 4 * 4 + 9 * 2) / 14, (1 - 9 * 2) / 10, (-3 - 4 * 4) / 5, -3],
        ),
        (HGPOOptions(weight_exponent=0.0), [11 / 3, -0.5, -3.5, -3]),
        (HGPOOptions(history=1), [(5 + 2 * 4) / 3, 1, (-3 - 2 * 4) / 3, -3]),
        (HGPOOptions(history=0), [5, 1, -3, -3]),
    ],
)
def test_hgpo_weighs_levels_of_history(options, expected):
    credit = credit_of(HISTORIES, "hgpo", gamma=1.0, normalize="none", hgpo=options)
    np.testing.assert_allclose(credit.step_advantage[LAST_STEP], expected, atol=1e-12)
    assert np.all(credit.episode_advantage == 0.0)


def test_hgpo_takes_the_population_std_in_each_level():
    credit = credit_of(HISTORIES, "hgpo", gamma=1.0, epsilon=0.0)
    level_1, level_2, level_3 = 5 / 11**0.5, 4 / (32 / 3) ** 0.5, 2 / 2
    assert credit.step_advantage[2] == pytest.approx(
        (level_1 + 2 * level_2 + 3 * level_3) / 6
    )


def test_hgpo_compares_early_steps_by_the_history_they_have():
    credit = credit_of(HISTORIES, "hgpo", gamma=1.0, normalize="none")
    # Step 0: "a" 9, 5; "x" 1, 1. Step 1: "b" 9, 5, 1 and "ab" 9, 5; "y" alone.
    np.testing.assert_allclose(credit.step_advantage[0::3], [2, -2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(
        credit.step_advantage[1::3], [(4 + 2 * 2) / 3, -2, -4, 0], atol=1e-12
    )


def test_hgpo_never_compares_a_short_history_with_a_full_one():
    # "a" at step 0 has no history; "a" after "a" at step 1 has one.
    groups = {"g": [[("a", 0.0), ("a", 8.0)], [("a", 2.0)]]}
    options = HGPOOptions(history=1)
    credit = credit_of(groups, "hgpo", gamma=1.0, normalize="none", hgpo=options)
    # Level 1: 8, 8, 2, mean 6. Level 2: ("a", "a") alone.
    np.testing.assert_allclose(credit.step_advantage, [2.0, 2.0, -4.0], atol=1e-12)


def test_hgpo_adds_the_episode_advantage_on_request():
    options = HGPOOptions(add_episode_advantage=True)
    credit = credit_of(HISTORIES, "hgpo", normalize="none", hgpo=options)
    np.testing.assert_allclose(credit.episode_advantage[LAST_STEP], [5, 1, -3, -3])


# "s1" is one step from success, "s0" and "s2" two, "s3" never reaches it: 2 + 1 steps.
GRAPH = {
    "g": [
        final_reward(["s0", "s1"], 10.0),
        final_reward(["s0", "s2", "s1"], 10.0),
        final_reward(["s0", "s3"], 0.0),
    ]
}


def test_graphgpo_compares_steps_by_the_distance_they_lead_to():
    # Leaving "s0": to "s1" 10 * 0.1**1, to "s2" 10 * 0.1**2, to "s3" 10 * 0.1**3; mean
    # 0.37. Leaving "s1": success twice. The others are alone.
    credit = credit_of(GRAPH, "graphgpo", normalize="none")
    np.testing.assert_allclose(
        credit.step_advantage, [0.63, 0.0, -0.27, 0.0, 0.0, -0.36, 0.0], atol=1e-12
    )
    np.testing.assert_allclose(
        credit.episode_advantage, [10 / 3] * 5 + [-20 / 3] * 2, atol=1e-12
    )


def test_graphgpo_reads_its_options():
    # Success is worth 4 and halves per step: 2, 1, 0.5; mean 7/6.
    options = GraphGPOOptions(gamma=0.5, success_reward=4.0)
    credit = credit_of(GRAPH, "graphgpo", normalize="none", graphgpo=options)
    np.testing.assert_allclose(
        credit.step_advantage[[0, 2, 5]], [5 / 6, -1 / 6, -2 / 3], atol=1e-12
    )
    strict = GraphGPOOptions(success_threshold=10.0)
    credit = credit_of(GRAPH, "graphgpo", graphgpo=strict)
    assert np.all(credit.step_advantage == 0.0)


def test_graphgpo_tells_steps_far_from_success_apart():
    # From "fork" success is 8 steps away one way and 9 the other: 1e-7 against 1e-8.
    short, long = ([f"{way}{i}" for i in range(n)] for way, n in (("a", 8), ("b", 9)))
    groups = {"g": [final_reward(["fork", *way], 10.0) for way in (short, long)]}
    credit = credit_of(groups, "graphgpo", normalize="none")
    np.testing.assert_allclose(credit.step_advantage[[0, 9]], [4.5e-8, -4.5e-8])


def test_graphgpo_takes_the_official_penalty_off_the_edge():
    # Leaving "s1", both reach success; the penalty is all that tells them apart.
    columns = columns_of(GRAPH)
    columns["valid"][4] = False
    config = CreditConfig(
        estimator="graphgpo",
        normalize="none",
        episode_unit="step",
        invalid_penalty=0.2,
        invalid_penalty_placement="official",
    )
    credit = assign_credit(StepTable.from_columns(**columns), config)
    np.testing.assert_allclose(credit.step_advantage[[1, 4]], [0.1, -0.1], atol=1e-12)


def test_graphgpo_gives_nothing_to_a_group_without_success():
    groups = {"g": [final_reward("abc", 0.0), final_reward("acb", -1.0)]}
    assert np.all(credit_of(groups, "graphgpo").step_advantage == 0.0)


def test_graphgpo_takes_success_from_its_column():
    columns = columns_of(GRAPH)
    columns["reward"] = [0.0] * 7
    columns["success"] = [True] * 5 + [False] * 2
    config = CreditConfig(estimator="graphgpo", normalize="none")
    credit = assign_credit(StepTable.from_columns(**columns), config)
    np.testing.assert_allclose(
        credit.step_advantage, [0.63, 0.0, -0.27, 0.0, 0.0, -0.36, 0.0], atol=1e-12
    )


def test_graphgpo_finds_no_way_through_another_group():
    # In "b" nobody succeeds, though "a" does from the same state.
    groups = {"a": GRAPH["g"], "b": [final_reward(["s0", "s1"], 0.0), [("s0", 0.0)]]}
    credit = credit_of(groups, "graphgpo")
    assert np.all(credit.step_advantage[7:] == 0.0)


def test_unknown_estimator_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=r"'gigppo'; did you mean 'gigpo'\? Known: "):
        assign_credit(table_of(GRAPH), CreditConfig(estimator="gigppo"))
    with pytest.raises(ConfigError, match="did you mean 'reinforce_plus_plus'"):
        find_estimator("REINFORCE++")


def test_a_user_adds_an_estimator_by_name(monkeypatch):
    def remaining_steps(inputs):
        return AdvantageParts(
            episode_advantage=inputs.episode_score,
            step_advantage=-inputs.table.num_steps_left.astype(float),
        )

    monkeypatch.setitem(ESTIMATORS, "remaining_steps", remaining_steps)
    credit = credit_of(GRAPH, "remaining_steps", step_weight=0.5)
    assert credit.advantage.tolist() == [9.5, 10.0, 9.0, 9.5, 10.0, -0.5, 0.0]


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ([0.0] * 6, r"'broken': step_advantage has shape \(6,\); it must be \(7,\)"),
        ([np.nan, *[0.0] * 6], "'broken': step_advantage is nan in row 0"),
        ([*[0.0] * 6, np.inf], "'broken': step_advantage is inf in row 6"),
    ],
)
def test_an_estimator_that_gives_nonsense_is_named(monkeypatch, parts, match):
    monkeypatch.setitem(
        ESTIMATORS,
        "broken",
        lambda inputs: AdvantageParts(
            episode_advantage=np.zeros(7), step_advantage=np.array(parts)
        ),
    )
    with pytest.raises(CreditError, match=match):
        credit_of(GRAPH, "broken")
