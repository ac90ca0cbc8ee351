"""An expert for household games: demonstrations, and an upper bound for agents.

With ``explores=False`` it knows where everything is and plays a near-shortest
solution. With ``explores=True`` it knows only what an agent has been told so far, and
searches; only such demonstrations can be imitated by an agent that does not see
through walls.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from environments.alfworld.planner import ExpertStep, approach, first_step
from environments.alfworld.problem import Problem, TaskType
from environments.alfworld.simulator import Simulator
from environments.alfworld.state import HouseState
from environments.errors import NoAdviceError


class HasSimulator(Protocol):
    """An environment that shows its running game."""

    @property
    def simulator(self) -> Simulator:
        """The game; a new one, or the old one reset, in every episode."""
        ...


class Expert:
    """Plays one episode; make a new one for the next.

    It only proposes commands. Whether they are played, or others, is up to the caller:
    each proposal is made from the state that the game is in then.

    Args:
        game: A simulator, or an environment with one that has been reset.
        explores: Whether it knows only what was seen. Receptacles are searched in an
            order that depends on the list of receptacles and the wanted kind alone, so
            that the next one follows from the last: kinds that take the wanted thing
            first, among them those that the house has few of, then in listing order.
    """

    def __init__(
        self, game: Simulator | HasSimulator, *, explores: bool = False
    ) -> None:
        self._game = game
        self._explores = explores
        self._seen = 0
        self._shown: int | None = None

    @property
    def simulator(self) -> Simulator:
        """The game as it is now."""
        game = self._game
        return game if isinstance(game, Simulator) else game.simulator

    def next_action(self) -> ExpertStep:
        """The command to give now, and why.

        Raises:
            ValueError: The game is won already.
            NoAdviceError: It can no longer be won; a held thing that fits nowhere
                cannot be put down.
        """
        state = self.simulator.state
        if state.meets_goal():
            raise ValueError("the game is won; there is nothing left to do")
        step = first_step(state, self._known_receptacles(state))
        if step is None and self._explores:
            step = self._search(state)
        if step is None:
            goal = state.house.problem.goal
            raise NoAdviceError(f"no way to the goal {goal} was found from this state")
        return step

    def _known_receptacles(self, state: HouseState) -> int:
        """Set of the receptacles whose contents the agent has been told."""
        if not self._explores:
            return (1 << len(state.house.receptacle_names)) - 1
        here = state.receptacles_here()
        for number in here:
            # Free hands are offered whatever can be taken here; full ones are told
            # only what was gone to, opened or examined.
            is_told = state.held is None or len(here) == 1 or number == self._shown
            if is_told and state.is_accessible(number):
                self._seen |= 1 << number
        return self._seen

    def _search(self, state: HouseState) -> ExpertStep | None:
        """The way to the likeliest unseen receptacle, or a look into it."""
        wanted = _wanted_kind(state)
        for number in _search_order(state.house.problem, wanted):
            if not self._seen >> number & 1:
                self._shown = number
                thought = f"find {wanted}"
                name = state.house.receptacle_names[number]
                return approach(state, number, thought) or ExpertStep(
                    action=f"examine {name}", thought=thought
                )
        return None


def _wanted_kind(state: HouseState) -> str:
    goal = state.house.problem.goal
    has_item = state.held is not None and state.house.goal_items >> state.held & 1
    needs_lamp = goal.task_type is TaskType.LOOK and has_item
    return goal.target_kind if needs_lamp else goal.item_kind


def _search_order(problem: Problem, wanted: str) -> list[int]:
    """All receptacles, the likeliest first."""
    counts = Counter(receptacle.kind for receptacle in problem.receptacles)
    goal = problem.goal
    is_lamp = goal.task_type is TaskType.LOOK and wanted == goal.target_kind

    def rank(number: int) -> tuple[bool, int, int]:
        receptacle = problem.receptacles[number]
        if is_lamp:
            is_unlikely = receptacle.is_openable
        else:
            is_unlikely = (receptacle.kind, wanted) not in problem.fits
        return is_unlikely, counts[receptacle.kind], number

    return sorted(range(len(problem.receptacles)), key=rank)
