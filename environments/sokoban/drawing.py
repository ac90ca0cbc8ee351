"""A room as text and as a picture."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from environments.sokoban.room import Placement, Room

BoardFormat: TypeAlias = Literal["tabbed", "compact"]
BOARD_FORMATS = ("tabbed", "compact")

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
SYMBOLS = "#_O√XPS"

CELL_PIXELS = 16
_WALL_COLOUR = (112, 74, 52)
_FLOOR_COLOUR = (238, 232, 220)
_TARGET_COLOUR = (206, 62, 62)
_BOX_COLOUR = (214, 158, 66)
_STORED_BOX_COLOUR = (92, 164, 80)
_PLAYER_COLOUR = (58, 98, 186)


def grid(room: Room, placement: Placement) -> list[list[int]]:
    """The code of every cell, row by row."""
    return [
        [
            _code(room, placement, row * room.columns + column)
            for column in range(room.columns)
        ]
        for row in range(room.rows)
    ]


def board_text(room: Room, placement: Placement, board_format: BoardFormat) -> str:
    r"""The board in symbols, a row a line.

    Args:
        room: The room.
        placement: Where things stand.
        board_format: ``"tabbed"``: each symbol between blanks and before a tab, as in
            the published runs; ``"compact"``: one blank between symbols.
    """
    lines = [[SYMBOLS[code] for code in row] for row in grid(room, placement)]
    if board_format == "compact":
        return "\n".join(" ".join(line) for line in lines)
    return "\n".join("".join(f" {symbol} \t" for symbol in line) for line in lines)


def picture(room: Room, placement: Placement) -> NDArray[np.uint8]:
    """The board drawn, uint8 [16 · rows, 16 · columns, 3], red, green, blue."""
    return np.vstack(
        [np.hstack([_tile(code) for code in row]) for row in grid(room, placement)]
    )


def _code(room: Room, placement: Placement, cell: int) -> int:
    if cell not in room.floor:
        return WALL
    is_target = cell in room.targets
    if cell in placement.boxes:
        return BOX_ON_TARGET if is_target else BOX
    if cell == placement.player:
        return PLAYER_ON_TARGET if is_target else PLAYER
    return TARGET if is_target else FLOOR


def _tile(code: int) -> NDArray[np.uint8]:
    tile = np.empty((CELL_PIXELS, CELL_PIXELS, 3), np.uint8)
    tile[:] = _WALL_COLOUR if code == WALL else _FLOOR_COLOUR
    rows, columns = np.mgrid[:CELL_PIXELS, :CELL_PIXELS] - (CELL_PIXELS - 1) / 2
    radius = np.hypot(rows, columns)
    if code == WALL:
        tile[::8, :] = tile[:, ::8] = tuple(value // 2 for value in _WALL_COLOUR)
    if code in (TARGET, PLAYER_ON_TARGET):
        tile[(radius > 5) & (radius < 8)] = _TARGET_COLOUR
    if code in (BOX, BOX_ON_TARGET):
        tile[2:-2, 2:-2] = _BOX_COLOUR if code == BOX else _STORED_BOX_COLOUR
        tile[np.abs(np.abs(rows) - np.abs(columns)) < 1] = _WALL_COLOUR
        tile[[0, 1, -2, -1], :] = tile[:, [0, 1, -2, -1]] = _FLOOR_COLOUR
    if code in (PLAYER, PLAYER_ON_TARGET):
        tile[radius < 5] = _PLAYER_COLOUR
    return tile
