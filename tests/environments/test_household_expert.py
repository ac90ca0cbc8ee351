"""The expert wins every game; knowing all it is near-shortest, searching it is fair."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from environments.alfworld.expert import Expert
from environments.alfworld.games import GAME_FILE
from environments.alfworld.pddl import read_game
from environments.alfworld.problem import TaskType
from environments.alfworld.simulator import Simulator
from environments.household.env import HouseholdEnv
from environments.household.tasks import house_of_task

LIMIT = 50


def num_commands(simulator: Simulator, *, explores: bool) -> int:
    """Commands to the win; fails beyond the official limit of an episode."""
    expert = Expert(simulator, explores=explores)
    for count in range(LIMIT + 1):
        if simulator.won:
            return count
        action = expert.next_action().action
        assert action in simulator.admissible_commands()
        simulator.step(action)
    raise AssertionError(f"not won within {LIMIT} commands")


def lengths(path: Path) -> tuple[TaskType, int, int, int]:
    """Task type; commands of the walkthrough, knowing all, and searching."""
    problem = read_game(path)
    walkthrough = json.loads(path.read_text(encoding="utf-8"))["walkthrough"]
    return (
        problem.goal.task_type,
        len(walkthrough),
        num_commands(Simulator(problem), explores=False),
        num_commands(Simulator(problem), explores=True),
    )


def check_lengths(paths: list[Path]) -> dict[TaskType, list[float]]:
    """Mean lengths per task type, after a check of those that know all."""
    per_type = defaultdict(list)
    for path in paths:
        task_type, walkthrough, knowing, searching = lengths(path)
        assert knowing <= walkthrough + 2, path
        per_type[task_type].append((walkthrough, knowing, searching))
    means = {
        task_type: [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        for task_type, rows in per_type.items()
    }
    assert set(means) == set(TaskType)
    for walkthrough, knowing, _ in means.values():
        assert knowing < 1.05 * walkthrough
    return means


def test_a_sample_of_official_games_is_won_near_the_walkthrough(
    official_games: Path,
) -> None:
    check_lengths(sorted(official_games.rglob(GAME_FILE))[::40])


@pytest.mark.slow
def test_every_official_game_is_won_near_the_walkthrough(official_games: Path) -> None:
    means = check_lengths(sorted(official_games.rglob(GAME_FILE)))
    print("\nmean commands of walkthrough, of the expert knowing all, and searching")
    for task_type, columns in means.items():
        print(f"{task_type:32}", *(f"{mean:7.2f}" for mean in columns))


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
@pytest.mark.parametrize("explores", [False, True])
def test_generated_houses_of_every_type_are_won(size: str, explores: bool) -> None:
    for task in HouseholdEnv(size=size).tasks("eval"):
        num_commands(Simulator(house_of_task(task.id)), explores=explores)


@pytest.mark.parametrize("size", ["tiny", "small", "full"])
def test_it_finds_the_way_from_wherever_random_play_led(size: str) -> None:
    chance = random.Random(0)
    for task in HouseholdEnv(size=size).tasks("train")[:120]:
        simulator = Simulator(house_of_task(task.id))
        for _ in range(30):
            simulator.step(chance.choice(simulator.admissible_commands()))
        num_commands(simulator, explores=False)


def test_the_environment_s_own_expert_sees_what_was_shown_only() -> None:
    env = HouseholdEnv(size="full")
    task = env.tasks("train")[0]
    env.reset(options={"task": task})
    searched = num_commands(env.simulator, explores=True)
    env.reset(options={"task": task})
    expert, count, is_over = env.expert(), 0, False
    while not is_over:
        *_, terminated, truncated, info = env.step(expert.next_action().action)
        is_over, count = terminated or truncated, count + 1
    assert info["success"]
    assert count == searched
