"""What is said about Sokoban, and how replies were read in the published runs."""

from __future__ import annotations

from collections.abc import Sequence

from environments.game_prompt import GameWording
from environments.parsing import InvalidReason, parse_official
from environments.prompting import ParsedAction
from environments.sokoban.game import STILL
from environments.sokoban.room import DIRECTIONS


def parse_official_sokoban(
    text: str, admissible_actions: Sequence[str] | None
) -> ParsedAction:
    """The first of up, down, left, right and still that occurs, defects included.

    They are looked for in this order, anywhere in the action: "push the box up" is
    up, and so is "first left, then up". Without any the player stands still.
    """
    parsed = parse_official(text, None)
    if not parsed.is_valid:
        return ParsedAction(
            action=STILL, is_valid=False, is_admissible=False, reason=parsed.reason
        )
    for action in (*DIRECTIONS, STILL):
        if action in parsed.action:
            return ParsedAction(action=action, is_valid=True, is_admissible=True)
    return ParsedAction(
        action=STILL,
        is_valid=False,
        is_admissible=False,
        reason=InvalidReason.NOT_ADMISSIBLE.value,
    )


SOKOBAN_WORDING = GameWording(
    name="sokoban",
    version=1,
    rules=(
        "You play Sokoban on a grid. Walking into a box pushes it one cell on, if the "
        "cell behind it is free; boxes cannot be pulled, and two boxes cannot be "
        "pushed at once. A box in a corner is stuck for good.\n"
        "Symbols: # wall, _ floor, O target, X box, √ box on a target, P you, S you on "
        "a target."
    ),
    is_uniform=True,
    official_parser=parse_official_sokoban,
)
