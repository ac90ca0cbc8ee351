"""A small house written by hand, with every odd thing an official house may have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

GRAMMAR = """
grammar :: {{"task": [{{"rhs": "Your task is to: {sentence}"}}]}};
action PutObject {{ template :: "move {{o}} to {{r}}"; }}
"""
_PICK = "pickupable"
_FOOD = "pickupable cleanable heatable coolable sliceable"
_DISH = "pickupable cleanable heatable coolable isReceptacleObject"


@dataclass(frozen=True)
class Piece:
    """A receptacle by its id, where it stands, its type and whether it opens."""

    id: str
    location: str
    type_name: str
    is_openable: bool = False


@dataclass(frozen=True)
class Thing:
    """An item: id, type, abilities, the receptacles it is in, where it lies."""

    id: str
    type_name: str
    abilities: str
    inside: tuple[str, ...] = ()
    location: str = ""


# By location: three receptacles at the wall, the counter with a burner, another
# burner, the appliances, the desk with a closed drawer.
PIECES = (
    Piece("Cabinet_bar_a", "loc_bar_wall", "Cabinet", is_openable=True),
    Piece("Cabinet_bar_b", "loc_bar_wall", "Cabinet", is_openable=True),
    Piece("Shelf_bar_a", "loc_bar_wall", "Shelf"),
    Piece("CounterTop_bar_a", "loc_bar_counter", "CounterTop"),
    Piece("StoveBurner_bar_a", "loc_bar_counter", "StoveBurner"),
    Piece("StoveBurner_bar_b", "loc_bar_stove", "StoveBurner"),
    Piece("Sink_bar_a_bar_SinkBasin", "loc_bar_sink", "SinkBasin"),
    Piece("Microwave_bar_a", "loc_bar_oven", "Microwave", is_openable=True),
    Piece("Fridge_bar_a", "loc_bar_fridge", "Fridge", is_openable=True),
    Piece("Desk_bar_a", "loc_bar_desk", "Desk"),
    Piece("Drawer_bar_a", "loc_bar_desk", "Drawer", is_openable=True),
)
THINGS = (
    Thing("Apple_bar_a", "Apple", _FOOD, ("CounterTop_bar_a",), "loc_bar_counter"),
    Thing("Apple_bar_b", "Apple", _FOOD, ("Fridge_bar_a",), "loc_bar_fridge"),
    Thing("Bread_bar_a", "Bread", _FOOD, ("Microwave_bar_a",), "loc_bar_oven"),
    # In one receptacle, but lying at another location.
    Thing("Tomato_bar_a", "Tomato", _FOOD, ("Desk_bar_a",), "loc_bar_counter"),
    Thing(
        "Knife_bar_a",
        "Knife",
        "pickupable cleanable",
        ("CounterTop_bar_a",),
        "loc_bar_counter",
    ),
    Thing(
        "Pot_bar_a",
        "Pot",
        "pickupable coolable isReceptacleObject",
        ("StoveBurner_bar_a", "StoveBurner_bar_b"),
        "loc_bar_counter",
    ),
    Thing("Potato_bar_a", "Potato", _FOOD, ("StoveBurner_bar_a",), "loc_bar_counter"),
    Thing("Mug_bar_a", "Mug", _DISH, ("Cabinet_bar_a",), "loc_bar_wall"),
    Thing("Mug_bar_b", "Mug", _DISH, ("Shelf_bar_a",), "loc_bar_wall"),
    Thing("Book_bar_a", "Book", _PICK, ("Desk_bar_a",), "loc_bar_desk"),
    Thing("Book_bar_b", "Book", _PICK, ("Desk_bar_a",), "loc_bar_desk"),
    Thing(
        "DeskLamp_bar_a", "DeskLamp", "toggleable", ("Drawer_bar_a",), "loc_bar_desk"
    ),
    # Seen nowhere, yet counted: the window takes the name of its class.
    Thing("Window_bar_a", "Window", "", (), "loc_bar_window"),
)
NESTED = (("Potato_bar_a", "Pot_bar_a"),)
COOL = ("Apple_bar_b",)
_FITS = {
    "Cabinet": "Mug Book Pot",
    "Shelf": "Mug Book Apple",
    "CounterTop": "Apple Bread Tomato Knife Mug Pot Potato",
    "StoveBurner": "Pot",
    "SinkBasin": "Apple Mug Knife Tomato",
    "Microwave": "Apple Bread Mug Potato Tomato",
    "Fridge": "Apple Bread Mug Pot Potato Tomato",
    "Desk": "Book Mug Tomato",
    "Drawer": "Book Knife",
}
_RECEPTACLE_GOAL = """(exists (?r - receptacle) (exists (?o - object) (and
    {condition} (inReceptacle ?o ?r)
    (objectType ?o {item}Type) (receptacleType ?r {target}Type))))"""
_GOALS = {
    "pick_and_place_simple": _RECEPTACLE_GOAL.replace("{condition}", ""),
    "pick_clean_then_place_in_recep": _RECEPTACLE_GOAL.replace(
        "{condition}", "(cleanable ?o) (isClean ?o)"
    ),
    "pick_heat_then_place_in_recep": _RECEPTACLE_GOAL.replace(
        "{condition}", "(heatable ?o) (isHot ?o)"
    ),
    "pick_cool_then_place_in_recep": _RECEPTACLE_GOAL.replace(
        "{condition}", "(coolable ?o) (isCool ?o)"
    ),
    "pick_two_obj_and_place": """(exists (?r - receptacle) (exists (?o1 - object) (and
        (objectType ?o1 {item}Type) (receptacleType ?r {target}Type)
        (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))
        (objectType ?o2 {item}Type) (receptacleType ?r {target}Type)
        (inReceptacle ?o2 ?r))))))""",
    "look_at_obj_in_light": """(exists (?ot - object ?r - receptacle ?a - agent
        ?l - location) (and (objectType ?ot {target}Type) (toggleable ?ot)
        (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)
        (inReceptacle ?ot ?r)))
        (exists (?o - object ?a - agent) (and (objectType ?o {item}Type)
        (holds ?a ?o)))""",
}


def problem_text(task_type: str, item: str, target: str) -> str:
    """The house as a PDDL problem, with a goal, e.g. ``"Mug"`` to a ``"Shelf"``."""
    facts = list(_facts())
    goal = _GOALS[task_type].format(item=item, target=target)
    return (
        f"(define (problem hand_made) (:domain alfred) (:objects {_objects()})\n"
        f"(:init {' '.join(facts)})\n(:goal (and {goal})))"
    )


def game_text(
    task_type: str,
    item: str,
    target: str,
    *,
    domain: str = "",
    grammar: str | None = None,
) -> str:
    """A whole game file; TextWorld needs the official domain and grammar too."""
    sentence = f"do {task_type} with {item.lower()} and {target.lower()}."
    return json.dumps(
        {
            "pddl_domain": domain,
            "grammar": GRAMMAR.format(sentence=sentence)
            if grammar is None
            else grammar,
            "pddl_problem": problem_text(task_type, item, target),
            "solvable": True,
            "walkthrough": [],
        }
    )


def write_game(folder: Path, text: str) -> Path:
    """Write a game file into a folder; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "game.tw-pddl"
    path.write_text(text, encoding="utf-8")
    return path


def _facts() -> list[str]:
    facts = ["(atLocation agent1 loc_bar_start)"]
    for piece in PIECES:
        facts.append(f"(receptacleAtLocation {piece.id} {piece.location})")
        facts.append(f"(receptacleType {piece.id} {piece.type_name}Type)")
        if piece.is_openable:
            facts.append(f"(openable {piece.id})")
    for thing in THINGS:
        facts.append(f"(objectType {thing.id} {thing.type_name}Type)")
        facts.append(f"(objectAtLocation {thing.id} {thing.location})")
        facts += [f"({ability} {thing.id})" for ability in thing.abilities.split()]
        facts += [f"(inReceptacle {thing.id} {place})" for place in thing.inside]
    facts += [f"(inReceptacleObject {inner} {outer})" for inner, outer in NESTED]
    facts += [f"(isCool {thing})" for thing in COOL]
    for receptacle, items in _FITS.items():
        facts += [f"(canContain {receptacle}Type {item}Type)" for item in items.split()]
    return facts


def _objects() -> str:
    locations = {p.location for p in PIECES} | {t.location for t in THINGS}
    item_types = {t.type_name for t in THINGS} | {"ButterKnife"}
    receptacle_types = {p.type_name for p in PIECES}
    groups = {
        "agent": {"agent1"},
        "receptacle": {p.id for p in PIECES},
        "object": {t.id for t in THINGS},
        "location": locations | {"loc_bar_start"},
        "otype": {f"{name}Type" for name in item_types},
        "rtype": {f"{name}Type" for name in receptacle_types | {"Sink"}},
    }
    return " ".join(f"{' '.join(sorted(ids))} - {kind}" for kind, ids in groups.items())
