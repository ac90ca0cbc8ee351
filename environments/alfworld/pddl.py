"""Official game files (``game.tw-pddl``) to problems, without parsing any PDDL domain.

A game file is one JSON object. The domain in it is the same in every file, so only the
facts and the goal of ``pddl_problem`` are read, and of the grammar only the sentence
that states the task.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

from environments.alfworld.problem import (
    Ability,
    Goal,
    Item,
    Problem,
    Receptacle,
    TaskType,
)
from environments.errors import GameFileError

_FACT = re.compile(r"\((\w+) ([^()]*)\)")
_GOAL_TYPE = re.compile(r"\((objecttype|receptacletype) \?\w+ (\w+)type\)")
_SENTENCE = re.compile(r'"Your task is to: ([^"]*)"')
_MOVE_COMMAND = '"move {o} to {r}"'
_ABILITIES = {
    "pickupable": Ability.PICKUPABLE,
    "cleanable": Ability.CLEANABLE,
    "heatable": Ability.HEATABLE,
    "coolable": Ability.COOLABLE,
    "sliceable": Ability.SLICEABLE,
    "toggleable": Ability.TOGGLEABLE,
    "isreceptacleobject": Ability.CONTAINER,
}
_GOAL_CONDITIONS = (
    ("(isclean ", TaskType.CLEAN),
    ("(ishot ", TaskType.HEAT),
    ("(iscool ", TaskType.COOL),
    ("(istoggled ", TaskType.LOOK),
    ("(not (= ", TaskType.PLACE_TWO),
)
_Facts: TypeAlias = defaultdict[str, list[tuple[str, ...]]]


def read_game(path: Path) -> Problem:
    """The problem of a game file.

    Raises:
        GameFileError: The file is no game file, or one of the older wording in which
            items are "put in/on" receptacles.
        OSError: The file cannot be read.
    """
    try:
        game = json.loads(path.read_text(encoding="utf-8"))
        problem_text, grammar = game["pddl_problem"], game["grammar"]
        if _MOVE_COMMAND not in grammar:
            raise GameFileError(
                f"{path} is of an older release, without the command 'move'; "
                f"get the current one by `rllib-gigpo data get alfworld`"
            )
        return problem_of(problem_text, grammar)
    except GameFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise GameFileError(f"{path} is no ALFWorld game file: {error!r}") from error


def problem_of(problem_text: str, grammar: str) -> Problem:
    """The problem stated by a PDDL problem and the grammar that goes with it.

    Raises:
        ValueError: A part is missing or contradicts another one.
    """
    text = problem_text.lower()
    init, goal_mark, goal_text = text.partition("(:goal")
    sentence = _SENTENCE.search(grammar)
    if not goal_mark or sentence is None:
        raise ValueError("there is no goal, or no sentence that states the task")
    facts: _Facts = defaultdict(list)
    for predicate, arguments in _FACT.findall(init[init.index("(:init") :]):
        facts[predicate].append(tuple(arguments.split()))
    return _problem(facts, _goal(goal_text), sentence[1])


def _problem(facts: _Facts, goal: Goal, instruction: str) -> Problem:
    names = numbered_names(_thing_ids(facts))
    places = dict(_pairs(facts, "receptacleatlocation"))
    receptacle_ids = sorted(places)
    item_ids = [i for i in sorted(names) if i not in places]
    location_of = {place: n for n, place in enumerate(sorted(set(places.values())))}
    ((_, start),) = _pairs(facts, "atlocation")
    if start in location_of:
        raise ValueError(f"the agent starts at {start}, where there is a receptacle")
    item_number = {item_id: n for n, item_id in enumerate(item_ids)}
    contents = _contents(_pairs(facts, "inreceptacle"), item_number)
    receptacle_kinds = dict(_pairs(facts, "receptacletype"))
    openable = set(_singles(facts, "openable"))
    receptacles = tuple(
        Receptacle(
            name=names[r],
            kind=_kind(receptacle_kinds[r]),
            location=location_of[places[r]],
            is_openable=r in openable,
            contents=contents[r],
        )
        for r in receptacle_ids
    )
    return Problem(
        instruction=instruction,
        goal=goal,
        receptacles=receptacles,
        items=_items(facts, names, item_number, location_of),
        fits=frozenset((_kind(r), _kind(i)) for r, i in _pairs(facts, "cancontain")),
    )


def _items(
    facts: _Facts,
    names: dict[str, str],
    item_number: dict[str, int],
    location_of: dict[str, int],
) -> tuple[Item, ...]:
    kinds = dict(_pairs(facts, "objecttype"))
    contents = _contents(_pairs(facts, "inreceptacleobject"), item_number)
    cool = set(_singles(facts, "iscool"))
    abilities: defaultdict[str, Ability] = defaultdict(lambda: Ability.NONE)
    for predicate, ability in _ABILITIES.items():
        for item_id in _singles(facts, predicate):
            abilities[item_id] |= ability
    locations: defaultdict[str, set[int]] = defaultdict(set)
    for item_id, place in _pairs(facts, "objectatlocation"):
        # A place without receptacle can never be visited, so nothing depends on it.
        if place in location_of:
            locations[item_id].add(location_of[place])
    return tuple(
        Item(
            name=names[i],
            kind=_kind(kinds[i]) if i in kinds else "",
            abilities=abilities[i],
            locations=tuple(sorted(locations[i])),
            contents=contents[i],
            is_cool=i in cool,
        )
        for i in item_number
    )


def numbered_names(ids: set[str]) -> dict[str, str]:
    """Lower-case ids to names: of the N ids of a class the first in order gets N."""
    members: defaultdict[str, list[str]] = defaultdict(list)
    for thing_id in sorted(ids, reverse=True):
        members[_class_of(thing_id)].append(thing_id)
    return {
        thing_id: f"{class_name} {number}"
        for class_name, thing_ids in members.items()
        for number, thing_id in enumerate(thing_ids, start=1)
    }


def _class_of(thing_id: str) -> str:
    basin = "basin" if "basin" in thing_id else ""
    return thing_id.partition("_bar_")[0] + basin


def _thing_ids(facts: _Facts) -> set[str]:
    """Every receptacle and item that a fact mentions, not the places or the types."""
    first_of_pair = ("receptacleatlocation", "objectatlocation", "objecttype")
    both_of_pair = ("inreceptacle", "inreceptacleobject")
    ids = {i for name in (*_ABILITIES, "iscool") for i in _singles(facts, name)}
    ids |= {i for name in first_of_pair for i, _ in _pairs(facts, name)}
    return ids | {
        i for name in both_of_pair for pair in _pairs(facts, name) for i in pair
    }


def _contents(
    pairs: list[tuple[str, str]], item_number: dict[str, int]
) -> defaultdict[str, tuple[int, ...]]:
    inside: defaultdict[str, set[int]] = defaultdict(set)
    for inner, outer in pairs:
        inside[outer].add(item_number[inner])
    filled = {outer: tuple(sorted(inner)) for outer, inner in inside.items()}
    return defaultdict(tuple, filled)


def _singles(facts: _Facts, predicate: str) -> list[str]:
    return [thing for (thing,) in facts[predicate]]


def _pairs(facts: _Facts, predicate: str) -> list[tuple[str, str]]:
    return [(first, second) for first, second in facts[predicate]]


def _kind(type_name: str) -> str:
    return type_name.removesuffix("type")


def _goal(goal_text: str) -> Goal:
    task_type = next(
        (task for condition, task in _GOAL_CONDITIONS if condition in goal_text),
        TaskType.PLACE,
    )
    mentioned = _GOAL_TYPE.findall(goal_text)
    item_kinds = [kind for predicate, kind in mentioned if predicate == "objecttype"]
    if task_type is TaskType.LOOK:
        lamp_kind, item_kind = item_kinds
        return Goal(task_type=task_type, item_kind=item_kind, target_kind=lamp_kind)
    target_kinds = [kind for predicate, kind in mentioned if predicate != "objecttype"]
    return Goal(
        task_type=task_type, item_kind=item_kinds[0], target_kind=target_kinds[0]
    )
