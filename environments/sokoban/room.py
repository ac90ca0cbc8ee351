"""A Sokoban room and where things stand in it; all rules of moving.

Cells are numbered row by row, so a step is a fixed offset. The border is wall, so no
step from a floor cell leaves the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

DIRECTIONS = ("up", "down", "left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What never changes.

    Attributes:
        rows: Height, border included.
        columns: Width, border included.
        floor: The cells that are no wall.
        targets: The floor cells that boxes belong on.
    """

    rows: int
    columns: int
    floor: frozenset[int]
    targets: frozenset[int]

    def offset(self, direction: str) -> int:
        """What a step in a direction adds to a cell's number."""
        return (-self.columns, self.columns, -1, 1)[DIRECTIONS.index(direction)]


@dataclass(frozen=True, slots=True)
class Placement:
    """What changes: where the player and the boxes stand."""

    player: int
    boxes: frozenset[int]


def move(room: Room, placement: Placement, offset: int) -> Placement:
    """The placement after a step, the same one if the way is blocked."""
    ahead = placement.player + offset
    if ahead not in room.floor:
        return placement
    if ahead not in placement.boxes:
        return Placement(ahead, placement.boxes)
    behind = ahead + offset
    if behind not in room.floor or behind in placement.boxes:
        return placement
    return Placement(ahead, placement.boxes - {ahead} | {behind})
