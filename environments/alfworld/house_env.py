"""Episodes in a house: what official games and generated houses have in common."""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Literal, Protocol, TypeAlias

import gymnasium

from environments.alfworld.expert import Expert
from environments.alfworld.prompt import HouseholdPrompt
from environments.alfworld.simulator import Simulator
from environments.alfworld.wording import NOTHING_HAPPENS
from environments.choices import check_choice
from environments.styled_prompt import PromptSetting, make_prompt
from environments.text_env import StepInfo, TextEnv

Anchor: TypeAlias = Literal["state", "observation"]
_ANCHORS = ("state", "observation")
_MAX_OBSERVATION = 16_384
_MAX_ACTION = 256


class Game(Protocol):
    """What plays a game: our simulator, or TextWorld behind the same face."""

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        ...

    def reset(self) -> str:
        """Go back to the start; the first observation."""
        ...

    def step(self, command: str) -> str:
        """Play a command; the feedback."""
        ...

    def admissible_commands(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted as strings."""
        ...

    def state_key(self) -> Hashable:
        """Equal exactly when the state that matters for the future is equal."""
        ...


class HouseEnv(TextEnv):
    """Plays one household task an episode, for a reward on winning and nothing else.

    Args:
        max_episode_steps: Steps after which an episode is truncated. The default is
            the official limit. A win at the last step is a win.
        win_reward: Reward of the winning step; all others give 0.
        anchor: What ``info["state_key"]`` is: ``"state"``, the full hidden state, or
            ``"observation"``, the bare text of the observation as in the published
            experiments, which takes different states for one.
        prompt: How the environment speaks to a model: a template, or the settings of
            a :class:`HouseholdPrompt`, e.g. ``{"style": "compact"}``.

    Raises:
        ValueError: A setting is out of range.
    """

    def __init__(
        self,
        *,
        max_episode_steps: int = 50,
        win_reward: float = 10.0,
        anchor: Anchor = "state",
        prompt: PromptSetting = None,
    ) -> None:
        if max_episode_steps < 1:
            raise ValueError(f"max_episode_steps={max_episode_steps} is less than 1")
        check_choice("anchor", anchor, _ANCHORS)
        self.max_episode_steps = max_episode_steps
        self.win_reward = win_reward
        self.anchor = anchor
        self.prompt = make_prompt(prompt, HouseholdPrompt)
        self.observation_space = gymnasium.spaces.Text(
            _MAX_OBSERVATION, charset=string.printable
        )
        self.action_space = gymnasium.spaces.Text(
            _MAX_ACTION, min_length=0, charset=string.printable
        )
        self._game: Game | None = None
        self._is_running = False
        self._task_id = self._instruction = ""
        self._num_steps = 0
        self._num_rejected = 0

    @abstractmethod
    def _start_game(self, task_id: str) -> tuple[Game, str]:
        """A game of the task, and the task in words.

        Raises:
            ValueError: There is no such task.
        """

    @property
    def simulator(self) -> Simulator:
        """The simulator of the running game, for experts.

        Raises:
            gymnasium.error.ResetNeeded: No game was started.
            TypeError: The game is not played by our simulator.
        """
        if self._game is None:
            raise gymnasium.error.ResetNeeded("there is no game before env.reset()")
        if not isinstance(self._game, Simulator):
            raise TypeError("only the native backend has a simulator")
        return self._game

    def expert(self) -> Expert:
        """An expert that searches, knowing only what was seen in this episode."""
        return Expert(self, explores=True)

    def reset(  # type: ignore[override]  # a TypedDict is no dict[str, Any] to mypy
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        """Start an episode; see :meth:`TextEnv.reset`. Nothing in it is random.

        Raises:
            ValueError: The task is unknown.
        """
        super().reset(seed=seed)
        self._task_id = self.chosen_task_id(options)
        self._game, self._instruction = self._start_game(self._task_id)
        observation = self._game.reset()
        self._num_steps = self._num_rejected = 0
        self._is_running = True
        return observation, self._info(self._game, observation)

    def step(  # type: ignore[override]  # as above
        self, action: str
    ) -> tuple[str, float, bool, bool, StepInfo]:
        """Play a command; what is not admissible is answered "Nothing happens.".

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
        """
        if self._game is None or not self._is_running:
            raise gymnasium.error.ResetNeeded("call env.reset() before env.step()")
        observation = self._game.step(action)
        self._num_steps += 1
        self._num_rejected += observation == NOTHING_HAPPENS
        won = self._game.won
        truncated = not won and self._num_steps >= self.max_episode_steps
        self._is_running = not (won or truncated)
        info = self._info(self._game, observation)
        return observation, self.win_reward if won else 0.0, won, truncated, info

    def _info(self, game: Game, observation: str) -> StepInfo:
        is_text = self.anchor == "observation"
        return StepInfo(
            task_id=self._task_id,
            instruction=self._instruction,
            admissible_actions=game.admissible_commands(),
            state_key=observation if is_text else (self._task_id, game.state_key()),
            success=game.won,
            figures={"num_rejected": float(self._num_rejected)},
        )
