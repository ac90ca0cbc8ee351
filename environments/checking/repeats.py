"""Same task and same seed: the same episode, whatever was played before."""

from __future__ import annotations

from dataclasses import fields

from environments.checking.episodes import Episode, Moment, as_before, at_random, play
from environments.checking.requirement import require, shortened
from environments.errors import ContractError
from environments.tasks import Task
from environments.text_env import TextEnv

_NO_TASK = "no such task"


def check_repeats(env: TextEnv, episodes: list[Episode], max_steps: int) -> None:
    """Play episodes again, last one first, each after a reset amid another one.

    Raises:
        ContractError: One differs; the message says where first.
    """
    for episode in reversed(episodes):
        env.reset(seed=episode.seed + 1, options={"task": episodes[0].task_id})
        env.step(episodes[0].actions[0])
        again = play(
            env,
            episode.task_id,
            episode.seed,
            as_before(episode.actions),
            max_steps,
        )
        difference = first_difference(episode, again)
        require(
            not difference,
            f"playing task {episode.task_id!r} twice with seed {episode.seed} and the "
            f"same actions gives two episodes; first difference: {difference}",
            "let (task, seed) alone decide: set everything anew in reset, draw from "
            "self.np_random only, never iterate over a set, use no clock",
        )


def first_difference(one: Episode, other: Episode) -> str:
    """Where and in what two episodes differ first; empty if they are the same."""
    for number, (a, b) in enumerate(zip(one.moments, other.moments, strict=False)):
        where = f"after step {number}" if number else "after reset"
        name = _differing_field(a, b)
        if name:
            x, y = _value(a, name), _value(b, name)
            return f"{name} {where} ({shortened(x)} and then {shortened(y)})"
    if len(one.moments) != len(other.moments):
        return f"{len(one.actions)} steps and then {len(other.actions)}"
    return ""


def check_reset_options(env: TextEnv, task: Task) -> None:
    """Check the ways to name a task, or to leave its choice to the seed.

    Raises:
        ContractError: They do not work as documented.
    """
    by_id = env.reset(seed=0, options={"task": task.id})
    require(
        env.reset(seed=0, options={"task": task}) == by_id,
        "reset with a Task and with its id are not the same",
        "read the option by task_id_of(options)",
    )
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in (3, 4, 3)]
    require(
        drawn[0] == drawn[2],
        f"reset(seed=3) without a task draws {drawn[0]!r} and then {drawn[2]!r}",
        "draw the task by self.np_random after super().reset(seed=seed)",
    )
    _check_refused(env, {"task": _NO_TASK})
    _check_refused(env, {"no such option": 1})


def _check_refused(env: TextEnv, options: dict[str, object]) -> None:
    try:
        env.reset(seed=0, options=options)
    except ValueError:
        return
    except Exception as error:
        raise ContractError(
            f"reset(options={options}) raises {type(error).__name__}: raise a "
            "ValueError that says what is possible"
        ) from error
    require(
        False,
        f"reset(options={options}) is accepted",
        "raise a ValueError; task_id_of(options) does it for unknown options",
    )


def _differing_field(a: Moment, b: Moment) -> str:
    for field in fields(Moment):
        if field.name != "info" and getattr(a, field.name) != getattr(b, field.name):
            return field.name
    for key in a.info:
        if a.info[key] != b.info[key]:  # type: ignore[literal-required]
            return f"info[{key!r}]"
    return ""


def _value(moment: Moment, name: str) -> object:
    if name.startswith("info["):
        key = name.removeprefix("info['").removesuffix("']")
        value: object = moment.info[key]  # type: ignore[literal-required]
        return value
    return getattr(moment, name)


def play_sample(
    env: TextEnv,
    tasks: list[Task],
    seed: int,
    actions: tuple[str, ...],
    max_steps: int,
    num_episodes: int = 2,
) -> list[Episode]:
    """Several episodes of random play of each task, all with one seed."""
    return [
        play(env, task.id, seed, at_random(f"{seed} {task.id} {n}", actions), max_steps)
        for task in tasks
        for n in range(num_episodes)
    ]
