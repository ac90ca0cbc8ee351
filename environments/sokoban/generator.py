"""Rooms from seeds, each solvable: the boxes start on the targets and are pulled away.

The recipe is that of the published rooms (a random walk that digs small floor shapes,
then the farthest placement in a backward search), with one difference: the backward
search is breadth-first, so ``search_depth`` bounds the length of a solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from environments.sokoban.room import DIRECTIONS, Placement, Room

_MAX_STATES = 50_000
_MAX_ATTEMPTS = 100
_TURN_PROBABILITY = 0.35
_STEPS_PER_SIDE = 1.7
# Cells, as (row, column) from the walker, that a step digs.
_SHAPES = (
    ((0, -1), (0, 0), (0, 1)),
    ((-1, 0), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, 0)),
    ((0, -1), (0, 0), (1, -1), (1, 0)),
    ((0, 0), (0, 1), (1, 0)),
)
_WALKS = ((-1, 0), (1, 0), (0, -1), (0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSize:
    """What rooms are asked for.

    Attributes:
        rows: Height with the border, at least 5.
        columns: Width with the border, at least 5.
        num_boxes: Boxes and targets.
        search_depth: Most steps of the backward search.

    Raises:
        ValueError: A value is out of range.
    """

    rows: int = 6
    columns: int = 6
    num_boxes: int = 1
    search_depth: int = 30

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            if not 5 <= getattr(self, name) <= 20:
                raise ValueError(f"{name}={getattr(self, name)}: choose 5 to 20")
        most = (self.rows - 2) * (self.columns - 2) // 4
        if not 1 <= self.num_boxes <= most:
            raise ValueError(
                f"num_boxes={self.num_boxes}: a room of {self.rows} x {self.columns} "
                f"takes 1 to {most}"
            )
        if self.search_depth < 1:
            raise ValueError(f"search_depth={self.search_depth} is less than 1")


def generate_room(size: RoomSize, seed: int) -> tuple[Room, Placement]:
    """The room of a seed and where things stand at first.

    Raises:
        ValueError: No room of that size was found.
    """
    for attempt in range(_MAX_ATTEMPTS):
        # Danger: retries are part of the seed's meaning; every process must take the
        # same ones, or the members of a group would play different rooms.
        rng = np.random.default_rng([seed, attempt])
        start = _attempt(size, rng)
        if start is not None:
            return start
    raise ValueError(f"seed {seed} gives no room for {size}; ask for fewer boxes")


def _attempt(size: RoomSize, rng: np.random.Generator) -> tuple[Room, Placement] | None:
    floor = sorted(_dig(size, rng))
    if len(floor) <= size.num_boxes:
        return None
    cells = [int(cell) for cell in rng.permutation(floor)]
    targets = frozenset(cells[1 : size.num_boxes + 1])
    room = Room(
        rows=size.rows, columns=size.columns, floor=frozenset(floor), targets=targets
    )
    solved = Placement(cells[0], targets)
    score, placement = max(
        _pull_away(room, solved, size.search_depth), key=lambda scored: scored[0]
    )
    if score == 0:
        return None
    return room, _stroll(room, placement, rng, probability=0.8 if score == 1 else 0.5)


def _dig(size: RoomSize, rng: np.random.Generator) -> set[int]:
    """The floor cells that a random walk leaves behind."""
    row = int(rng.integers(1, size.rows - 1))
    column = int(rng.integers(1, size.columns - 1))
    walk = _WALKS[rng.integers(4)]
    floor: set[int] = set()
    for _ in range(int(_STEPS_PER_SIDE * (size.rows + size.columns))):
        if rng.random() < _TURN_PROBABILITY:
            walk = _WALKS[rng.integers(4)]
        row = min(max(row + walk[0], 1), size.rows - 2)
        column = min(max(column + walk[1], 1), size.columns - 2)
        for down, right in _SHAPES[rng.integers(len(_SHAPES))]:
            y, x = row + down, column + right
            if 0 < y < size.rows - 1 and 0 < x < size.columns - 1:
                floor.add(y * size.columns + x)
    return floor


def _pull_away(
    room: Room, solved: Placement, search_depth: int
) -> Iterator[tuple[int, Placement]]:
    """Every placement that pulling reaches, with its score, the solved one first.

    The score is the number of changes between pulled boxes times the sum of the
    boxes' distances from their targets, 0 while any target is covered.
    """
    offsets = [room.offset(direction) for direction in DIRECTIONS]
    # Which target each box came from, the box pulled last, and changes so far.
    homes = {target: target for target in sorted(room.targets)}
    seen = {solved}
    layer = [(solved, homes, -1, 0)]
    yield 0, solved
    for _ in range(search_depth):
        next_layer = []
        for placement, homes, last_home, num_changes in layer:
            for offset in offsets:
                pulled = _pull(room, placement, offset)
                if pulled in seen or len(seen) >= _MAX_STATES:
                    continue
                seen.add(pulled)
                box = placement.player - offset
                node = (pulled, homes, last_home, num_changes)
                if pulled.boxes is not placement.boxes:
                    home = homes[box]
                    moved = {cell: homes[cell] for cell in homes if cell != box}
                    moved[placement.player] = home
                    node = (pulled, moved, home, num_changes + (home != last_home))
                next_layer.append(node)
                yield _score(room, node[1], node[3]), pulled
        layer = next_layer


def _pull(room: Room, placement: Placement, offset: int) -> Placement:
    """A step that draws along the box behind the player, if there is one."""
    ahead = placement.player + offset
    if ahead not in room.floor or ahead in placement.boxes:
        return placement
    box = placement.player - offset
    if box not in placement.boxes:
        return Placement(ahead, placement.boxes)
    return Placement(ahead, placement.boxes - {box} | {placement.player})


def _score(room: Room, homes: dict[int, int], num_changes: int) -> int:
    if not room.targets.isdisjoint(homes):
        return 0
    distance = 0
    for box, home in homes.items():
        rows = abs(box // room.columns - home // room.columns)
        distance += rows + abs(box % room.columns - home % room.columns)
    return num_changes * distance


def _stroll(
    room: Room, placement: Placement, rng: np.random.Generator, *, probability: float
) -> Placement:
    """The placement after the player has perhaps walked one to three steps."""
    player = placement.player
    visited = {player}
    num_steps = 0
    while num_steps < 3 and rng.random() < (probability if num_steps == 0 else 0.5):
        free = [
            player + room.offset(direction)
            for direction in DIRECTIONS
            if player + room.offset(direction) in room.floor - placement.boxes - visited
        ]
        if not free:
            break
        player = free[rng.integers(len(free))]
        visited.add(player)
        num_steps += 1
    return Placement(player, placement.boxes)
