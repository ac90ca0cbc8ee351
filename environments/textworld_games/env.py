"""``TextWorld-v0``: text adventures made from seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from environments.game_env import GameEnv
from environments.game_prompt import GameWording
from environments.level_tasks import level_seed, level_tasks
from environments.styled_prompt import PromptSetting
from environments.tasks import TaskSet
from environments.textworld_games.game import (
    REWARDS,
    Player,
    Rewards,
    TextWorldExpert,
    TextWorldGame,
)
from environments.textworld_games.game_files import GameSpec, complete_settings

TEXTWORLD_WORDING = GameWording(
    name="textworld",
    version=1,
    rules=(
        "You play a text adventure: you walk through rooms and handle things by short "
        "commands."
    ),
    is_uniform=False,
)


class TextWorldEnv(GameEnv[TextWorldGame]):
    """TextWorld's games, a seed a task.

    A game is made when it is first asked for, which takes some seconds, and kept in
    the cache folder; ``python -m environments.textworld_games.make_games`` makes them
    beforehand.

    Args:
        kind: ``"coin_collector"``, ``"treasure_hunter"``, ``"cooking"`` or
            ``"custom"``.
        settings: Of that kind, as in ``tw-make``; see ``GAME_KINDS``.
        is_hinted: Whether the objective tells every step of the way, or only the last.
        rewards: ``"sparse"``: 1 for winning; ``"dense"``: each point of the score.
        max_episode_steps, num_train_tasks, num_eval_tasks, prompt: As in
            :class:`GameEnv`.

    Raises:
        ValueError: A setting is unknown or out of range.
    """

    runs_inline = False
    wording: ClassVar[GameWording] = TEXTWORLD_WORDING

    def __init__(
        self,
        *,
        kind: str = "coin_collector",
        settings: Mapping[str, int | bool] | None = None,
        is_hinted: bool = True,
        rewards: Rewards = "sparse",
        max_episode_steps: int = 50,
        num_train_tasks: int = 256,
        num_eval_tasks: int = 32,
        prompt: PromptSetting = None,
    ) -> None:
        if rewards not in REWARDS:
            raise ValueError(f"rewards={rewards!r}: choose one of {list(REWARDS)}")
        self.kind = kind
        self.settings = complete_settings(kind, settings or {})
        self.is_hinted = is_hinted
        self.rewards: Rewards = rewards
        super().__init__(
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )
        self._player: Player | None = None

    def tasks(self, split: str) -> TaskSet:
        """The games of a split by their seeds; see :meth:`TextEnv.tasks`."""
        num_tasks = self._num_tasks.get(split)
        return level_tasks(split, num_tasks=num_tasks, kind=self.kind)

    def spec_of(self, task_id: str) -> GameSpec:
        """The game of a task.

        Raises:
            ValueError: There is no such task.
        """
        return GameSpec(
            kind=self.kind,
            settings=self.settings,
            is_hinted=self.is_hinted,
            seed=level_seed(task_id),
        )

    def expert(self) -> TextWorldExpert:
        """Follows TextWorld's own winning way, which knows the whole world."""
        return TextWorldExpert(self.game)

    def close(self) -> None:
        """Leave the worker process."""
        if self._player is not None:
            self._player.close()
            self._player = None

    def _start_game(self, task_id: str) -> TextWorldGame:
        spec = self.spec_of(task_id)
        if self._player is None:
            self._player = Player()
        return TextWorldGame(self._player, spec, self.rewards)
