"""Shortest solutions by A*, and the expert that plays them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import count

from environments.experts import Advice
from environments.sokoban.game import SokobanGame
from environments.sokoban.room import DIRECTIONS, Placement, Room, move

_MAX_STATES = 500_000


def solve(
    room: Room, placement: Placement, *, max_states: int = _MAX_STATES
) -> list[str] | None:
    """A shortest sequence of directions that puts all boxes on targets.

    Args:
        room: The room.
        placement: Where things stand.
        max_states: Placements after which the search gives up.

    Returns:
        The directions, empty if the room is solved; None if there is no solution or
        the search gave up.
    """
    distances = push_distances(room)
    first = _least_pushes(placement, distances)
    if first is None:
        return None
    came_from: dict[Placement, tuple[Placement, str]] = {}
    num_moves = {placement: 0}
    order = count()
    queue = [(first, next(order), placement)]
    closed: set[Placement] = set()
    while queue and len(closed) < max_states:
        _, _, here = heapq.heappop(queue)
        if here in closed:
            continue
        if here.boxes == room.targets:
            return _path(came_from, here)
        closed.add(here)
        for direction in DIRECTIONS:
            there = move(room, here, room.offset(direction))
            cost = num_moves[here] + 1
            if cost >= num_moves.get(there, cost + 1):
                continue
            rest = _least_pushes(there, distances)
            if rest is not None:
                num_moves[there] = cost
                came_from[there] = (here, direction)
                heapq.heappush(queue, (cost + rest, next(order), there))
    return None


def push_distances(room: Room) -> dict[int, int]:
    """Fewest pushes from a cell to any target, were there no other box.

    A cell that is missing is one that a box never gets away from.
    """
    distances = dict.fromkeys(room.targets, 0)
    frontier = sorted(room.targets)
    while frontier:
        next_frontier = []
        for cell in frontier:
            for direction in DIRECTIONS:
                offset = room.offset(direction)
                box, player = cell - offset, cell - 2 * offset
                if box in room.floor and player in room.floor and box not in distances:
                    distances[box] = distances[cell] + 1
                    next_frontier.append(box)
        frontier = next_frontier
    return distances


def _least_pushes(placement: Placement, distances: Mapping[int, int]) -> int | None:
    """A lower bound of the moves to go; None if a box is stuck for good."""
    total = 0
    for box in placement.boxes:
        if box not in distances:
            return None
        total += distances[box]
    return total


def _path(
    came_from: Mapping[Placement, tuple[Placement, str]], end: Placement
) -> list[str]:
    directions = []
    while end in came_from:
        end, direction = came_from[end]
        directions.append(direction)
    return directions[::-1]


class SokobanExpert:
    """Plays a shortest solution from wherever the game stands."""

    def __init__(self, game: SokobanGame) -> None:
        self._game = game
        self._plan: list[str] | None = []
        self._expected: Placement | None = None

    def next_action(self) -> Advice:
        """The next direction; any that moves the player if the room is lost."""
        room, placement = self._game.room, self._game.placement
        if placement != self._expected or not self._plan:
            self._plan = solve(room, placement)
            self._expected = placement
        if not self._plan:
            return Advice(action=_any_step(room, placement), thought="no way left")
        thought = f"push {_next_push(room, placement, self._plan)}"
        action, self._plan = self._plan[0], self._plan[1:]
        self._expected = move(room, placement, room.offset(action))
        return Advice(action=action, thought=thought)


def _next_push(room: Room, placement: Placement, plan: list[str]) -> str:
    """The direction of the first push of a plan."""
    for direction in plan:
        after = move(room, placement, room.offset(direction))
        if after.boxes != placement.boxes:
            return direction
        placement = after
    raise ValueError("a plan without a push solves nothing")


def _any_step(room: Room, placement: Placement) -> str:
    for direction in DIRECTIONS:
        if move(room, placement, room.offset(direction)) != placement:
            return direction
    return DIRECTIONS[0]
