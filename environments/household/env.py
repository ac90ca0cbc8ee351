"""``Household-v0``: generated houses, the environment that needs no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from environments.alfworld.house_env import Anchor, Game, HouseEnv
from environments.alfworld.simulator import Simulator
from environments.household.generator import SIZES
from environments.household.tasks import (
    SPLITS,
    TASK_TYPES,
    house_of_task,
    house_tasks,
)
from environments.styled_prompt import PromptSetting
from environments.tasks import TaskSet

MAX_EPISODE_STEPS = {"tiny": 20, "small": 30, "full": 50}


class HouseholdEnv(HouseEnv):
    """Household tasks in rooms made from seeds.

    Example::

        env = HouseholdEnv(size="tiny", prompt={"style": "compact"})
        observation, info = env.reset(options={"task": env.tasks("eval")[0]})
        observation, reward, terminated, truncated, info = env.step("look")

    Args:
        size: ``"tiny"`` (5 receptacles, a small vocabulary), ``"small"`` (8-12) or
            ``"full"`` (16-30, as in the official games).
        task_types: The types that the splits hold, by official name; all six by
            default.
        num_train_tasks: Size of the training split.
        num_eval_tasks: Size of the evaluation panel, a fixed one for every number.
        max_episode_steps: 20, 30 and 50 for the three sizes by default.
        win_reward, anchor, prompt: As in :class:`HouseEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    runs_inline = True
    splits: ClassVar[tuple[str, ...]] = SPLITS

    def __init__(
        self,
        *,
        size: str = "tiny",
        task_types: Sequence[str] = TASK_TYPES,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        max_episode_steps: int | None = None,
        win_reward: float = 10.0,
        anchor: Anchor = "state",
        prompt: PromptSetting = None,
    ) -> None:
        if size not in SIZES:
            raise ValueError(f"size={size!r}: choose one of {list(SIZES)}")
        if max_episode_steps is None:
            max_episode_steps = MAX_EPISODE_STEPS[size]
        super().__init__(
            max_episode_steps=max_episode_steps,
            win_reward=win_reward,
            anchor=anchor,
            prompt=prompt,
        )
        self.size = size
        self.task_types = _checked_types(task_types)
        self._num_tasks = {"train": num_train_tasks, "eval": num_eval_tasks}

    def tasks(self, split: str) -> TaskSet:
        """The houses of a split, its task types in turn; see :meth:`TextEnv.tasks`."""
        return house_tasks(
            split,
            size=self.size,
            task_types=self.task_types,
            num_tasks=self._num_tasks.get(split),
        )

    def _start_game(self, task_id: str) -> tuple[Game, str]:
        house = house_of_task(task_id)
        return Simulator(house), house.problem.instruction


def _checked_types(task_types: Sequence[str]) -> tuple[str, ...]:
    types = (task_types,) if isinstance(task_types, str) else tuple(task_types)
    unknown = sorted(set(types) - set(TASK_TYPES))
    if unknown:
        raise ValueError(f"task types {unknown}: choose from {list(TASK_TYPES)}")
    if not types or len(set(types)) < len(types):
        raise ValueError(f"task_types={list(types)}: name each type once, at least one")
    return types
