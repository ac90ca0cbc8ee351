"""One play of a TextWorld game, by a worker process."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Hashable
from typing import Any, Literal, TypeAlias

from environments.experts import Advice
from environments.game_env import Outcome
from environments.textworld_games.game_files import GameSpec
from environments.textworld_games.session import GameView
from environments.textworld_games.worker_pool import shared_pool

Rewards: TypeAlias = Literal["sparse", "dense"]
REWARDS = ("sparse", "dense")
_NOT_POSSIBLE = "Nothing happens: that is none of the possible commands."
_session_numbers = itertools.count()


class Player:
    """A seat at a worker: plays one game after the other until it is closed."""

    def __init__(self) -> None:
        self._pool = shared_pool()
        self._worker = self._pool.acquire()
        self._session = str(next(_session_numbers))
        self._is_closed = False

    def start(self, spec: GameSpec) -> GameView:
        """Go to the start of a game; it is made first if need be."""
        answer = self._worker.call(
            "start",
            session=self._session,
            spec=dataclasses.asdict(spec),
            file=str(spec.game_file()),
        )
        return _view(answer)

    def step(self, command: str) -> GameView:
        """Play an admissible command."""
        return _view(self._worker.call("step", session=self._session, command=command))

    def close(self) -> None:
        """Leave the seat."""
        if not self._is_closed:
            self._is_closed = True
            if self._worker.is_running:
                self._worker.call("end", session=self._session)
            self._pool.release(self._worker)


class TextWorldGame:
    """A game between reset and its end.

    Args:
        player: Plays it.
        spec: Which game.
        rewards: ``"sparse"``: 1 for winning; ``"dense"``: each point of the score.
    """

    def __init__(self, player: Player, spec: GameSpec, rewards: Rewards) -> None:
        self._player = player
        self._spec = spec
        self._rewards = rewards
        self.view = player.start(spec)

    @property
    def instruction(self) -> str:
        """The objective in the game's words."""
        return self.view.objective

    @property
    def won(self) -> bool:
        """Whether the game is won."""
        return self.view.won

    def observation(self) -> str:
        """What the game said last."""
        return self.view.text

    def admissible_actions(self) -> tuple[str, ...]:
        """The commands that are possible now."""
        return self.view.admissible_commands

    def state_key(self) -> Hashable:
        """The game, with a digest of all facts and of how far each quest is."""
        return self._spec.kind, self._spec.seed, self.view.state_key

    def play(self, action: str) -> Outcome:
        """Play a command."""
        before = self.view
        # The game's own parser would also undo steps, start anew and tell secrets.
        if action not in before.admissible_commands:
            return Outcome(reward=0.0, is_rejected=True, remark=_NOT_POSSIBLE)
        self.view = self._player.step(action)
        gained = self.view.score - before.score
        reward = float(gained if self._rewards == "dense" else self.view.won)
        return Outcome(reward=reward, is_over=self.view.won or self.view.lost)

    def figures(self) -> dict[str, float]:
        """The score and the most that it can be."""
        return {
            "score": float(self.view.score),
            "max_score": float(self.view.max_score),
        }


class TextWorldExpert:
    """Follows TextWorld's own winning way, which knows the whole world.

    Where the objective tells the way (``is_hinted``) an agent can learn to do the same;
    elsewhere this is an upper bound rather than an example.
    """

    def __init__(self, game: TextWorldGame) -> None:
        self._game = game

    def next_action(self) -> Advice:
        """The next command; a look around if the game cannot be won any more."""
        view = self._game.view
        if view.policy_command in view.admissible_commands:
            return Advice(action=view.policy_command, thought="go on")
        return Advice(action="look", thought="no way left")


def _view(answer: dict[str, Any]) -> GameView:
    commands = tuple(answer.pop("admissible_commands"))
    return GameView(admissible_commands=commands, **answer)
