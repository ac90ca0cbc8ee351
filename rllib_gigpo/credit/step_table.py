"""The step table: what credit assignment reads, one row per model call.

Enters: columns in any row order, with any hashable keys. Leaves: integer codes and the
order of the rows along their trajectories. Invariant: each trajectory lies in one group
and has steps 0 .. T-1 once each; every reward is finite.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rllib_gigpo.credit.columns import (
    boolean_column,
    integer_column,
    key_column,
    number_column,
)
from rllib_gigpo.credit.keys import encode_keys
from rllib_gigpo.errors import CreditError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTable:
    """R checked rows of E trajectories in G groups; made by `from_columns`.

    Attributes:
        group: int64 [R], code of the row's group, 0 .. G-1.
        trajectory: int64 [R], code of the row's trajectory, 0 .. E-1.
        step: int64 [R], index of the step within its trajectory, from 0.
        state: int64 [R], code of the row's state key.
        reward: float64 [R], what the environment gave for the step.
        valid: bool [R], whether the action kept the format.
        trajectory_group: int64 [E], the group of each trajectory.
        trajectory_success: bool [E], or None when it was not given.
        trajectory_start: int64 [E], where each trajectory begins in ``order``.
        order: int64 [R], the rows trajectory by trajectory, step by step.
        group_labels: G keys as given.
        trajectory_labels: E keys as given.
        state_labels: The distinct state keys as given.

    Example:
        Two rows, ``group=["a", "a"], trajectory=["a/0", "a/0"], step=[1, 0],
        state_key=["hall", "door"], reward=[10.0, 0.0]``, become ``group=[0, 0]``,
        ``trajectory=[0, 0]``, ``state=[0, 1]`` and ``order=[1, 0]``.
    """

    group: NDArray[np.int64]
    trajectory: NDArray[np.int64]
    step: NDArray[np.int64]
    state: NDArray[np.int64]
    reward: NDArray[np.float64]
    valid: NDArray[np.bool_]
    trajectory_group: NDArray[np.int64]
    trajectory_success: NDArray[np.bool_] | None
    trajectory_start: NDArray[np.int64]
    order: NDArray[np.int64]
    group_labels: Sequence[Hashable]
    trajectory_labels: Sequence[Hashable]
    state_labels: Sequence[Hashable]

    @classmethod
    def from_columns(
        cls,
        *,
        group: Iterable[object],
        trajectory: Iterable[object],
        step: ArrayLike,
        state_key: Iterable[object],
        reward: ArrayLike,
        valid: ArrayLike | None = None,
        success: ArrayLike | None = None,
    ) -> StepTable:
        """Check the columns and encode their keys.

        Args:
            group: R keys; the rows of one task played from one initial state.
            trajectory: R keys, unique over all groups.
            step: R integers, 0 .. T-1 within each trajectory, in any order.
            state_key: R keys, equal exactly when the state that matters is equal.
                Hashable, or numpy arrays (compared with dtype and shape).
            reward: R finite numbers.
            valid: R booleans; all true by default. Only ``invalid_penalty`` reads it.
            success: R booleans, the same along a trajectory. Only ``graphgpo`` reads
                it; without it a trajectory succeeds by its episode return.

        Raises:
            CreditError: Columns of different length, no row at all, a wrong type, a
                reward that is not finite, a step that is missing or there twice, or a
                trajectory in two groups. The message names the trajectory.
        """
        group_codes, group_labels = encode_keys(key_column(group, "group"), "group")
        num_rows = len(group_codes)
        codes, labels = encode_keys(
            key_column(trajectory, "trajectory", num_rows), "trajectory"
        )
        state, state_labels = encode_keys(
            key_column(state_key, "state_key", num_rows), "state_key"
        )
        steps = integer_column(step, "step", num_rows)
        starts, order = _order_rows(codes, steps, labels)
        return cls(
            group=group_codes,
            trajectory=codes,
            step=steps,
            state=state,
            reward=_finite_rewards(reward, codes, steps, labels),
            valid=(
                np.ones(num_rows, np.bool_)
                if valid is None
                else boolean_column(valid, "valid", num_rows)
            ),
            trajectory_group=_group_of_each(codes, group_codes, labels, group_labels),
            trajectory_success=(
                None
                if success is None
                else _one_per_trajectory(
                    boolean_column(success, "success", num_rows), codes, labels
                )
            ),
            trajectory_start=starts,
            order=order,
            group_labels=group_labels,
            trajectory_labels=labels,
            state_labels=state_labels,
        )

    def __len__(self) -> int:
        return len(self.group)

    @property
    def num_groups(self) -> int:
        """G."""
        return len(self.group_labels)

    @property
    def num_trajectories(self) -> int:
        """E."""
        return len(self.trajectory_labels)

    @property
    def trajectory_length(self) -> NDArray[np.int64]:
        """Steps of each trajectory, int64 [E]."""
        return np.diff(self.trajectory_start, append=len(self))

    @property
    def num_steps_left(self) -> NDArray[np.int64]:
        """Rows that follow in the same trajectory, int64 [R]."""
        return self.trajectory_length[self.trajectory] - 1 - self.step


def _finite_rewards(
    values: ArrayLike,
    trajectory: NDArray[np.int64],
    step: NDArray[np.int64],
    labels: Sequence[Hashable],
) -> NDArray[np.float64]:
    rewards = number_column(values, "reward", len(step))
    wrong = np.flatnonzero(~np.isfinite(rewards))
    if len(wrong):
        row = wrong[0]
        raise CreditError(
            f"reward {rewards[row]} at step {step[row]} of trajectory "
            f"{labels[trajectory[row]]!r} ({len(wrong)} such rows): rewards must be "
            "finite; leave a failed episode out of the table as a whole"
        )
    return rewards


def _order_rows(
    trajectory: NDArray[np.int64], step: NDArray[np.int64], labels: Sequence[Hashable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each trajectory starts, [E], and the rows in that order, [R]; linear."""
    length = np.bincount(trajectory)
    starts = np.cumsum(length) - length
    is_inside = (step >= 0) & (step < length[trajectory])
    position = np.where(is_inside, starts[trajectory] + step, 0)
    order = np.full(len(step), -1)
    order[position[is_inside]] = np.flatnonzero(is_inside)
    if np.any(order < 0):
        raise CreditError(_step_message(trajectory, step, labels))
    return starts.astype(np.int64), order


def _step_message(
    trajectory: NDArray[np.int64], step: NDArray[np.int64], labels: Sequence[Hashable]
) -> str:
    """What is wrong with the first trajectory whose steps are not 0 .. T-1."""
    length = np.bincount(trajectory)
    rows = np.lexsort((step, trajectory))
    expected = np.arange(len(rows)) - (np.cumsum(length) - length)[trajectory[rows]]
    row = rows[np.flatnonzero(step[rows] != expected)[0]]
    label = labels[trajectory[row]]
    steps = step[trajectory == trajectory[row]]
    values, counts = np.unique(steps, return_counts=True)
    if counts.max() > 1:
        return (
            f"trajectory {label!r} has step {values[counts > 1][0]} {counts.max()} "
            "times; each (trajectory, step) pair may stand in one row only, so pad "
            "after credit assignment, not before, and make trajectory keys unique over "
            "all groups"
        )
    missing = np.setdiff1d(np.arange(len(steps)), values)[0]
    return (
        f"trajectory {label!r} has {len(steps)} rows but no step {missing} (its steps "
        f"run from {values[0]} to {values[-1]}); steps count 0, 1, 2, ... without gaps"
    )


def _group_of_each(
    trajectory: NDArray[np.int64],
    group: NDArray[np.int64],
    labels: Sequence[Hashable],
    group_labels: Sequence[Hashable],
) -> NDArray[np.int64]:
    group_of = np.empty(len(labels), np.int64)
    group_of[trajectory] = group
    wrong = np.flatnonzero(group_of[trajectory] != group)
    if len(wrong):
        code = trajectory[wrong[0]]
        raise CreditError(
            f"trajectory {labels[code]!r} is in group "
            f"{group_labels[group[wrong[0]]]!r} and in group "
            f"{group_labels[group_of[code]]!r}; make trajectory keys unique over all "
            "groups, e.g. (group, member)"
        )
    return group_of


def _one_per_trajectory(
    flags: NDArray[np.bool_], trajectory: NDArray[np.int64], labels: Sequence[Hashable]
) -> NDArray[np.bool_]:
    flag_of = np.empty(len(labels), np.bool_)
    flag_of[trajectory] = flags
    wrong = np.flatnonzero(flag_of[trajectory] != flags)
    if len(wrong):
        raise CreditError(
            "column 'success' changes along trajectory "
            f"{labels[trajectory[wrong[0]]]!r}; it is a property of the whole "
            "trajectory"
        )
    return flag_of
