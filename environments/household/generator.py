"""Houses from seeds: (task type, size, seed) to a :class:`Problem` that can be won.

A house is one room. What the task needs is put there first (a source and a target for
the item, the appliance, the lamp and its stand), so no house has to be thrown away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TypeVar

import numpy as np

from environments.alfworld.problem import (
    Ability,
    Goal,
    Item,
    Problem,
    Receptacle,
    TaskType,
)
from environments.household.catalogue import (
    DESK_LAMP,
    LAMP_STANDS,
    OPENABLE,
    ROOMS,
    RoomKind,
    ThingKind,
)

_T = TypeVar("_T")

_TREATMENTS: dict[TaskType, tuple[Ability, str]] = {
    TaskType.CLEAN: (Ability.CLEANABLE, "sinkbasin"),
    TaskType.HEAT: (Ability.HEATABLE, "microwave"),
    TaskType.COOL: (Ability.COOLABLE, "fridge"),
}
_SENTENCES: dict[TaskType, tuple[str, str]] = {
    TaskType.PLACE: ("put a {o} in {t}.", "put some {o} on {t}."),
    TaskType.LOOK: ("look at {o} under the {t}.", "examine the {o} with the {t}."),
    TaskType.CLEAN: ("put a clean {o} in {t}.", "clean some {o} and put it in {t}."),
    TaskType.HEAT: ("put a hot {o} in {t}.", "heat some {o} and put it in {t}."),
    TaskType.COOL: ("put a cool {o} in {t}.", "cool some {o} and put it in {t}."),
    TaskType.PLACE_TWO: ("put two {o} in {t}.", "find two {o} and put them in {t}."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseSize:
    """How much there is in a house; ranges include both ends.

    Attributes:
        num_receptacles: Fewest and most; a room's own maximum may be lower.
        num_items: Fewest and most, lamp not counted.
        most_drawers: Most receptacles of each kind that opens, 0 for the room's own.
        sharing: Chance that a cabinet or drawer stands at its neighbour's place.
        is_common_only: Only common kinds of items, for a small vocabulary.
    """

    num_receptacles: tuple[int, int]
    num_items: tuple[int, int]
    most_drawers: int = 0
    sharing: float = 0.0
    is_common_only: bool = False


SIZES: dict[str, HouseSize] = {
    "tiny": HouseSize(
        num_receptacles=(5, 5),
        num_items=(4, 7),
        most_drawers=2,
        is_common_only=True,
    ),
    "small": HouseSize(
        num_receptacles=(8, 12), num_items=(10, 18), most_drawers=3, sharing=0.15
    ),
    "full": HouseSize(num_receptacles=(16, 30), num_items=(25, 45), sharing=0.3),
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a task is about, before any house is built."""

    room: RoomKind
    thing: ThingKind
    target: str


def generate_problem(task_type: TaskType, size: str, seed: Sequence[int]) -> Problem:
    """The house of a seed.

    Args:
        task_type: What is to be done in it.
        size: A key of ``SIZES``.
        seed: Non-negative integers; with the other two they decide everything.
    """
    type_number = list(TaskType).index(task_type)
    size_number = list(SIZES).index(size)
    rng = np.random.default_rng([type_number, size_number, *seed])
    house_size = SIZES[size]
    plan = _pick(rng, _plans(task_type, house_size.is_common_only))
    furniture, sources = _furnish(rng, plan, task_type, house_size)
    things = _things(rng, plan, task_type, house_size, furniture)
    homes = [
        _pick(rng, sources)
        if thing is plan.thing
        else _pick(rng, [n for n, kind in enumerate(furniture) if kind in thing.homes])
        for thing in things
    ]
    places = _places(rng, furniture, house_size.sharing)
    sentence = _pick(rng, _SENTENCES[task_type])
    return Problem(
        instruction=sentence.format(o=plan.thing.name, t=plan.target),
        goal=Goal(
            task_type=task_type, item_kind=plan.thing.name, target_kind=plan.target
        ),
        receptacles=_receptacles(furniture, places, homes),
        items=_items(things, [places[home] for home in homes]),
        fits=frozenset(
            (kind, thing.name)
            for thing in plan.room.things
            for kind in set(furniture).intersection(thing.homes)
        ),
    )


@cache
def _plans(task_type: TaskType, is_common_only: bool) -> tuple[_Plan, ...]:
    """Every sensible task of a type: the room can hold source, target and appliance."""
    if task_type is TaskType.LOOK:
        return tuple(
            _Plan(room, thing, DESK_LAMP.name)
            for room in ROOMS.values()
            if _lamp_stands(room) and room.name != "kitchen"
            for thing in room.things
            if thing.is_common or not is_common_only
        )
    ability, appliance = _TREATMENTS.get(task_type, (Ability.PICKUPABLE, ""))
    return tuple(
        _Plan(room, thing, target)
        for room in ROOMS.values()
        if not appliance or appliance in room.furniture_kinds
        for thing in room.things
        if ability in thing.abilities and (thing.is_common or not is_common_only)
        for target in thing.homes
        if target in room.furniture_kinds
        and target != appliance
        and _source_kinds(room, thing, target)
    )


def _source_kinds(room: RoomKind, thing: ThingKind, target: str) -> tuple[str, ...]:
    """The furniture of a room where a thing may lie at the start of its task."""
    return tuple(
        kind for kind in room.furniture_kinds if kind in thing.homes and kind != target
    )


def _lamp_stands(room: RoomKind) -> tuple[str, ...]:
    return tuple(kind for kind in room.furniture_kinds if kind in LAMP_STANDS)


def _furnish(
    rng: np.random.Generator, plan: _Plan, task_type: TaskType, size: HouseSize
) -> tuple[list[str], list[int]]:
    """Sorted receptacle kinds, and the positions where the goal items may lie."""
    needed = {_pick(rng, _source_kinds(plan.room, plan.thing, plan.target))}
    if task_type is TaskType.LOOK:
        needed.add(_pick(rng, _lamp_stands(plan.room)))
    else:
        needed.add(plan.target)
    if task_type in _TREATMENTS:
        needed.add(_TREATMENTS[task_type][1])
    counts = Counter(needed)
    wanted = int(rng.integers(*size.num_receptacles, endpoint=True))
    fewest, most = [], []
    for kind, low, high in plan.room.furniture:
        if size.most_drawers and kind in OPENABLE:
            low, high = min(low, 1), min(high, size.most_drawers)
        fewest += [kind] * (low - counts[kind])
        most += [kind] * (high - max(low, counts[kind]))
    rest = _shuffled(rng, fewest) + _shuffled(rng, most)
    counts.update(rest[: wanted - len(needed)])
    furniture = sorted(counts.elements())
    sources = [
        n
        for n, kind in enumerate(furniture)
        if kind in plan.thing.homes and kind != plan.target
    ]
    return furniture, sources


def _things(
    rng: np.random.Generator,
    plan: _Plan,
    task_type: TaskType,
    size: HouseSize,
    furniture: list[str],
) -> list[ThingKind]:
    """The items of a house, sorted by kind: those of the goal, others, the lamp."""
    least = 2 if task_type is TaskType.PLACE_TWO else 1
    things = [plan.thing] * (least + int(rng.random() < 0.3))
    others = [
        thing
        for thing in plan.room.things
        if thing is not plan.thing
        and (thing.is_common or not size.is_common_only)
        and not set(furniture).isdisjoint(thing.homes)
    ]
    num_items = int(rng.integers(*size.num_items, endpoint=True))
    if others:
        things += [_pick(rng, others) for _ in range(num_items - len(things))]
    if task_type is TaskType.LOOK:
        things.append(DESK_LAMP)
    return sorted(things, key=lambda thing: thing.name)


def _places(
    rng: np.random.Generator, furniture: list[str], sharing: float
) -> list[int]:
    """The location of each receptacle; neighbours of one kind may share one."""
    places: list[int] = []
    for n, kind in enumerate(furniture):
        is_neighbour = n > 0 and kind == furniture[n - 1] and kind in OPENABLE
        if is_neighbour and rng.random() < sharing:
            places.append(places[-1])
        else:
            places.append(places[-1] + 1 if places else 0)
    return places


def _receptacles(
    furniture: list[str], places: list[int], homes: list[int]
) -> tuple[Receptacle, ...]:
    return tuple(
        Receptacle(
            name=name,
            kind=kind,
            location=place,
            is_openable=kind in OPENABLE,
            contents=tuple(item for item, home in enumerate(homes) if home == n),
        )
        for n, (name, kind, place) in enumerate(
            zip(_numbered(furniture), furniture, places, strict=True)
        )
    )


def _items(things: list[ThingKind], places: list[int]) -> tuple[Item, ...]:
    names = _numbered([thing.name for thing in things])
    return tuple(
        Item(name=name, kind=thing.name, abilities=thing.abilities, locations=(place,))
        for name, thing, place in zip(names, things, places, strict=True)
    )


def _numbered(kinds: Sequence[str]) -> list[str]:
    """Sorted kinds to names; the first of a kind has its highest number."""
    names: list[str] = []
    for kind, members in groupby(kinds):
        count = len(list(members))
        names += [f"{kind} {count - n}" for n in range(count)]
    return names


def _pick(rng: np.random.Generator, choices: Sequence[_T]) -> _T:
    return choices[int(rng.integers(len(choices)))]


def _shuffled(rng: np.random.Generator, items: Sequence[_T]) -> list[_T]:
    return [items[int(n)] for n in rng.permutation(len(items))]
