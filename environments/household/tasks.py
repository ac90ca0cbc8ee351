"""The tasks of generated houses, by id: ``<split>/<size>/<task type>/<number>``.

An id says everything about its house, so any process can build it. The splits draw
their houses from disjoint seeds; the evaluation split is a fixed panel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from environments.alfworld.house import House
from environments.alfworld.problem import Problem, TaskType
from environments.household.generator import SIZES, generate_problem
from environments.tasks import Task, TaskSet

SPLITS = ("train", "eval")
NUM_TRAIN_TASKS = 1_000_000
NUM_EVAL_TASKS = 128
TASK_TYPES = tuple(task_type.value for task_type in TaskType)

_TASK_ID = re.compile(
    rf"({'|'.join(SPLITS)})/({'|'.join(SIZES)})/({'|'.join(TASK_TYPES)})"
    r"/(0|[1-9][0-9]{0,8})"
)


def house_tasks(
    split: str,
    *,
    size: str,
    task_types: Sequence[str] = TASK_TYPES,
    num_tasks: int | None = None,
) -> TaskSet:
    """The tasks of a split, the task types in turn, so that each is as frequent.

    Args:
        split: ``"train"`` or ``"eval"``.
        size: A key of ``SIZES``.
        task_types: Which types, in this order.
        num_tasks: How many; a million for training and 128 for evaluation by default.

    Raises:
        ValueError: The split is unknown; the message names the known ones.
    """
    if split not in SPLITS:
        raise ValueError(f"split {split!r}: choose one of {list(SPLITS)}")
    if num_tasks is None:
        num_tasks = NUM_TRAIN_TASKS if split == "train" else NUM_EVAL_TASKS
    types = tuple(task_types)

    def make(index: int) -> Task:
        number, type_index = divmod(index, len(types))
        kind = types[type_index]
        return Task(id=f"{split}/{size}/{kind}/{number}", kind=kind)

    return TaskSet(split, num_tasks, make)


@lru_cache(maxsize=512)
def house_of_task(task_id: str) -> House:
    """The house of a task; kept, since the episodes of a group share it.

    Raises:
        ValueError: The id is none of a generated house.
    """
    return House(problem_of_task(task_id))


def problem_of_task(task_id: str) -> Problem:
    """The problem of a task, made anew.

    Raises:
        ValueError: The id is none of a generated house.
    """
    match = _TASK_ID.fullmatch(task_id)
    if match is None:
        raise ValueError(
            f"{task_id!r} is no generated house; ids look like "
            f"'train/tiny/{TaskType.HEAT.value}/7': a split of {list(SPLITS)}, a size "
            f"of {list(SIZES)}, a task type of {list(TASK_TYPES)}, and a number"
        )
    split, size, task_type, number = match.groups()
    seed = (SPLITS.index(split), int(number))
    return generate_problem(TaskType(task_type), size, seed)
