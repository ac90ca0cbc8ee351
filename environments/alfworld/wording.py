"""Every text the household engine speaks. Pure functions of names and states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTHING_HAPPENS = "Nothing happens."
_FORMS = (
    ("look", "look around your current location"),
    ("inventory", "check your current inventory"),
    ("go to (receptacle)", "move to a receptacle"),
    ("open (receptacle)", "open a receptacle"),
    ("close (receptacle)", "close a receptacle"),
    ("take (object) from (receptacle)", "take an object from a receptacle"),
    ("move (object) to (receptacle)", "place an object in or on a receptacle"),
    ("examine (something)", "examine a receptacle or an object"),
    ("use (object)", "use an object"),
    ("heat (object) with (receptacle)", "heat an object using a receptacle"),
    ("clean (object) with (receptacle)", "clean an object using a receptacle"),
    ("cool (object) with (receptacle)", "cool an object using a receptacle"),
    ("slice (object) with (object)", "slice an object using a sharp object"),
)
_HELP_COLUMN = 34


def help_text() -> str:
    """The answer to ``help``, which ends in a newline."""
    lines = ["Available commands:"]
    for form, meaning in _FORMS:
        # The official text has this one line two blanks short of the column.
        column = _HELP_COLUMN - 2 if form.startswith("move") else _HELP_COLUMN
        lines.append(f"  {form + ':':<{column}}{meaning}")
    return "\n".join(lines) + "\n"


def joined(phrases: Sequence[str]) -> str:
    """``nothing``; ``a mug 1``; ``a mug 1, and a pen 2``; …, also for two phrases."""
    if not phrases:
        return "nothing"
    if len(phrases) == 1:
        return phrases[0]
    return ", ".join(phrases[:-1]) + ", and " + phrases[-1]


def listing(names: Iterable[str]) -> str:
    """The names with their articles, which are "a" throughout."""
    return joined([f"a {name}" for name in names])


def first_observation(receptacle_names: Iterable[str], instruction: str) -> str:
    """What the agent sees before its first action."""
    return (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see "
        f"{listing(receptacle_names)}.\n\nYour task is to: {instruction}"
    )


def look(receptacle_names: Sequence[str], floor_names: Iterable[str]) -> str:
    """What ``look`` answers, given the receptacles at the agent's location.

    Args:
        receptacle_names: None at the start only.
        floor_names: Items that lie beside a receptacle they were taken from.
    """
    if not receptacle_names:
        return (
            "You are in the middle of a room. "
            "Looking quickly around you, you see nothing."
        )
    facing = joined(receptacle_names)
    return f"You are facing the {facing}. Next to it, you see {listing(floor_names)}."


def open_receptacle(name: str, item_names: Iterable[str]) -> str:
    """The contents of a receptacle that was opened."""
    return f"The {name} is open. In it, you see {listing(item_names)}."


def closed_receptacle(name: str) -> str:
    """What is seen of a closed receptacle."""
    return f"The {name} is closed."


def surface(name: str, item_names: Iterable[str]) -> str:
    """The contents of a receptacle that cannot be opened."""
    return f"On the {name}, you see {listing(item_names)}."


def container(name: str, item_names: Iterable[str]) -> str:
    """A held item that can hold others; its own state is never told."""
    return f"This is a normal {name}. In it, you see {listing(item_names)}."


def item(
    name: str, *, is_clean: bool, is_hot: bool, is_cool: bool, is_sliced: bool
) -> str:
    """A held item that is no container. It is never both hot and cool."""
    adjectives = "hot" if is_hot else "cool" if is_cool else ""
    if is_clean:
        adjectives = f"{adjectives} and clean" if adjectives else "clean"
    elif is_cool and not is_sliced:
        adjectives = "cold"
    if is_sliced:
        adjectives = f"{adjectives} sliced".lstrip()
    if not adjectives:
        return f"There's nothing special about {name}."
    return f"This is a {adjectives} {name}."
