"""One household game at its start: receptacles, items, where everything is, the goal.

A :class:`Problem` holds all that the simulator needs and nothing of the game file's
text, so a house can be read from a file or made from scratch. Receptacles, items and
locations are known by their position: receptacle 3 is ``problem.receptacles[3]``.
Both tuples are in *listing order*, the order in which every text names things: classes
in alphabetical order, and within a class the numbers running downwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntFlag, StrEnum

_NAME = re.compile(r"[a-z]+ [1-9][0-9]*")


class TaskType(StrEnum):
    """The six kinds of task, by their official names."""

    PLACE = "pick_and_place_simple"
    LOOK = "look_at_obj_in_light"
    CLEAN = "pick_clean_then_place_in_recep"
    HEAT = "pick_heat_then_place_in_recep"
    COOL = "pick_cool_then_place_in_recep"
    PLACE_TWO = "pick_two_obj_and_place"


class Ability(IntFlag):
    """What can be done with an item, for good."""

    NONE = 0
    PICKUPABLE = 1
    CLEANABLE = 2
    HEATABLE = 4
    COOLABLE = 8
    SLICEABLE = 16
    TOGGLEABLE = 32
    CONTAINER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """When a game is won.

    Example: ``Goal(task_type=TaskType.HEAT, item_kind="mug", target_kind="desk")`` is
    won while a hot mug is on a desk.

    Attributes:
        task_type: Which of the six conditions.
        item_kind: The kind of item to move, or to look at.
        target_kind: The kind of receptacle to place it in; for ``TaskType.LOOK`` the
            kind of lamp.
    """

    task_type: TaskType
    item_kind: str
    target_kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receptacle:
    """A piece of furniture or an appliance, closed at the start if it opens at all.

    Attributes:
        name: Class and number, e.g. ``"cabinet 8"``.
        kind: What it counts as, e.g. ``"cabinet"``: the class, but for a few basins
            of bathtubs that count as ``"sinkbasin"``.
        location: Number of the place where it stands; several may stand at one place.
        is_openable: Whether it must be opened before it can be used.
        contents: The items in or on it at the start, ascending. An item may be in
            several receptacles at once.
    """

    name: str
    kind: str
    location: int
    is_openable: bool = False
    contents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing that may be carried about or used.

    Attributes:
        name: Class and number, e.g. ``"mug 1"``.
        kind: What it counts as, e.g. ``"mug"``; empty if it counts as nothing.
        abilities: What can be done with it.
        locations: The places where it counts as lying for slicing, ascending; almost
            always that of one receptacle it is in.
        contents: The items inside it, ascending; for containers only.
        is_cool: Whether it counts as cooled from the start.
    """

    name: str
    kind: str
    abilities: Ability = Ability.NONE
    locations: tuple[int, ...] = ()
    contents: tuple[int, ...] = ()
    is_cool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A game: the house as it is at the start, and what to do there.

    The agent starts at a place of its own, where there is no receptacle.

    Attributes:
        instruction: The task in words, e.g. ``"put a hot mug in desk."``.
        goal: The task as a condition.
        receptacles: In listing order.
        items: In listing order.
        fits: The pairs (receptacle kind, item kind) such that the one takes the other.

    Raises:
        ValueError: A name, a position or the goal does not fit the rest.
    """

    instruction: str
    goal: Goal
    receptacles: tuple[Receptacle, ...]
    items: tuple[Item, ...]
    fits: frozenset[tuple[str, str]]

    def __post_init__(self) -> None:
        _check_names(self.receptacles)
        _check_names(self.items)
        shared = {r.name for r in self.receptacles} & {i.name for i in self.items}
        if shared:
            raise ValueError(f"names of both a receptacle and an item: {shared}")
        for receptacle in self.receptacles:
            if receptacle.location < 0:
                raise ValueError(f"{receptacle.name} is at {receptacle.location} < 0")
            _check_positions(receptacle.name, receptacle.contents, len(self.items))
        for item in self.items:
            _check_positions(item.name, item.contents, len(self.items))
            if item.contents and Ability.CONTAINER not in item.abilities:
                raise ValueError(f"{item.name} has contents but is no container")
        _check_goal(self.goal, self.receptacles, self.items)


def _check_names(things: tuple[Receptacle | Item, ...]) -> None:
    """Each name is a class and a number, and numbers of a class run downwards."""
    last_number: dict[str, int] = {}
    for thing in things:
        if not _NAME.fullmatch(thing.name):
            raise ValueError(f"{thing.name!r} is not a class and a number")
        class_name, _, number = thing.name.partition(" ")
        if int(number) >= last_number.get(class_name, int(number) + 1):
            raise ValueError(f"{thing.name!r} comes after a lower or equal number")
        last_number[class_name] = int(number)


def _check_positions(name: str, positions: tuple[int, ...], num_items: int) -> None:
    if list(positions) != sorted(set(positions)):
        raise ValueError(f"the contents {positions} of {name} do not ascend")
    if positions and not (positions[0] >= 0 and positions[-1] < num_items):
        raise ValueError(f"{name} holds an item outside 0..{num_items - 1}")


def _check_goal(
    goal: Goal, receptacles: tuple[Receptacle, ...], items: tuple[Item, ...]
) -> None:
    item_kinds = {item.kind for item in items}
    if goal.item_kind not in item_kinds:
        raise ValueError(f"the goal asks for a {goal.item_kind!r}, and there is none")
    is_look = goal.task_type is TaskType.LOOK
    target_kinds = item_kinds if is_look else {r.kind for r in receptacles}
    if goal.target_kind not in target_kinds:
        raise ValueError(f"the goal needs a {goal.target_kind!r}, and there is none")
