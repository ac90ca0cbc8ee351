"""Steps per second of the environments here and of the programs they stand in for.

Run: ``python -m benchmarks.environments [--data FOLDER] [--webshop-data FOLDER]
[--num-steps N]``. Random play over many games, with the admissible actions listed and
the state key made each step; the time of resets is in. Queries are random words of the
instruction. Figures are per second of processor time, on one core.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.alfworld.env import AlfworldEnv
from environments.cards.blackjack import BlackjackEnv
from environments.cards.formula_envs import EZPointsEnv, Points24Env
from environments.cards.number_line import NumberLineEnv
from environments.errors import MissingDataError
from environments.sokoban.env import SokobanEnv
from environments.tasks import Task
from environments.text_env import TextEnv
from environments.webshop.env import WebShopEnv

_NUM_TASKS = 50
_GENERATED_GAMES: tuple[type[TextEnv], ...] = (
    SokobanEnv,
    NumberLineEnv,
    EZPointsEnv,
    Points24Env,
    BlackjackEnv,
)
_PLACEHOLDER = re.compile(r"<[a-z ]+>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One way to play the tasks of an environment.

    Attributes:
        name: E.g. ``"ALFWorld"``; rows of one name are compared.
        backend: What plays.
        make: Makes the environment.
        split: Whose first tasks are played.
        num_steps_fraction: Of the asked number of steps; small for slow programs.
    """

    name: str
    backend: str
    make: Callable[[], TextEnv]
    split: str
    num_steps_fraction: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What was measured.

    Attributes:
        ready_s: Time to make the environment, its data included.
        first_reset_s: Time of a task's first reset, its loading included; the mean.
        steps_per_s: Steps per second of random play.
    """

    ready_s: float
    first_reset_s: float
    steps_per_s: float


def contestants(data: str | None, webshop_data: str | None) -> list[Contestant]:
    """Everything that is measured, those to be compared one after the other.

    Args:
        data: The ALFWorld data folder, or None for its default.
        webshop_data: WebShop's, or None for its default.
    """
    return [
        Contestant(
            name="ALFWorld",
            backend="native",
            make=lambda: AlfworldEnv(data=data),
            split="valid_seen",
        ),
        Contestant(
            name="ALFWorld",
            backend="TextWorld",
            make=lambda: AlfworldEnv(data=data, backend="textworld"),
            split="valid_seen",
            num_steps_fraction=0.002,
        ),
        Contestant(
            name="WebShop",
            backend="text",
            make=lambda: WebShopEnv(world="official", data=webshop_data),
            split="eval",
        ),
        Contestant(
            name="WebShop",
            backend="text_rich",
            make=lambda: WebShopEnv(
                world="official", data=webshop_data, observation_mode="text_rich"
            ),
            split="eval",
        ),
        *(
            Contestant(name=make.__name__, backend="native", make=make, split="train")
            for make in _GENERATED_GAMES
        ),
    ]


def measure(contestant: Contestant, num_steps: int) -> Speed:
    """Load and play the tasks of one contestant.

    Raises:
        MissingDataError: It needs data that is not there.
        ImportError: It needs a program that is not installed.
    """
    start = time.process_time()
    env = contestant.make()
    ready_s = time.process_time() - start
    num_own_steps = max(1, round(num_steps * contestant.num_steps_fraction))
    # A slow program would spend the measurement on loading game after game.
    num_tasks = min(_NUM_TASKS, max(1, num_own_steps // 50))
    tasks = env.tasks(contestant.split)[:num_tasks]
    start = time.process_time()
    for task in tasks:
        env.reset(options={"task": task})
    first_reset_s = (time.process_time() - start) / len(tasks)
    steps_per_s = steps_per_second(env, tasks, num_own_steps)
    return Speed(ready_s=ready_s, first_reset_s=first_reset_s, steps_per_s=steps_per_s)


def steps_per_second(env: TextEnv, tasks: Sequence[Task], num_steps: int) -> float:
    """Random play, task after task, in steps per second of processor time.

    Args:
        env: Must list its admissible actions.
        tasks: Played in turn.
        num_steps: How many to play in all.
    """
    chance = random.Random(0)
    start = time.process_time()
    task_number = -1
    is_over = True
    for _ in range(num_steps):
        if is_over:
            task_number = (task_number + 1) % len(tasks)
            _, info = env.reset(options={"task": tasks[task_number]})
        action = chance.choice(info["admissible_actions"] or ("",))
        if "<" in action:
            action = _filled_in(action, info["instruction"], chance)
        _, _, terminated, truncated, info = env.step(action)
        is_over = terminated or truncated
    return num_steps / (time.process_time() - start)


def _filled_in(action: str, instruction: str, chance: random.Random) -> str:
    """The action with random words of the instruction in place of a placeholder."""
    words = " ".join(chance.choices(instruction.split(), k=4))
    return _PLACEHOLDER.sub(lambda _: words, action)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="the ALFWorld data folder")
    parser.add_argument("--webshop-data", help="the WebShop data folder")
    parser.add_argument("--num-steps", type=int, default=100_000)
    arguments = parser.parse_args()
    heads = f"{'ready':>10}{'first reset':>14}{'steps/s':>12}"
    print(f"{'environment':<14}{'backend':<12}{heads}")
    for contestant in contestants(arguments.data, arguments.webshop_data):
        label = f"{contestant.name:<14}{contestant.backend:<12}"
        try:
            speed = measure(contestant, arguments.num_steps)
        except (MissingDataError, ImportError) as error:
            print(f"{label}  not measured: {error}")
            continue
        reset = f"{speed.first_reset_s * 1000:.1f} ms"
        ready = f"{speed.ready_s:.2f} s"
        print(f"{label}{ready:>10}{reset:>14}{speed.steps_per_s:>12,.0f}")


if __name__ == "__main__":
    main()
