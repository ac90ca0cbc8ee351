"""Episodes of a game: step limit, info and spaces, for all generated games alike.

A :class:`Game` is one play from its start; :class:`GameEnv` makes it an environment.
"""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import gymnasium

from environments.game_prompt import GamePrompt, GameWording
from environments.level_tasks import SPLITS, level_tasks
from environments.styled_prompt import PromptSetting, make_prompt
from environments.tasks import TaskSet
from environments.text_env import StepInfo, TextEnv

_MAX_OBSERVATION = 16_384
_MAX_ACTION = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one action led to.

    Attributes:
        reward: Of this step.
        is_over: Whether the game has ended (terminated).
        is_cut: Whether the game itself refuses to go on (truncated).
        is_rejected: Whether the action was not understood or not possible.
        remark: Said before the observation, e.g. why nothing happened.
    """

    reward: float
    is_over: bool = False
    is_cut: bool = False
    is_rejected: bool = False
    remark: str = ""


class Game(Protocol):
    """One play of a game."""

    @property
    def instruction(self) -> str:
        """What the agent is asked to do, in words."""
        ...

    @property
    def won(self) -> bool:
        """Whether the task is solved in the present state."""
        ...

    def observation(self) -> str:
        """The present state in text."""
        ...

    def admissible_actions(self) -> tuple[str, ...]:
        """The actions that are possible now."""
        ...

    def state_key(self) -> Hashable:
        """Equal exactly when the state that matters for the future is equal."""
        ...

    def play(self, action: str) -> Outcome:
        """Play one action; any string is legal."""
        ...

    def figures(self) -> dict[str, float]:
        """Numbers of the episode so far."""
        ...


G = TypeVar("G", bound=Game)


class GameEnv(TextEnv, Generic[G]):
    """Plays one game an episode, for the rewards that the game gives.

    Args:
        max_episode_steps: Steps after which an episode is truncated; those that were
            not understood count. A win at the last step is a win.
        num_train_tasks: Size of the training split.
        num_eval_tasks: Size of the evaluation panel; a larger one begins with the
            smaller one.
        prompt: How the environment speaks to a model: a template, or the settings of
            a :class:`GamePrompt`, e.g. ``{"style": "compact"}``.

    Raises:
        ValueError: A setting is out of range.
    """

    runs_inline = True
    splits: ClassVar[tuple[str, ...]] = SPLITS
    wording: ClassVar[GameWording]

    def __init__(
        self,
        *,
        max_episode_steps: int,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        if max_episode_steps < 1:
            raise ValueError(f"max_episode_steps={max_episode_steps} is less than 1")
        self.max_episode_steps = max_episode_steps
        self.prompt = make_prompt(prompt, partial(GamePrompt, wording=self.wording))
        self.observation_space = gymnasium.spaces.Text(
            _MAX_OBSERVATION, charset=string.printable + "√"
        )
        self.action_space = gymnasium.spaces.Text(
            _MAX_ACTION, min_length=0, charset=string.printable
        )
        self._num_tasks = {"train": num_train_tasks, "eval": num_eval_tasks}
        for split in self.splits:
            self.tasks(split)
        self._game: G | None = None
        self._is_running = False
        self._task_id = ""
        self._num_steps = self._num_rejected = 0

    @abstractmethod
    def _start_game(self, task_id: str) -> G:
        """A new play of the task.

        Raises:
            ValueError: There is no such task.
        """

    @property
    def game(self) -> G:
        """The running play, or the last one, for experts and pictures.

        Raises:
            gymnasium.error.ResetNeeded: No game was started.
        """
        if self._game is None:
            raise gymnasium.error.ResetNeeded("there is no game before env.reset()")
        return self._game

    def tasks(self, split: str) -> TaskSet:
        """The levels of a split by their seeds; see :meth:`TextEnv.tasks`."""
        return level_tasks(split, num_tasks=self._num_tasks.get(split))

    def reset(  # type: ignore[override]  # a TypedDict is no dict[str, Any] to mypy
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        """Start an episode; see :meth:`TextEnv.reset`. Its task decides all chances.

        Raises:
            ValueError: The task is unknown.
        """
        super().reset(seed=seed)
        self._task_id = self.chosen_task_id(options)
        self._game = self._start_game(self._task_id)
        self._num_steps = self._num_rejected = 0
        self._is_running = True
        return self._game.observation(), self._info(self._game)

    def step(  # type: ignore[override]  # as above
        self, action: str
    ) -> tuple[str, float, bool, bool, StepInfo]:
        """Play an action; see :meth:`TextEnv.step`.

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
        """
        if self._game is None or not self._is_running:
            raise gymnasium.error.ResetNeeded("call env.reset() before env.step()")
        outcome = self._game.play(action)
        self._num_steps += 1
        self._num_rejected += outcome.is_rejected
        is_last = self._num_steps >= self.max_episode_steps
        truncated = not outcome.is_over and (outcome.is_cut or is_last)
        self._is_running = not (outcome.is_over or truncated)
        observation = self._game.observation()
        if outcome.remark:
            observation = f"{outcome.remark}\n{observation}"
        info = self._info(self._game)
        return observation, outcome.reward, outcome.is_over, truncated, info

    def _info(self, game: G) -> StepInfo:
        return StepInfo(
            task_id=self._task_id,
            instruction=game.instruction,
            admissible_actions=game.admissible_actions(),
            state_key=game.state_key(),
            success=game.won,
            figures={"num_rejected": float(self._num_rejected), **game.figures()},
        )
