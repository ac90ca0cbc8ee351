"""Advantages recorded from the official code, with its rules set by name."""

import json

import numpy as np
import pytest

from rllib_gigpo.credit import CreditConfig, StepTable, assign_credit
from tests.credit.tables import is_same_partition
from tests.shared_data import shared_file

NUM_CASES = 40


@pytest.fixture(scope="module")
def cases():
    return json.loads(shared_file("vectors/gigpo_advantages.json").read_text())


def table_of_case(case):
    rows = case["rows"]
    return StepTable.from_columns(
        group=[row["group"] for row in rows],
        trajectory=[(row["group"], row["trajectory"]) for row in rows],
        step=[row["step"] for row in rows],
        state_key=[row["anchor"] for row in rows],
        reward=[row["reward"] for row in rows],
    )


def config_of_case(case, episode_unit):
    return CreditConfig(
        gamma=case["gamma"],
        step_weight=case["omega"],
        normalize=case["norm"],
        episode_unit=episode_unit,
        similarity=case["similarity"],
        similarity_method="first_fit",
        lone_episode="raw",
    )


def test_the_recording_covers_both_norms_and_similarity(cases):
    assert len(cases) == NUM_CASES
    assert {case["norm"] for case in cases} == {"std", "none"}
    assert {case["similarity"] for case in cases} >= {None, 0.8, 0.9, 0.95}


@pytest.mark.parametrize("episode_unit", ["trajectory", "step"])
@pytest.mark.parametrize("index", range(NUM_CASES))
def test_recorded_case_is_reproduced(cases, index, episode_unit):
    case = cases[index]
    expected = case["expected"]
    credit = assign_credit(table_of_case(case), config_of_case(case, episode_unit))
    assert is_same_partition(credit.anchor_group, np.array(expected["anchor_group"]))
    for actual, name in [
        (credit.step_return, "step_return"),
        (credit.step_advantage, "step_advantage"),
        (credit.episode_advantage, f"episode_advantage_per_{episode_unit}_unit"),
        (credit.advantage, f"advantage_per_{episode_unit}_unit"),
    ]:
        np.testing.assert_allclose(
            actual, expected[name], rtol=0, atol=1e-4, err_msg=name
        )
