"""Step tables for tests: from episodes written out, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from rllib_gigpo.credit import CreditConfig, StepTable

# Of every property test here; the same examples in each run.
PROPERTY = settings(deadline=None, derandomize=True, max_examples=40)

Step = tuple[Any, float] | tuple[Any, float, bool]
Episodes = Sequence[Sequence[Step]]


def columns_of(groups: Mapping[Any, Episodes]) -> dict[str, list[Any]]:
    """Columns of group -> episodes -> steps (state, reward[, valid]), in that order."""
    rows = [
        (group, (group, member), index, *step)
        for group, episodes in groups.items()
        for member, episode in enumerate(episodes)
        for index, step in enumerate(episode)
    ]
    return {
        "group": [row[0] for row in rows],
        "trajectory": [row[1] for row in rows],
        "step": [row[2] for row in rows],
        "state_key": [row[3] for row in rows],
        "reward": [row[4] for row in rows],
        "valid": [row[5] if len(row) > 5 else True for row in rows],
    }


def table_of(groups: Mapping[Any, Episodes]) -> StepTable:
    """The table of `columns_of`."""
    return StepTable.from_columns(**columns_of(groups))


def one_step_episodes(rewards: Sequence[float], state: str = "s") -> Episodes:
    """An episode of one step from one state for each reward."""
    return [[(state, reward)] for reward in rewards]


def final_reward(states: Sequence[Any], reward: float) -> list[Step]:
    """An episode through the states, with the reward at its last step."""
    return [(state, 0.0) for state in states[:-1]] + [(states[-1], reward)]


def permuted(columns: Mapping[str, list[Any]], order: Sequence[int]) -> dict[str, Any]:
    """The same rows in another order."""
    return {name: [column[i] for i in order] for name, column in columns.items()}


def is_same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two codings of the rows put the same rows together."""
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


rewards = st.sampled_from([0.0, 10.0, -0.1, 0.3, 1.0]) | st.floats(-50.0, 50.0)
steps = st.tuples(
    st.sampled_from(["door", "hall", "shed", "desk"]), rewards, st.booleans()
)
episodes = st.lists(steps, min_size=1, max_size=4)
groups_of_episodes = st.dictionaries(
    st.integers(0, 9),
    st.lists(episodes, min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


@st.composite
def configs(draw: st.DrawFn, estimators: Sequence[str] = ("gigpo",)) -> CreditConfig:
    """Any combination of settings that does not depend on the order of the rows."""
    episode_unit = draw(st.sampled_from(["trajectory", "step"]))
    return CreditConfig(
        estimator=draw(st.sampled_from(list(estimators))),
        gamma=draw(st.sampled_from([0.0, 0.5, 0.95, 1.0])),
        step_weight=draw(st.sampled_from([0.0, 0.5, 1.0])),
        normalize=draw(st.sampled_from(["std", "none"])),
        episode_unit=episode_unit,
        similarity=draw(st.sampled_from([None, 0.5])),
        similarity_method="components",
        revisits=draw(st.sampled_from(["all", "first"])),
        lone_episode=draw(st.sampled_from(["zero", "raw"])),
        lone_step=draw(st.sampled_from(["zero", "raw"])),
        ddof=draw(st.sampled_from([0, 1])),
        invalid_penalty=draw(st.sampled_from([0.0, 0.1])),
        invalid_penalty_placement=draw(
            st.sampled_from(["step", "anchor", "official"])
            if episode_unit == "step"
            else st.sampled_from(["step", "anchor"])
        ),
    )
