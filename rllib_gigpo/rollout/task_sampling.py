"""Which groups to play: training tasks drawn by seed, evaluation panels in full.

Invariant: a draw depends on (seed, number of draws before it) only. The order of the
tasks, their seeds and ids are the same for any number of runners, and go on after a
restore as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from environments.tasks import Task
from rllib_gigpo.rollout.records import GroupSpec

_TRAINING, _EVALUATION, _ORDER = 1, 2, 3

_LARGEST_SHUFFLED = 1 << 20
"""Task sets beyond this size are drawn from with replacement."""


class TaskSampler:
    """An endless draw of groups from the training tasks, epoch by epoch.

    Each epoch goes through all tasks once in an order of its own. The only state is
    ``num_drawn``.
    """

    def __init__(self, tasks: Sequence[Task], *, seed: int, group_size: int) -> None:
        if not len(tasks):
            raise ValueError("there are no training tasks to draw from")
        self.num_drawn = 0
        self._tasks = tasks
        self._seed = seed
        self._group_size = group_size
        self._epoch: tuple[int, np.ndarray] | None = None

    def draw(
        self, num_groups: int, *, prefix: str, temperature: float
    ) -> list[GroupSpec]:
        """The next groups; their ids start with ``prefix`` and are never repeated."""
        specs = []
        for _ in range(num_groups):
            specs.append(
                _spec(
                    self._tasks[self._task_index(self.num_drawn)],
                    f"{prefix}/{self.num_drawn}",
                    self._group_size,
                    temperature,
                    [self._seed, _TRAINING, self.num_drawn],
                )
            )
            self.num_drawn += 1
        return specs

    def _task_index(self, position: int) -> int:
        size = len(self._tasks)
        if size > _LARGEST_SHUFFLED:
            rng = np.random.default_rng([self._seed, _ORDER, position])
            return int(rng.integers(size))
        epoch, offset = divmod(position, size)
        if self._epoch is None or self._epoch[0] != epoch:
            rng = np.random.default_rng([self._seed, _ORDER, epoch])
            self._epoch = (epoch, rng.permutation(size))
        return int(self._epoch[1][offset])


def evaluation_panel(
    tasks: Sequence[Task],
    *,
    seed: int,
    num_tasks: int | None,
    episodes_per_task: int,
    temperature: float,
) -> list[GroupSpec]:
    """The same groups at every evaluation: the first ``num_tasks`` tasks, or all.

    Each task's seeds depend on (seed, its index) only, so a result does not depend on
    how the panel is cut into batches.
    """
    size = len(tasks) if num_tasks is None else min(num_tasks, len(tasks))
    return [
        _spec(
            tasks[index],
            f"evaluation/{index}",
            episodes_per_task,
            temperature,
            [seed, _EVALUATION, index],
        )
        for index in range(size)
    ]


def _spec(
    task: Task, group_id: str, group_size: int, temperature: float, entropy: list[int]
) -> GroupSpec:
    env_seed, sampling_seed = np.random.SeedSequence(entropy).generate_state(2)
    return GroupSpec(
        group_id=group_id,
        task_id=task.id,
        task_kind=task.kind,
        env_seed=int(env_seed),
        sampling_seed=int(sampling_seed),
        group_size=group_size,
        temperature=temperature,
    )
