"""The next command towards a household goal, from what is known of where things are.

A plan is a short list of legs (take, clean, put, …), each a command to be given at one
receptacle. All sensible plans are written out, their commands counted, walking and
opening included, and the shortest is begun. Planning anew after every command makes
it right from any state, for agents that went astray too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from environments.alfworld.house import positions
from environments.alfworld.problem import TaskType
from environments.alfworld.state import HouseState


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertStep:
    """One command of an expert and why it is given.

    Attributes:
        action: An admissible command.
        thought: A few words, e.g. ``"clean mug"``, fit for a think block.
    """

    action: str
    thought: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leg:
    """A command at a receptacle.

    Attributes:
        receptacle: Where to be.
        command: What to say there; None if being there is enough.
        thought: On giving the command.
        approach: On the way there.
        is_inside: Whether the receptacle must be open.
    """

    receptacle: int
    command: str | None
    thought: str
    approach: str
    is_inside: bool


_Plan: TypeAlias = tuple[_Leg, ...]


def first_step(state: HouseState, known: int) -> ExpertStep | None:
    """The first command of a shortest plan.

    Args:
        state: Of the game; of its contents only those of known receptacles are used.
        known: Set of the receptacles whose contents are known.

    Returns:
        None if nothing can be done before more is known: the goal item, or the lamp
        it is to be looked at with, is nowhere in the known receptacles.
    """
    plans = [plan for plan in _Plans(state, known).all() if plan]
    if not plans:
        return None
    return _begin(state, min(plans, key=lambda plan: _num_commands(state, plan))[0])


def approach(state: HouseState, receptacle: int, thought: str) -> ExpertStep | None:
    """The command that leads to a receptacle or opens it; None if neither is needed."""
    name = state.house.receptacle_names[receptacle]
    if state.location != state.house.location_of[receptacle]:
        return ExpertStep(action=f"go to {name}", thought=thought)
    if not state.is_accessible(receptacle):
        return ExpertStep(action=f"open {name}", thought=thought)
    return None


def class_of(name: str) -> str:
    """The class in a name: ``"mug"`` of ``"mug 1"``."""
    return name.rpartition(" ")[0]


def _begin(state: HouseState, leg: _Leg) -> ExpertStep | None:
    if leg.is_inside or state.location != state.house.location_of[leg.receptacle]:
        step = approach(state, leg.receptacle, leg.approach)
        if step is not None:
            return step
    if leg.command is None:
        return None
    return ExpertStep(action=leg.command, thought=leg.thought)


def _num_commands(state: HouseState, plan: _Plan) -> int:
    """How many commands a plan takes from the present state."""
    location, closed, count = state.location, state.house.openable & ~state.opened, 0
    for leg in plan:
        place = state.house.location_of[leg.receptacle]
        count += location != place
        location = place
        if leg.is_inside and closed >> leg.receptacle & 1:
            closed ^= 1 << leg.receptacle
            count += 1
        count += leg.command is not None
    return count


class _Plans:
    """All sensible plans from a state."""

    def __init__(self, state: HouseState, known: int) -> None:
        self._state = state
        self._house = state.house
        self._known = frozenset(positions(known))
        self._goal = state.house.problem.goal

    def all(self) -> Iterator[_Plan]:
        """The plans as far as is known; empty ones where nothing can be done yet."""
        held = self._state.held
        if held is not None and not self._house.goal_items >> held & 1:
            yield from ((leg,) for leg in self._put_down(held))
        elif self._goal.task_type is TaskType.PLACE_TWO:
            yield from self._place_two()
        elif self._goal.task_type is TaskType.LOOK:
            yield from self._look()
        else:
            yield from self._place()

    def _place(self) -> Iterator[_Plan]:
        for item, fetch in self._fetches(self._house.goal_items):
            for treat in self._treatments(item):
                for target in self._house.goal_receptacles:
                    if self._house.fitting[target] >> item & 1:
                        yield (*fetch, *treat, self._put(item, target))

    def _place_two(self) -> Iterator[_Plan]:
        wanted, targets = self._house.goal_items, self._house.goal_receptacles
        is_one_placed = any(self._contents(target) & wanted for target in targets)
        for target in targets:
            there = self._contents(target) & wanted
            missing = wanted & ~there & self._house.fitting[target]
            for item, fetch in self._fetches(missing):
                first = (*fetch, self._put(item, target))
                others = list(self._sources(missing & ~(1 << item)))
                if there or not (others or is_one_placed):
                    yield first
                else:
                    for other, source in others:
                        second = (self._take(other, source), self._put(other, target))
                        yield (*first, *second)

    def _look(self) -> Iterator[_Plan]:
        lamps = list(self._lamps())
        for _, fetch in self._fetches(self._house.goal_items):
            for lamp, receptacle in lamps:
                yield (*fetch, self._use(lamp, receptacle))
            if not lamps:
                yield fetch

    def _fetches(self, items: int) -> Iterator[tuple[int, _Plan]]:
        """Ways to have one of the items in hand."""
        held = self._state.held
        if held is not None:
            if items >> held & 1:
                yield held, ()
            return
        for item, source in self._sources(items):
            yield item, (self._take(item, source),)

    def _sources(self, items: int) -> Iterator[tuple[int, int]]:
        """Pairs of an item and a known receptacle to take it from."""
        for receptacle in sorted(self._known):
            there = self._contents(receptacle) & self._house.pickupable
            for item in positions(there & items):
                yield item, receptacle

    def _treatments(self, item: int) -> Iterator[_Plan]:
        """Ways to have a held item in the state that the goal asks for."""
        verb, treated = self._treatment
        if treated >> item & 1:
            yield ()
            return
        name, thought = self._name(item), f"{verb} {self._class(item)}"
        for appliance in positions(self._house.treatments[verb][1]):
            place = self._house.receptacle_names[appliance]
            leg = _Leg(
                receptacle=appliance,
                command=f"{verb} {name} with {place}",
                thought=thought,
                approach=thought,
                is_inside=False,
            )
            yield (leg,)

    @property
    def _treatment(self) -> tuple[str, int]:
        """What the goal asks to do to an item, and the items that need it no more."""
        state = self._state
        match self._goal.task_type:
            case TaskType.CLEAN:
                return "clean", state.clean
            case TaskType.HEAT:
                return "heat", state.hot
            case TaskType.COOL:
                return "cool", state.cool
            case _:
                return "", self._house.all_items

    def _lamps(self) -> Iterator[tuple[int, int]]:
        """Pairs of a goal lamp and a receptacle that is known to hold it."""
        # Lamps can be used, and so are listed, in closed receptacles too.
        for receptacle in sorted(self._known | {*self._state.receptacles_here()}):
            there = self._state.contents_of(receptacle) & self._house.goal_lamps
            for lamp in positions(there):
                yield lamp, receptacle

    def _put_down(self, item: int) -> Iterator[_Leg]:
        for receptacle, fitting in enumerate(self._house.fitting):
            if fitting >> item & 1:
                yield self._put(item, receptacle, f"put down {self._class(item)}")

    def _take(self, item: int, receptacle: int) -> _Leg:
        place = self._house.receptacle_names[receptacle]
        return _Leg(
            receptacle=receptacle,
            command=f"take {self._name(item)} from {place}",
            thought=f"take {self._class(item)}",
            approach=f"find {self._class(item)}",
            is_inside=True,
        )

    def _put(self, item: int, receptacle: int, thought: str = "") -> _Leg:
        place = self._house.receptacle_names[receptacle]
        thought = thought or f"put {self._class(item)} in {class_of(place)}"
        return _Leg(
            receptacle=receptacle,
            command=f"move {self._name(item)} to {place}",
            thought=thought,
            approach=thought,
            is_inside=True,
        )

    def _use(self, lamp: int, receptacle: int) -> _Leg:
        is_on = bool(self._state.toggled >> lamp & 1)
        return _Leg(
            receptacle=receptacle,
            command=None if is_on else f"use {self._name(lamp)}",
            thought=f"use {self._class(lamp)}",
            approach=f"find {self._class(lamp)}",
            is_inside=False,
        )

    def _contents(self, receptacle: int) -> int:
        """The set of items in a receptacle as far as that is known."""
        is_known = receptacle in self._known
        return self._state.contents_of(receptacle) if is_known else 0

    def _name(self, item: int) -> str:
        return self._house.all_item_names[item]

    def _class(self, item: int) -> str:
        return class_of(self._name(item))
