"""The rules: what each command needs, changes and answers, and which ones are possible.

A rule takes the state and the words after the verb. It returns the feedback, or None
if the command is not admissible, and then it has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from environments.alfworld import wording
from environments.alfworld.state import HouseState

_HELP = wording.help_text()


def play(state: HouseState, command: str) -> str | None:
    """Change the state by a command; its feedback, None if it is not admissible."""
    verb, _, words = command.partition(" ")
    rule = _RULES.get(verb)
    return None if rule is None else rule(state, words)


def admissible_commands(state: HouseState) -> tuple[str, ...]:
    """All commands that are possible now, sorted as strings."""
    house = state.house
    start = len(house.receptacles_at)
    commands = ["help", "inventory", "look"]
    commands += house.go_to_commands[
        start if state.location is None else state.location
    ]
    for receptacle in state.receptacles_here():
        commands += _commands_at(state, receptacle)
    usable = state.items_here() & house.toggleable
    commands += [f"use {name}" for name in house.item_names(usable)]
    if state.held is not None:
        commands += _commands_with(state, state.held)
    commands.sort()
    return tuple(commands)


def _commands_at(state: HouseState, receptacle: int) -> list[str]:
    """What can be done with a receptacle that is here, whatever is held."""
    house = state.house
    name = house.receptacle_names[receptacle]
    commands = [f"examine {name}"]
    if house.openable >> receptacle & 1:
        is_open = state.opened >> receptacle & 1
        commands.append(f"close {name}" if is_open else f"open {name}")
    if state.held is None and state.is_accessible(receptacle):
        items = state.contents_of(receptacle) & house.pickupable
        commands += [f"take {item} from {name}" for item in house.item_names(items)]
    return commands


def _commands_with(state: HouseState, held: int) -> list[str]:
    """What can be done with the item in the agent's hand."""
    house = state.house
    name = house.all_item_names[held]
    commands = [f"examine {name}"]
    for receptacle in state.receptacles_here():
        target = house.receptacle_names[receptacle]
        if state.takes(receptacle, held):
            commands.append(f"move {name} to {target}")
        for verb, (items, receptacles) in house.treatments.items():
            if items >> held & 1 and receptacles >> receptacle & 1:
                commands.append(f"{verb} {name} with {target}")
    if house.knives >> held & 1:
        items = state.lying_here() & house.sliceable
        commands += [f"slice {item} with {name}" for item in house.item_names(items)]
    return commands


def _look(state: HouseState, words: str) -> str | None:
    if words:
        return None
    house = state.house
    here = [house.receptacle_names[n] for n in state.receptacles_here()]
    floor: list[int] = []
    if state.location is not None:
        floor = sorted(item for _, item in state.floor(state.location))
    return wording.look(here, [house.all_item_names[item] for item in floor])


def _inventory(state: HouseState, words: str) -> str | None:
    if words:
        return None
    if state.held is None:
        return "You are not carrying anything."
    return f"You are carrying: a {state.house.all_item_names[state.held]}."


def _help(state: HouseState, words: str) -> str | None:
    return None if words else _HELP


def _go_to(state: HouseState, words: str) -> str | None:
    preposition, _, name = words.partition(" ")
    receptacle = state.house.receptacle_number.get(name)
    if preposition != "to" or receptacle is None:
        return None
    location = state.house.location_of[receptacle]
    if location == state.location:
        return None
    state.location = location
    return f"You arrive at {name}. {_contents_seen(state, receptacle)}"


def _open(state: HouseState, name: str) -> str | None:
    receptacle = _receptacle_here(state, name)
    if receptacle is None or state.is_accessible(receptacle):
        return None
    state.opened |= 1 << receptacle
    return f"You open the {name}. {_contents_seen(state, receptacle)}"


def _close(state: HouseState, name: str) -> str | None:
    receptacle = _receptacle_here(state, name)
    if receptacle is None or not state.opened >> receptacle & 1:
        return None
    state.opened &= ~(1 << receptacle)
    return f"You close the {name}."


def _examine(state: HouseState, name: str) -> str | None:
    receptacle = _receptacle_here(state, name)
    if receptacle is not None:
        return _contents_seen(state, receptacle)
    item = _held_item(state, name)
    if item is None:
        return None
    house = state.house
    if house.containers >> item & 1:
        inside = house.problem.items[item].contents
        return wording.container(name, [house.all_item_names[n] for n in inside])
    return wording.item(
        name,
        is_clean=bool(state.clean >> item & 1),
        is_hot=bool(state.hot >> item & 1),
        is_cool=bool(state.cool >> item & 1),
        is_sliced=bool(state.sliced >> item & 1),
    )


def _take(state: HouseState, words: str) -> str | None:
    name, _, target = words.partition(" from ")
    house = state.house
    receptacle = _receptacle_here(state, target)
    item = house.item_number.get(name)
    if receptacle is None or item is None or state.held is not None:
        return None
    within_reach = state.contents_of(receptacle) & house.pickupable
    if not within_reach >> item & 1 or not state.is_accessible(receptacle):
        return None
    state.contents &= ~house.relation(((receptacle, item),))
    state.removed |= house.relation(((receptacle, item),))
    state.lying &= ~house.relation(((house.location_of[receptacle], item),))
    state.held = item
    return f"You pick up the {name} from the {target}."


def _move(state: HouseState, words: str) -> str | None:
    name, _, target = words.partition(" to ")
    house = state.house
    receptacle = _receptacle_here(state, target)
    item = _held_item(state, name)
    if receptacle is None or item is None or not state.takes(receptacle, item):
        return None
    state.contents |= house.relation(((receptacle, item),))
    state.removed &= ~house.relation(((receptacle, item),))
    state.lying |= house.relation(((house.location_of[receptacle], item),))
    state.held = None
    return f"You move the {name} to the {target}."


def _clean(state: HouseState, words: str) -> str | None:
    item = _treated_item(state, "clean", words)
    if item is None:
        return None
    state.clean |= 1 << item
    return _treatment_feedback("clean", words)


def _heat(state: HouseState, words: str) -> str | None:
    item = _treated_item(state, "heat", words)
    if item is None:
        return None
    state.hot |= 1 << item
    state.cool &= ~(1 << item)
    return _treatment_feedback("heat", words)


def _cool(state: HouseState, words: str) -> str | None:
    item = _treated_item(state, "cool", words)
    if item is None:
        return None
    state.cool |= 1 << item
    state.hot &= ~(1 << item)
    return _treatment_feedback("cool", words)


def _use(state: HouseState, name: str) -> str | None:
    item = state.house.item_number.get(name)
    if item is None or not (state.items_here() & state.house.toggleable) >> item & 1:
        return None
    state.toggled |= 1 << item
    # Also when it goes off: the official text asks whether it was ever used.
    return f"You turn on the {name}."


def _slice(state: HouseState, words: str) -> str | None:
    name, _, knife_name = words.partition(" with ")
    item = state.house.item_number.get(name)
    knife = _held_item(state, knife_name)
    if item is None or knife is None or not state.house.knives >> knife & 1:
        return None
    if not (state.lying_here() & state.house.sliceable) >> item & 1:
        return None
    state.sliced |= 1 << item
    return f"You sliced the {name} with the {knife_name}."


def _receptacle_here(state: HouseState, name: str) -> int | None:
    receptacle = state.house.receptacle_number.get(name)
    if receptacle is None or state.house.location_of[receptacle] != state.location:
        return None
    return receptacle


def _held_item(state: HouseState, name: str) -> int | None:
    item = state.house.item_number.get(name)
    return item if item is not None and item == state.held else None


def _contents_seen(state: HouseState, receptacle: int) -> str:
    name = state.house.receptacle_names[receptacle]
    if not state.is_accessible(receptacle):
        return wording.closed_receptacle(name)
    items = state.house.item_names(state.contents_of(receptacle))
    if state.opened >> receptacle & 1:
        return wording.open_receptacle(name, items)
    return wording.surface(name, items)


def _treated_item(state: HouseState, verb: str, words: str) -> int | None:
    """The held item, if the words name it and an appliance here that treats it so."""
    name, _, target = words.partition(" with ")
    item = _held_item(state, name)
    receptacle = _receptacle_here(state, target)
    if item is None or receptacle is None:
        return None
    items, receptacles = state.house.treatments[verb]
    is_treated = items >> item & 1 and receptacles >> receptacle & 1
    return item if is_treated else None


def _treatment_feedback(verb: str, words: str) -> str:
    name, _, target = words.partition(" with ")
    return f"You {verb} the {name} using the {target}."


_RULES: dict[str, Callable[[HouseState, str], str | None]] = {
    "look": _look,
    "inventory": _inventory,
    "help": _help,
    "go": _go_to,
    "open": _open,
    "close": _close,
    "examine": _examine,
    "take": _take,
    "move": _move,
    "clean": _clean,
    "heat": _heat,
    "cool": _cool,
    "use": _use,
    "slice": _slice,
}
