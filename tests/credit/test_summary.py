"""The figures to watch, counted by hand."""

import pytest

from rllib_gigpo.credit import CreditConfig, assign_credit
from tests.credit.tables import final_reward, one_step_episodes, table_of

# Group "a": state "s" in both episodes and twice in the first (3 rows, 2 trajectories),
# "t" alone, "u" alone. Group "b": "s" of one trajectory twice (2 rows, 1 trajectory);
# its lone episode has no contrast. Group "c": "s" of two trajectories, equal returns.
GROUPS = {
    "a": [final_reward(["s", "t", "s"], 4.0), final_reward(["s", "u"], 0.0)],
    "b": [final_reward(["s", "s"], 1.0)],
    "c": one_step_episodes([2.0, 2.0]),
}


@pytest.fixture(scope="module")
def summary():
    config = CreditConfig(gamma=0.5, normalize="none")
    return assign_credit(table_of(GROUPS), config).summary()


def test_rows_groups_and_trajectories_are_counted(summary):
    assert (summary.num_rows, summary.num_groups, summary.num_trajectories) == (9, 3, 5)


def test_anchor_groups_are_counted_by_size(summary):
    assert summary.num_anchor_groups == 5
    assert summary.anchor_group_sizes == {1: 2, 2: 2, 3: 1}


def test_lone_rows_are_a_share_of_rows(summary):
    assert summary.lone_anchor_row_fraction == 2 / 9


def test_revisits_of_one_trajectory_are_not_shared_anchor_groups(summary):
    assert summary.shared_anchor_group_fraction == 2 / 5


def test_groups_of_equal_returns_and_lone_episodes_are_constant(summary):
    assert summary.constant_group_fraction == 2 / 3


def test_magnitudes_are_means_over_rows(summary):
    # A^E: 2 on the five rows of "a". A^S at "a"/"s": returns 1, 4, 0, mean 5/3, so 2/3,
    # 7/3, 5/3; at "b"/"s": 0.5, 1, so 0.25 twice.
    assert summary.episode_advantage_abs_mean == pytest.approx(5 * 2 / 9)
    assert summary.step_advantage_abs_mean == pytest.approx((14 / 3 + 0.5) / 9)


def test_metrics_are_flat_numbers_with_the_histogram_in_ranges():
    sizes = [1, 2, 3, 4, 5, 9, 10, 49, 50, 120]
    states = [f"s{size}" for size in sizes for _ in range(size)]
    table = table_of({"g": [[(state, 0.0)] for state in states]})
    metrics = assign_credit(table).summary().metrics()
    assert all(type(figure) is float for figure in metrics.values())
    histogram = {
        name.removeprefix("num_anchor_groups_of_"): count
        for name, count in metrics.items()
        if name.startswith("num_anchor_groups_of_")
    }
    assert histogram == {"1": 1, "2": 1, "3_4": 2, "5_9": 2, "10_49": 2, "50_up": 2}
    assert metrics["num_anchor_groups"] == 10
    assert metrics["constant_group_fraction"] == 1.0
