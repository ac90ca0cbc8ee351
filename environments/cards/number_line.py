"""``NumberLine-v0``: walk from one number to another on a line from 0 to 5."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import numpy as np

from environments.cards.replies import parse_official_json
from environments.experts import Advice
from environments.game_env import GameEnv, Outcome
from environments.game_prompt import GameWording
from environments.level_tasks import level_seed
from environments.styled_prompt import PromptSetting

HIGHEST = 5
ACTIONS = ("-", "+")
_SEED_OFFSET = 0x4E4C  # Keeps the games apart whose levels have equal seeds.

NUMBER_LINE_WORDING = GameWording(
    name="number-line",
    version=1,
    rules=(
        f"You stand on a number line from 0 to {HIGHEST}. The action '-' takes you one "
        "to the left, '+' one to the right."
    ),
    is_uniform=True,
    official_parser=partial(parse_official_json, keywords=ACTIONS),
    official_reply="json",
)


class NumberLineGame:
    """Rewards: 1 at the target, -1 for a step that comes no closer, else 0."""

    instruction = "reach the target number"

    def __init__(self, current: int, target: int) -> None:
        self.current = current
        self.target = target

    @property
    def won(self) -> bool:
        """Whether the target is reached."""
        return self.current == self.target

    def observation(self) -> str:
        """Both numbers."""
        return f"Target number: {self.target}. Current number: {self.current}"

    def admissible_actions(self) -> tuple[str, ...]:
        """Both directions; a step over the end changes nothing."""
        return ACTIONS

    def state_key(self) -> Hashable:
        """Both numbers."""
        return self.current, self.target

    def play(self, action: str) -> Outcome:
        """One step to the left or to the right."""
        if action not in ACTIONS:
            remark = "Nothing happens: the actions are - and +."
            return Outcome(reward=0.0, is_rejected=True, remark=remark)
        before = abs(self.target - self.current)
        step = 1 if action == "+" else -1
        self.current = min(max(self.current + step, 0), HIGHEST)
        if self.won:
            return Outcome(reward=1.0, is_over=True)
        is_closer = abs(self.target - self.current) < before
        return Outcome(reward=0.0 if is_closer else -1.0)

    def figures(self) -> dict[str, float]:
        """Both numbers."""
        return {"target": float(self.target), "current": float(self.current)}


class NumberLineExpert:
    """Walks straight to the target."""

    def __init__(self, game: NumberLineGame) -> None:
        self._game = game

    def next_action(self) -> Advice:
        """The direction of the target."""
        current, target = self._game.current, self._game.target
        relation, action = ("<", "+") if current < target else (">", "-")
        return Advice(action=action, thought=f"{current} {relation} {target}")


class NumberLineEnv(GameEnv[NumberLineGame]):
    """NumberLine as text; all arguments as in :class:`GameEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    wording = NUMBER_LINE_WORDING

    def __init__(
        self,
        *,
        max_episode_steps: int = 10,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        super().__init__(
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )

    def expert(self) -> NumberLineExpert:
        """Walks straight to the target."""
        return NumberLineExpert(self.game)

    def _start_game(self, task_id: str) -> NumberLineGame:
        rng = np.random.default_rng([_SEED_OFFSET, level_seed(task_id)])
        current, target = (int(number) for number in rng.integers(HIGHEST + 1, size=2))
        if current == target:
            target = (target + 1) % HIGHEST
        return NumberLineGame(current, target)
