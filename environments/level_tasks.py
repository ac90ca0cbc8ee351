"""Tasks of generated games, by id: ``<split>/<level seed>``.

The splits draw from disjoint seeds, those of the published runs: 0 to 65,534 for
training, 65,536 and above for evaluation, which is a fixed panel here.
"""

from __future__ import annotations

import re

from environments.tasks import Task, TaskSet

SPLITS = ("train", "eval")
NUM_EVAL_TASKS = 128
_FIRST_SEEDS = {"train": 0, "eval": 65_536}
_MAX_TASKS = {"train": 65_535, "eval": 2**32 - 1 - 65_536}

_TASK_ID = re.compile(rf"({'|'.join(SPLITS)})/(0|[1-9][0-9]{{0,9}})")


def level_tasks(split: str, *, num_tasks: int | None = None, kind: str = "") -> TaskSet:
    """The levels of a split, in the order of their seeds.

    Args:
        split: ``"train"`` or ``"eval"``.
        num_tasks: How many; all 65,535 for training and 128 for evaluation by default.
        kind: Of every task.

    Raises:
        ValueError: The split is unknown, or has not that many levels.
    """
    _check_split(split)
    if num_tasks is None:
        num_tasks = _MAX_TASKS["train"] if split == "train" else NUM_EVAL_TASKS
    if not 1 <= num_tasks <= _MAX_TASKS[split]:
        raise ValueError(
            f"{num_tasks} tasks of split {split!r}: choose 1 to {_MAX_TASKS[split]}"
        )
    first = _FIRST_SEEDS[split]
    return TaskSet(
        split,
        num_tasks,
        lambda index: Task(id=f"{split}/{first + index}", kind=kind),
    )


def level_seed(task_id: str) -> int:
    """The seed in a task's id.

    Raises:
        ValueError: The id is none of a generated level.
    """
    match = _TASK_ID.fullmatch(task_id)
    if match is not None:
        split, seed = match[1], int(match[2])
        if 0 <= seed - _FIRST_SEEDS[split] < _MAX_TASKS[split]:
            return seed
    raise ValueError(
        f"{task_id!r} is no generated level; ids look like 'train/7' (seeds 0 to "
        f"65534) or 'eval/65536' (seeds 65536 to {2**32 - 2})"
    )


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise ValueError(f"split {split!r}: choose one of {list(SPLITS)}")
