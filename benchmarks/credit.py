"""Rows per second of credit assignment, and its speed against the official code's.

Run: ``python -m benchmarks.credit [--max-rows N] [--official PATH]``, where PATH is a
checkout of github.com/langfengQ/verl-agent. Tables are like early ALFWorld rollouts:
groups of 8 episodes of very different length, few states that many steps share. Figures
are of processor time on one core, the best of several runs, from columns to advantages.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.official_credit import OfficialCredit
from rllib_gigpo.credit import Credit, CreditConfig, StepTable, assign_credit

_GROUP_SIZE = 8
_MAX_STEPS = 50
_STATES = 60
_ROWS_AGAINST_OFFICIAL = 4_000
_TRAJECTORIES_AGAINST_OFFICIAL = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """R rows in order, as a rollout gives them.

    Attributes:
        group: R task names.
        trajectory: R episode names.
        step: int64 [R].
        state_key: R observation texts.
        reward: float64 [R]; 10 at the last step of a success, else 0.
    """

    group: list[str]
    trajectory: list[str]
    step: np.ndarray
    state_key: list[str]
    reward: np.ndarray


def sampled_columns(lengths: np.ndarray, seed: int = 0) -> Columns:
    """Random play: ``lengths`` are the steps of each trajectory, int64 [E]."""
    rng = np.random.default_rng(seed)
    num_rows = int(lengths.sum())
    trajectory = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    reward = np.zeros(num_rows)
    is_success = rng.random(len(lengths)) < 0.5
    reward[(starts + lengths - 1)[is_success]] = 10.0
    # A square, so that some states are visited far more than others.
    state = (_STATES * rng.random(num_rows) ** 2).astype(np.int64)
    groups = [f"task {g}" for g in range(len(lengths) // _GROUP_SIZE + 1)]
    trajectories = [f"episode {t}" for t in range(len(lengths))]
    texts = [f"You arrive at cabinet {s}. It is closed." for s in range(_STATES)]
    return Columns(
        group=[groups[t // _GROUP_SIZE] for t in trajectory.tolist()],
        trajectory=[trajectories[t] for t in trajectory.tolist()],
        step=np.arange(num_rows) - starts[trajectory],
        state_key=[texts[s] for s in state.tolist()],
        reward=reward,
    )


def sampled_lengths(num_rows: int, seed: int = 0) -> np.ndarray:
    """Steps of each trajectory, int64 [E], 1 to 50, with ``num_rows`` in all."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(1, _MAX_STEPS + 1, size=num_rows))
    ends = np.append(ends[ends < num_rows], num_rows)
    return np.diff(ends, prepend=0)


def lengths_of(num_rows: int, num_trajectories: int, seed: int = 0) -> np.ndarray:
    """Steps of so many trajectories, int64 [E], at least 1 and ``num_rows`` in all."""
    rng = np.random.default_rng(seed)
    cuts = rng.choice(np.arange(1, num_rows), num_trajectories - 1, replace=False)
    return np.diff(np.sort(cuts), prepend=0, append=num_rows)


def assign(columns: Columns, config: CreditConfig) -> Credit:
    """What is measured: check the columns, then assign credit."""
    table = StepTable.from_columns(
        group=columns.group,
        trajectory=columns.trajectory,
        step=columns.step,
        state_key=columns.state_key,
        reward=columns.reward,
    )
    return assign_credit(table, config)


def best_time_s(call: Callable[[], object], num_runs: int) -> float:
    """Least processor time of a call."""
    times = []
    for _ in range(num_runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def print_scaling(max_rows: int) -> None:
    """Rows per second for 10**3 rows and every power of ten up to ``max_rows``."""
    print(f"{'rows':>10} {'seconds':>9} {'rows/s':>12}")
    num_rows = 1_000
    while num_rows <= max_rows:
        columns = sampled_columns(sampled_lengths(num_rows))
        seconds = best_time_s(
            partial(assign, columns, CreditConfig()),
            num_runs=2 if num_rows > 1_000_000 else 5,
        )
        speed = num_rows / seconds
        print(f"{num_rows:>10,} {seconds:>9.4f} {speed:>12,.0f}", flush=True)
        num_rows *= 10


def print_against_official(path: Path) -> None:
    """Both on the same 4,000 rows of 128 trajectories, with the official options."""
    columns = sampled_columns(
        lengths_of(_ROWS_AGAINST_OFFICIAL, _TRAJECTORIES_AGAINST_OFFICIAL)
    )
    config = CreditConfig(episode_unit="step", lone_episode="raw")
    official = OfficialCredit(path)
    official_inputs = official.inputs(
        group=columns.group,
        trajectory=columns.trajectory,
        state_key=columns.state_key,
        reward=columns.reward,
    )
    difference = np.abs(
        official.advantage(official_inputs, config) - assign(columns, config).advantage
    )
    theirs = best_time_s(partial(official.advantage, official_inputs, config), 5)
    ours = best_time_s(partial(assign, columns, config), 20)
    print(
        f"\n{_ROWS_AGAINST_OFFICIAL:,} rows of {_TRAJECTORIES_AGAINST_OFFICIAL} "
        f"trajectories: official {theirs * 1e3:.1f} ms, here {ours * 1e3:.2f} ms, "
        f"{theirs / ours:.0f} times as fast; largest difference {difference.max():.1e}"
    )


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--max-rows", type=int, default=10_000_000)
    parser.add_argument("--official", type=Path, help="checkout of verl-agent")
    arguments = parser.parse_args()
    print_scaling(arguments.max_rows)
    if arguments.official is not None:
        print_against_official(arguments.official)


if __name__ == "__main__":
    main()
