"""What a step table takes, and what it says about a table that cannot be."""

import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllib_gigpo.credit import StepTable, assign_credit
from rllib_gigpo.errors import CreditError
from tests.credit.tables import (
    PROPERTY,
    columns_of,
    final_reward,
    groups_of_episodes,
    table_of,
)

TWO_EPISODES = {"task": [final_reward("abc", 1.0), final_reward("ab", 0.0)]}


def refused(match, **changes):
    columns = columns_of(TWO_EPISODES) | changes
    with pytest.raises(CreditError, match=match) as caught:
        StepTable.from_columns(**columns)
    # Errors cross process borders.
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_columns_are_named_and_all_but_the_last_two_are_required():
    parameters = inspect.signature(StepTable.from_columns).parameters
    required = ["group", "trajectory", "step", "state_key", "reward"]
    assert list(parameters) == [*required, "valid", "success"]
    for name, parameter in parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.default is inspect.Parameter.empty) == (name in required)


def test_valid_defaults_to_all_true():
    columns = columns_of(TWO_EPISODES)
    del columns["valid"]
    assert StepTable.from_columns(**columns).valid.tolist() == [True] * 5


def test_columns_are_taken_as_lists_tuples_arrays_and_iterators():
    columns = columns_of(TWO_EPISODES)
    expected = assign_credit(StepTable.from_columns(**columns)).advantage
    as_arrays = {
        "group": np.zeros(5, np.int32),
        "trajectory": np.array([7, 7, 7, 9, 9], np.uint8),
        "step": np.array(columns["step"], np.int16),
        "state_key": np.array(columns["state_key"]),
        "reward": np.array(columns["reward"], np.float32),
        "valid": np.array(columns["valid"]),
    }
    as_iterators = {
        **columns,
        "group": iter(columns["group"]),
        "trajectory": (key for key in columns["trajectory"]),
        "state_key": tuple(columns["state_key"]),
    }
    for other in (as_arrays, as_iterators):
        advantage = assign_credit(StepTable.from_columns(**other)).advantage
        np.testing.assert_array_equal(advantage, expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0, False),
        ("1", 1),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2, np.float32), np.zeros(2, np.int32)),
        (np.array([1, 2]), np.array([1, 3])),
        ((1, 2), (1, 3)),
        (("look", "knife"), ("look", "apple")),
    ],
)
def test_different_kinds_shapes_and_dtypes_are_different_states(one, other):
    table = StepTable.from_columns(
        group=["g"] * 3,
        trajectory=["x", "y", "z"],
        step=[0, 0, 0],
        state_key=[one, other, one],
        reward=[0.0, 1.0, 2.0],
    )
    assert table.state.tolist() == [0, 1, 0]


def test_equal_arrays_and_numpy_scalars_are_equal_states():
    table = StepTable.from_columns(
        group=["g"] * 4,
        trajectory=["w", "x", "y", "z"],
        step=[0] * 4,
        state_key=[np.arange(3), np.arange(3), np.int64(3), 3],
        reward=[0.0] * 4,
    )
    assert table.state.tolist() == [0, 0, 1, 1]


def test_far_apart_integer_keys_need_no_table_of_their_size():
    keys = [2**62, -(2**62), 2**62]
    table = StepTable.from_columns(
        group=np.array(keys),
        trajectory=[0, 1, 2],
        step=[0] * 3,
        state_key=keys,
        reward=[0.0] * 3,
    )
    assert table.group[0] == table.group[2] != table.group[1]
    assert sorted(table.group_labels) == [-(2**62), 2**62]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_reward_that_is_not_finite_names_the_trajectory_and_step(wrong):
    refused(
        rf"reward {wrong} at step 1 of trajectory \('task', 1\) \(1 such rows\)",
        reward=[0.0, 0.0, 1.0, 0.0, wrong],
    )


def test_duplicated_step_names_the_trajectory_and_step():
    refused(r"trajectory \('task', 0\) has step 1 2 times", step=[0, 1, 1, 0, 1])


def test_gap_names_the_trajectory_and_the_missing_step():
    refused(r"\('task', 0\) has 3 rows but no step 1 .*0 to 3", step=[0, 2, 3, 0, 1])


def test_steps_that_do_not_start_at_0_are_refused():
    refused(r"\('task', 1\) has 2 rows but no step 0", step=[0, 1, 2, 1, 2])
    refused(r"\('task', 1\) has 2 rows but no step 1", step=[0, 1, 2, 0, -1])
    refused(r"\('task', 0\) has 3 rows but no step 2", step=[0, 1, -1, 0, -1])


def test_trajectory_in_two_groups_names_it_and_both():
    refused(
        r"trajectory \('task', 0\) is in group '(a|b)' and in group '(a|b)'",
        group=["a", "a", "b", "b", "b"],
    )


def test_integer_keys_are_named_as_they_were_given():
    with pytest.raises(CreditError, match="trajectory 17 has 1 rows but no step 0"):
        StepTable.from_columns(
            group=np.array([0]),
            trajectory=np.array([17]),
            step=[1],
            state_key=["s"],
            reward=[0.0],
        )


@pytest.mark.parametrize(
    "column", ["trajectory", "step", "state_key", "reward", "valid"]
)
def test_columns_of_different_length_are_refused(column):
    short = columns_of(TWO_EPISODES)[column][:-1]
    refused(f"column '{column}' has 4 rows, column 'group' has 5", **{column: short})


def test_wrong_kinds_of_columns_are_refused():
    refused("'step' has dtype float64; it must be integers", step=[0.0, 1, 2, 0, 1])
    refused("'reward' has dtype .*; it must be numbers", reward=list("abcde"))
    refused("'valid' has dtype int64; it must be booleans", valid=[1, 1, 0, 1, 1])
    refused("'reward' has shape", reward=np.zeros((5, 1)))
    refused("'reward' must be 1-D", reward=[[1.0], [1.0, 2.0], 0.0, 0.0, 0.0])
    refused("'state_key' has shape .* list of arrays", state_key=np.zeros((5, 2)))
    refused(
        "'state_key', row 2: a list cannot be a key", state_key=["a", "b", [], 1, 2]
    )
    refused("'group' has a NaN key", group=[float("nan")] * 5)
    refused(
        "success' changes along trajectory", success=[True, False, True, True, True]
    )


def test_empty_table_is_refused():
    with pytest.raises(CreditError, match="at least one row"):
        StepTable.from_columns(
            group=[], trajectory=[], step=[], state_key=[], reward=[]
        )


@PROPERTY
@given(groups_of_episodes, st.data())
def test_any_broken_table_is_refused_by_the_name_of_its_trajectory(groups, data):
    columns = columns_of(groups)
    row = data.draw(st.integers(0, len(columns["group"]) - 1))
    trajectory = columns["trajectory"][row]
    kind = data.draw(st.sampled_from(["nan", "duplicate", "gap", "two groups"]))
    if kind == "nan":
        columns["reward"][row] = float("nan")
    elif kind == "duplicate":
        columns = {name: [*column, column[row]] for name, column in columns.items()}
    elif kind == "gap":
        columns["step"][row] += len(columns["step"])
    else:
        columns = {name: [*column, column[row]] for name, column in columns.items()}
        columns["step"][-1] = columns["trajectory"][:-1].count(trajectory)
        columns["group"][-1] = "another"
    with pytest.raises(CreditError) as caught:
        StepTable.from_columns(**columns)
    assert repr(trajectory) in str(caught.value)


@PROPERTY
@given(groups_of_episodes)
def test_order_runs_along_the_trajectories(groups):
    table = table_of(groups)
    trajectory, step = table.trajectory[table.order], table.step[table.order]
    assert np.all(np.diff(trajectory) >= 0)
    assert step.tolist() == [
        i for length in table.trajectory_length for i in range(length)
    ]
