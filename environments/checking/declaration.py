"""What an environment states before any episode: spaces, splits, tasks, prompt."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium

from environments.checking.requirement import require, shortened
from environments.tasks import Task
from environments.text_env import TextEnv

_MOST_LISTED = 2_000
_NO_SPLIT = "no such split"


def check_declaration(env: TextEnv) -> None:
    """Check spaces, ``runs_inline``, ``splits`` and that there is a prompt template.

    Raises:
        ContractError: One of them is not as it should be.
    """
    for name in ("observation_space", "action_space"):
        space = getattr(env, name, None)
        require(
            isinstance(space, gymnasium.spaces.Text),
            f"{name} is {shortened(space)}",
            "set it to a gymnasium.spaces.Text in __init__",
        )
    require(
        isinstance(env.runs_inline, bool),
        f"runs_inline is {env.runs_inline!r}",
        "set it to True if reset and step return within milliseconds, else to False",
    )
    splits = getattr(env, "splits", None)
    require(
        isinstance(splits, tuple)
        and bool(splits)
        and all(isinstance(split, str) and split for split in splits)
        and len(set(splits)) == len(splits),
        f"splits is {shortened(splits)}",
        "name the splits in a tuple of different strings, training split first",
    )
    require(
        getattr(env, "prompt", None) is not None,
        "there is no prompt template",
        "set self.prompt in __init__, e.g. to a GamePrompt",
    )


def check_tasks(env: TextEnv) -> None:
    """Check that the tasks of every split are sized, indexable and always the same.

    Raises:
        ContractError: They are not.
    """
    for split in env.splits:
        _check_split(env, split)
    try:
        env.tasks(_NO_SPLIT)
    except ValueError as error:
        require(
            any(split in str(error) for split in env.splits),
            f"tasks({_NO_SPLIT!r}) says only {str(error)!r}",
            "name the known splits in the message",
        )
    else:
        require(
            False,
            f"tasks({_NO_SPLIT!r}) is answered with tasks",
            "raise a ValueError that names the known splits",
        )


def sample_tasks(env: TextEnv, num_tasks: int) -> list[Task]:
    """Tasks of every split, from its first to its last at even distances."""
    sample = []
    for split in env.splits:
        tasks = env.tasks(split)
        last = len(tasks) - 1
        steps = max(1, num_tasks - 1)
        picked = {round(n * last / steps) for n in range(num_tasks)}
        sample += [tasks[index] for index in sorted(picked)]
    return sample


def _check_split(env: TextEnv, split: str) -> None:
    where = f"tasks({split!r})"
    tasks = env.tasks(split)
    require(
        isinstance(tasks, Sequence),
        f"{where} is a {type(tasks).__name__}",
        "return a TaskSet",
    )
    size = len(tasks)
    require(size > 0, f"{where} is empty", "list a task, or leave the split out")
    require(
        len(env.tasks(split)) == size,
        f"{where} has another size when asked again",
        "let it depend on the settings of the environment alone",
    )
    few = range(min(size, _MOST_LISTED))
    listed = [tasks[index] for index in few]
    for index, task in enumerate(listed):
        require(
            isinstance(task, Task) and isinstance(task.id, str) and bool(task.id),
            f"{where}[{index}] is {shortened(task)}",
            "give a Task with an id",
        )
    again = env.tasks(split)
    changed = [index for index in few if again[index] != listed[index]]
    require(
        not changed,
        f"{where}[{changed[:1]}] is another task when asked again",
        "sort what comes from a folder or a set, and draw tasks from a fixed seed",
    )
    num_different = len({task.id for task in listed})
    require(
        num_different == len(listed),
        f"the first {len(listed)} of {where} have only {num_different} different ids",
        "give every task an id of its own",
    )
    require(
        tasks[-1] == tasks[size - 1],
        f"{where}[-1] is not its last task",
        "return a TaskSet",
    )
    require(
        _ends(tasks, size),
        f"{where}[{size}] is no IndexError, although there are {size} tasks",
        "return a TaskSet",
    )


def _ends(tasks: Sequence[Task], size: int) -> bool:
    try:
        tasks[size]
    except IndexError:
        return True
    return False
