"""What must not change the advantages, and what they must equal."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllib_gigpo.credit import ESTIMATORS, CreditConfig, StepTable, assign_credit
from tests.credit.reference import gigpo_reference
from tests.credit.tables import (
    PROPERTY,
    columns_of,
    configs,
    groups_of_episodes,
    is_same_partition,
    permuted,
    table_of,
)

WITHIN_GROUPS = sorted(set(ESTIMATORS) - {"reinforce_plus_plus"})
ROW_ARRAYS = (
    "step_return",
    "episode_advantage",
    "step_advantage",
    "penalty",
    "advantage",
)


def assert_equal_to_the_bit(credit, other, rows=slice(None)):
    """Rows ``rows`` of one against all rows of the other."""
    for name in ROW_ARRAYS:
        np.testing.assert_array_equal(
            getattr(credit, name)[rows], getattr(other, name), err_msg=name
        )
    assert is_same_partition(credit.anchor_group[rows], other.anchor_group)


@PROPERTY
@given(groups_of_episodes, configs(), st.data())
def test_equals_the_paper_in_plain_loops(groups, config, data):
    config = dataclasses.replace(config, similarity=None)
    columns = columns_of(groups)
    order = data.draw(st.permutations(range(len(columns["group"]))))
    columns = permuted(columns, order)
    expected = gigpo_reference(columns, config)
    actual = assign_credit(StepTable.from_columns(**columns), config)
    for name in ("step_return", "episode_advantage", "step_advantage", "advantage"):
        np.testing.assert_allclose(
            getattr(actual, name),
            getattr(expected, name),
            rtol=1e-7,
            atol=1e-9,
            err_msg=name,
        )


@PROPERTY
@given(groups_of_episodes, configs(sorted(ESTIMATORS)), st.data())
def test_permuting_rows_permutes_results(groups, config, data):
    columns = columns_of(groups)
    order = data.draw(st.permutations(range(len(columns["group"]))))
    credit = assign_credit(StepTable.from_columns(**columns), config)
    other = assign_credit(StepTable.from_columns(**permuted(columns, order)), config)
    assert_equal_to_the_bit(credit, other, rows=order)


@PROPERTY
@given(groups_of_episodes, configs(WITHIN_GROUPS))
def test_adding_a_group_changes_no_other_group(groups, config):
    columns = columns_of(groups)
    together = assign_credit(StepTable.from_columns(**columns), config)
    for group, episodes in groups.items():
        alone = assign_credit(table_of({group: episodes}), config)
        rows = [i for i, other in enumerate(columns["group"]) if other == group]
        assert_equal_to_the_bit(together, alone, rows=rows)


@PROPERTY
@given(groups_of_episodes, configs(WITHIN_GROUPS))
def test_groups_that_share_all_states_share_no_anchor_group(groups, config):
    twins = {(group, twin): groups[group] for group in groups for twin in (0, 1)}
    credit = assign_credit(table_of(twins), config)
    group = np.asarray(credit.table.group)
    for code in np.unique(credit.anchor_group):
        assert len(set(group[credit.anchor_group == code])) == 1
    single = assign_credit(table_of(groups), config)
    first_twins = [
        i for i, label in enumerate(columns_of(twins)["group"]) if label[1] == 0
    ]
    assert_equal_to_the_bit(credit, single, rows=first_twins)


def test_equal_texts_of_two_tasks_share_no_baseline():
    table = table_of({"won": [[("s", 10.0)]] * 2, "lost": [[("s", 0.0)]] * 2})
    credit = assign_credit(table, CreditConfig(normalize="none"))
    assert credit.step_advantage.tolist() == [0.0] * 4


@PROPERTY
@given(groups_of_episodes, configs(sorted(ESTIMATORS)))
def test_names_of_keys_do_not_matter(groups, config):
    columns = columns_of(groups)
    states = {"door": (1, "a"), "hall": frozenset({2}), "shed": None, "desk": b"d"}
    renamed = {
        **columns,
        "group": [f"task {9 - group}" for group in columns["group"]],
        "trajectory": [repr(key) for key in columns["trajectory"]],
        "state_key": [states[key] for key in columns["state_key"]],
    }
    config = dataclasses.replace(config, similarity=None)
    assert_equal_to_the_bit(
        assign_credit(StepTable.from_columns(**columns), config),
        assign_credit(StepTable.from_columns(**renamed), config),
    )


near_constant = st.tuples(
    st.floats(-1e6, 1e6), st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=40)
)


@PROPERTY
@given(near_constant, configs(sorted(ESTIMATORS)))
def test_float_noise_gives_exactly_zero(base_and_noise, config):
    base, noise = base_and_noise
    rewards = [base + 4e-6 * max(1.0, abs(base)) * n for n in noise]
    config = dataclasses.replace(config, invalid_penalty=0.0)
    credit = assign_credit(table_of({"g": [[("s", r)] for r in rewards]}), config)
    assert np.all(credit.episode_advantage == 0.0)
    if config.revisits == "all" and config.estimator != "graphgpo":
        assert np.all(credit.step_advantage == 0.0)


@PROPERTY
@given(groups_of_episodes, configs())
def test_advantages_of_a_group_sum_to_zero_in_its_unit(groups, config):
    config = dataclasses.replace(
        config,
        lone_episode="zero",
        lone_step="zero",
        revisits="all",
        constant_tolerance=0.0,
    )
    table = table_of(groups)
    credit = assign_credit(table, config)
    counted = (
        table.order[table.trajectory_start]
        if config.episode_unit == "trajectory"
        else np.arange(len(table))
    )
    episode_sums = np.zeros(table.num_groups)
    np.add.at(episode_sums, table.group[counted], credit.episode_advantage[counted])
    if config.episode_unit == "trajectory" or all(len(e) > 1 for e in groups.values()):
        np.testing.assert_allclose(episode_sums, 0.0, atol=1e-7)
    step_sums = np.bincount(credit.anchor_group, credit.step_advantage)
    np.testing.assert_allclose(step_sums, 0.0, atol=1e-7)


@PROPERTY
@given(groups_of_episodes, configs(sorted(ESTIMATORS)))
def test_episode_advantage_is_one_number_per_trajectory(groups, config):
    if config.invalid_penalty_placement == "official":
        config = dataclasses.replace(config, invalid_penalty=0.0)
    table = table_of(groups)
    advantage = assign_credit(table, config).episode_advantage
    of_first_row = advantage[table.order[table.trajectory_start]]
    np.testing.assert_array_equal(advantage, of_first_row[table.trajectory])


@PROPERTY
@given(groups_of_episodes, st.sampled_from(["std", "none"]), st.data())
def test_length_of_an_episode_does_not_weigh_in_the_trajectory_unit(
    groups, normalize, data
):
    config = CreditConfig(normalize=normalize)
    group = data.draw(st.sampled_from(sorted(groups)))
    longer = dict(groups)
    longer[group] = [[("door", 0.0)] * 7 + list(groups[group][0]), *groups[group][1:]]

    def of_each_trajectory(table):
        first_row = table.order[table.trajectory_start]
        return assign_credit(table, config).episode_advantage[first_row]

    np.testing.assert_allclose(
        of_each_trajectory(table_of(longer)),
        of_each_trajectory(table_of(groups)),
        rtol=1e-6,
        atol=1e-9,
    )


@PROPERTY
@given(groups_of_episodes, configs(sorted(ESTIMATORS)))
def test_no_epsilon_is_needed_to_keep_figures_finite(groups, config):
    config = dataclasses.replace(config, epsilon=0.0)
    assert np.all(np.isfinite(assign_credit(table_of(groups), config).advantage))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_advantage_is_the_weighted_sum_of_its_parts(name):
    groups = {
        "a": [
            [("s", 1.0), ("t", 0.0, False), ("s", 3.0)],
            [("s", 0.0), ("t", 2.0)],
            [("t", 0.0)],
        ]
    }
    credit = assign_credit(
        table_of(groups),
        CreditConfig(estimator=name, step_weight=0.5, invalid_penalty=0.25),
    )
    np.testing.assert_allclose(
        credit.advantage,
        credit.episode_advantage
        + 0.5 * credit.step_advantage
        - np.array([0, 0.25, 0, 0, 0, 0]),
        rtol=1e-12,
    )
