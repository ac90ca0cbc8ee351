"""The state key against the coarsest partition of states that no future can tell apart.

All states of a tiny house are walked, whole states told apart by every field. Moore's
partition refinement then finds which of them behave alike for ever: the same texts,
commands and wins after any sequence of commands. The key must split exactly so.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable

import pytest

from environments.alfworld.problem import (
    Ability,
    Goal,
    Item,
    Problem,
    Receptacle,
    TaskType,
)
from environments.alfworld.simulator import Simulator
from environments.alfworld.state import HouseState

_FOOD = Ability.PICKUPABLE | Ability.CLEANABLE | Ability.HEATABLE | Ability.SLICEABLE
_NEIGHBOURS = (
    Receptacle(name="microwave 1", kind="microwave", location=0, contents=(0,)),
    Receptacle(name="shelf 2", kind="shelf", location=1),
    Receptacle(name="shelf 1", kind="shelf", location=1),
)


def _problem(
    item: Item,
    *others: Item,
    goal: Goal,
    receptacles: tuple[Receptacle, ...] = _NEIGHBOURS,
) -> Problem:
    items = (item, *others)
    kinds = {i.kind for i in items if Ability.PICKUPABLE in i.abilities}
    return Problem(
        instruction="do it.",
        goal=goal,
        receptacles=receptacles,
        items=items,
        fits=frozenset((r.kind, kind) for r in receptacles for kind in kinds),
    )


def _goal(task_type: TaskType, item: str, target: str) -> Goal:
    return Goal(task_type=task_type, item_kind=item, target_kind=target)


_APPLE = Item(name="apple 1", kind="apple", abilities=_FOOD, locations=(0,))
_MUG = Item(
    name="mug 1",
    kind="mug",
    abilities=Ability.PICKUPABLE
    | Ability.CLEANABLE
    | Ability.HEATABLE
    | Ability.CONTAINER,
    locations=(0,),
)
_KNIFE = Item(
    name="knife 1", kind="knife", abilities=Ability.PICKUPABLE, locations=(1,)
)
_LAMPS = tuple(
    Item(name=f"{kind} 1", kind=kind, abilities=Ability.TOGGLEABLE, locations=(0,))
    for kind in ("desklamp", "floorlamp")
)
PROBLEMS = {
    "an apple lies beside the shelf it left": _problem(
        _APPLE, goal=_goal(TaskType.PLACE, "apple", "shelf")
    ),
    "a shelf without neighbour leaves no trace": _problem(
        _APPLE,
        goal=_goal(TaskType.HEAT, "apple", "shelf"),
        receptacles=(
            _NEIGHBOURS[0],
            Receptacle(name="shelf 1", kind="shelf", location=1),
        ),
    ),
    "a hot mug shows only in the goal": _problem(
        _MUG,
        goal=_goal(TaskType.HEAT, "mug", "shelf"),
        receptacles=_NEIGHBOURS[:2],
    ),
    "a hot mug shows nowhere": _problem(
        _MUG,
        goal=_goal(TaskType.PLACE, "mug", "shelf"),
        receptacles=_NEIGHBOURS[:2],
    ),
    "a knife makes it matter where an apple lies": _problem(
        _APPLE,
        _KNIFE,
        goal=_goal(TaskType.PLACE, "apple", "shelf"),
        receptacles=(
            _NEIGHBOURS[0],
            Receptacle(name="shelf 1", kind="shelf", location=1, contents=(0, 1)),
        ),
    ),
    "an apple lies elsewhere than it is": _problem(
        Item(name="apple 1", kind="apple", abilities=_FOOD, locations=(1,)),
        _KNIFE,
        goal=_goal(TaskType.PLACE, "knife", "shelf"),
        receptacles=(
            _NEIGHBOURS[0],
            Receptacle(
                name="drawer 1",
                kind="drawer",
                location=1,
                contents=(1,),
                is_openable=True,
            ),
            Receptacle(name="shelf 1", kind="shelf", location=1),
        ),
    ),
    "a pot in three places lies where it was put last": _problem(
        Item(name="pot 1", kind="pot", abilities=Ability.PICKUPABLE, locations=(1,)),
        goal=_goal(TaskType.PLACE, "pot", "microwave"),
        receptacles=tuple(
            Receptacle(name=r.name, kind=r.kind, location=r.location, contents=(0,))
            for r in _NEIGHBOURS
        ),
    ),
    "a lamp matters only if the goal names it": _problem(
        _APPLE,
        *_LAMPS,
        goal=_goal(TaskType.LOOK, "apple", "desklamp"),
        receptacles=(
            Receptacle(
                name="microwave 1", kind="microwave", location=0, contents=(0, 1, 2)
            ),
            Receptacle(name="shelf 1", kind="shelf", location=1),
        ),
    ),
}


def _whole_state(state: HouseState) -> tuple[object, ...]:
    fields = (name for name in HouseState.__slots__ if name != "house")
    return tuple(getattr(state, name) for name in fields)


def _walk(
    problem: Problem,
) -> tuple[list[Simulator], list[dict[str, tuple[str, int]]]]:
    """All reachable states, and for each its commands' feedbacks and successors."""
    start = Simulator(problem)
    number = {_whole_state(start.state): 0}
    games, moves = [start], []
    for simulator in games:  # grows while it is walked
        moves.append({})
        for command in simulator.admissible_commands():
            successor = simulator.copy()
            feedback = successor.step(command)
            whole = _whole_state(successor.state)
            if whole not in number:
                number[whole] = len(games)
                games.append(successor)
            moves[-1][command] = (feedback, number[whole])
    return games, moves


def _coarsest_partition(
    games: list[Simulator], moves: list[dict[str, tuple[str, int]]]
) -> list[int]:
    """State to class: alike in texts, commands and wins whatever is done."""
    classes = _numbered(
        [
            (game.won, tuple((command, text) for command, (text, _) in move.items()))
            for game, move in zip(games, moves, strict=True)
        ]
    )
    while True:
        refined = _numbered(
            [
                (classes[n], tuple(classes[target] for _, target in move.values()))
                for n, move in enumerate(moves)
            ]
        )
        if max(refined) == max(classes):
            return classes
        classes = refined


def _numbered(values: list[Hashable]) -> list[int]:
    number: dict[Hashable, int] = {}
    return [number.setdefault(value, len(number)) for value in values]


@pytest.mark.parametrize("name", PROBLEMS)
def test_keys_are_equal_exactly_when_no_future_tells_two_states_apart(
    name: str,
) -> None:
    games, moves = _walk(PROBLEMS[name])
    keys = _numbered([game.state_key() for game in games])
    classes = _coarsest_partition(games, moves)
    merged = set(zip(keys, classes, strict=True))
    assert len(games) > 20
    assert len(merged) == len(set(classes)), "states that differ share a key"
    assert len(merged) == len(set(keys)), "states that behave alike have several keys"


def test_some_whole_states_behave_alike() -> None:
    games, moves = _walk(PROBLEMS["a hot mug shows nowhere"])
    assert len(set(_coarsest_partition(games, moves))) < len(games)


def test_a_key_survives_pickling_equal() -> None:
    key = Simulator(PROBLEMS["a hot mug shows nowhere"]).state_key()
    assert pickle.loads(pickle.dumps(key)) == key
