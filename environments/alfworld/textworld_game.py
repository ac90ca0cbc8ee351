"""The original program behind the face of our simulator, to compare the two.

Needs the extra ``alfworld``, which brings TextWorld's planner.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from environments.alfworld.simulator import Simulator


class TextWorldGame:
    """A game played by TextWorld, with ALFWorld's naming of things.

    :meth:`load` comes first. Danger: each object keeps its own copy of the planner's
    library in memory for good, so load game after game into one.

    Raises:
        ImportError: The extra is not installed; the message says how to get it.
    """

    def __init__(self) -> None:
        self._env = _program()
        self._state: Any = None

    def load(self, path: Path, simulator: Simulator) -> None:
        """Take up a game.

        Args:
            path: The game file.
            simulator: Our simulator of the same game. It is played alongside and lends
                its state key, which TextWorld has no counterpart of.
        """
        self._env.load(str(path))
        self._simulator = simulator

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return bool(self._state["won"])

    def reset(self) -> str:
        """Go back to the start; the first observation."""
        self._simulator.reset()
        self._state = self._env.reset()
        return str(self._state["feedback"])

    def step(self, command: str) -> str:
        """Play a command; the feedback."""
        self._simulator.step(command)
        self._state, _, _ = self._env.step(command)
        return str(self._state["feedback"])

    def admissible_commands(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted as strings."""
        return tuple(self._state["admissible_commands"])

    def state_key(self) -> Hashable:
        """That of our simulator after the same commands."""
        return self._simulator.state_key()


def _program() -> Any:
    try:
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld import EnvInfos
        from textworld.envs import PddlEnv

        infos = EnvInfos(won=True, admissible_commands=True)
        return AlfredDemangler(PddlEnv(infos))
    except ImportError as error:
        raise ImportError(
            f"the textworld backend needs the extra 'alfworld' ({error}): "
            f'get it by `pip install "rllib-gigpo[alfworld]"`'
        ) from error
