"""The household engine: commands in, text out, exactly as TextWorld plays it."""

from __future__ import annotations

from collections.abc import Hashable

from environments.alfworld import wording
from environments.alfworld.actions import admissible_commands, play
from environments.alfworld.house import House
from environments.alfworld.problem import Problem
from environments.alfworld.state import HouseState


class Simulator:
    """One running game. Copies are cheap, and share the house.

    Args:
        game: A problem, or a house compiled from one before.

    Attributes:
        house: The unchanging tables.
        state: The present state, to be read; :meth:`step` changes it in place.
    """

    __slots__ = ("house", "state")

    def __init__(self, game: Problem | House) -> None:
        self.house = House(game) if isinstance(game, Problem) else game
        self.state = HouseState(self.house)

    def reset(self) -> str:
        """Go back to the start; the first observation."""
        self.state = HouseState(self.house)
        return wording.first_observation(
            self.house.receptacle_names, self.house.problem.instruction
        )

    def copy(self) -> Simulator:
        """An independent game in the same state."""
        twin = Simulator.__new__(Simulator)
        twin.house, twin.state = self.house, self.state.copy()
        return twin

    def step(self, command: str) -> str:
        """Play a command, outer blanks aside; the feedback.

        A command that is not admissible changes nothing.
        """
        feedback = play(self.state, command.strip())
        return wording.NOTHING_HAPPENS if feedback is None else feedback

    def admissible_commands(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted as strings."""
        return admissible_commands(self.state)

    @property
    def won(self) -> bool:
        """Whether the goal holds now. It may cease to hold later on."""
        return self.state.meets_goal()

    def state_key(self) -> Hashable:
        """Equal exactly when the state that matters for the future is equal."""
        return self.state.key()
