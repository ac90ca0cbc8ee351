"""``ALFWorld-v0``: the official household games."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from environments.alfworld.games import (
    SPLITS,
    data_folder,
    game_file,
    game_of_task,
    house_of_game,
    list_games,
)
from environments.alfworld.house_env import Anchor, Game, HouseEnv
from environments.alfworld.simulator import Simulator
from environments.choices import check_choice
from environments.styled_prompt import PromptSetting
from environments.tasks import Task, TaskSet

if TYPE_CHECKING:
    from environments.alfworld.textworld_game import TextWorldGame

Backend: TypeAlias = Literal["native", "textworld"]
_BACKENDS = ("native", "textworld")


class AlfworldEnv(HouseEnv):
    """The official games, all of a split or a single one.

    Example::

        env = AlfworldEnv(data="~/.cache/alfworld")
        observation, info = env.reset(options={"task": env.tasks("valid_seen")[0]})
        observation, reward, terminated, truncated, info = env.step("go to desk 1")

    Args:
        game: A game file or its folder; that game is then the only task, in every
            split. Excludes ``data``.
        data: The folder with the splits, or one above it; see
            :func:`environments.alfworld.games.data_folder` for it and its default.
        backend: ``"native"``, or ``"textworld"`` to play the very same games by the
            original program (extra ``alfworld``), about a thousand times slower.
        max_episode_steps, win_reward, anchor, prompt: As in :class:`HouseEnv`.

    Raises:
        MissingDataError: The games are not there; the message says how to get them.
        ValueError: A setting is out of range, or both ``game`` and ``data`` are given.
    """

    splits: ClassVar[tuple[str, ...]] = SPLITS

    def __init__(
        self,
        *,
        game: str | os.PathLike[str] | None = None,
        data: str | os.PathLike[str] | None = None,
        backend: Backend = "native",
        max_episode_steps: int = 50,
        win_reward: float = 10.0,
        anchor: Anchor = "state",
        prompt: PromptSetting = None,
    ) -> None:
        super().__init__(
            max_episode_steps=max_episode_steps,
            win_reward=win_reward,
            anchor=anchor,
            prompt=prompt,
        )
        check_choice("backend", backend, _BACKENDS)
        if game is not None and data is not None:
            raise ValueError("give either one game or a folder of data, not both")
        self.backend = backend
        self.runs_inline = backend == "native"
        self._textworld: TextWorldGame | None = None
        self._single_game: Path | None = None
        if game is not None:
            self._single_game = game_file(game).resolve()
            self._single_task = _task_of_path(self._single_game)
        else:
            self._folder = data_folder(data)

    def tasks(self, split: str) -> TaskSet:
        """The games of a split, sorted by id; see :meth:`TextEnv.tasks`."""
        if split not in SPLITS:
            raise ValueError(f"split {split!r}: choose one of {list(SPLITS)}")
        if self._single_game is not None:
            return TaskSet.of(split, [self._single_task])
        return TaskSet.of(split, list_games(self._folder, split))

    def _start_game(self, task_id: str) -> tuple[Game, str]:
        path = self._path_of(task_id)
        house = house_of_game(path)
        instruction = house.problem.instruction
        if self.backend == "native":
            return Simulator(house), instruction
        if self._textworld is None:
            # Only here, so that TextWorld need not be there for the native engine.
            from environments.alfworld.textworld_game import TextWorldGame

            self._textworld = TextWorldGame()
        self._textworld.load(path, Simulator(house))
        return self._textworld, instruction

    def _path_of(self, task_id: str) -> Path:
        if self._single_game is None:
            return game_of_task(self._folder, task_id)
        if task_id != self._single_task.id:
            raise ValueError(
                f"no task {task_id!r}: the only one is {self._single_task.id!r}"
            )
        return self._single_game


def _task_of_path(path: Path) -> Task:
    """The task of a file, named as in a split: by its three innermost folders."""
    folders = path.parent.parts[-3:]
    return Task(
        id="/".join(folders),
        kind=house_of_game(path).problem.goal.task_type.value,
    )
