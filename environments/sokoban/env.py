"""``Sokoban-v0``: generated rooms, each solvable."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from environments.game_env import GameEnv
from environments.level_tasks import level_seed
from environments.sokoban.drawing import BOARD_FORMATS, BoardFormat, picture
from environments.sokoban.game import SokobanGame
from environments.sokoban.generator import RoomSize, generate_room
from environments.sokoban.prompt import SOKOBAN_WORDING
from environments.sokoban.room import Placement, Room
from environments.sokoban.solver import SokobanExpert
from environments.styled_prompt import PromptSetting


class SokobanEnv(GameEnv[SokobanGame]):
    """Sokoban as text, a room a task.

    Example::

        env = SokobanEnv(prompt={"style": "compact"}, board_format="compact")
        observation, info = env.reset(options={"task": env.tasks("eval")[0]})
        observation, reward, terminated, truncated, info = env.step("up")

    Args:
        rows, columns, num_boxes, search_depth: As in :class:`RoomSize`; the official
            rooms by default.
        board_format: ``"tabbed"`` as officially, or ``"compact"``.
        render_mode: ``"rgb_array"`` for pictures by :meth:`render`.
        max_episode_steps, num_train_tasks, num_eval_tasks, prompt: As in
            :class:`GameEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "render_fps": 4,
    }
    wording = SOKOBAN_WORDING

    def __init__(
        self,
        *,
        rows: int = 6,
        columns: int = 6,
        num_boxes: int = 1,
        search_depth: int = 30,
        board_format: BoardFormat = "tabbed",
        render_mode: str | None = None,
        max_episode_steps: int = 15,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        if board_format not in BOARD_FORMATS:
            raise ValueError(
                f"board_format={board_format!r}: choose one of {list(BOARD_FORMATS)}"
            )
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode={render_mode!r}: choose 'rgb_array' or None")
        super().__init__(
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )
        self.size = RoomSize(
            rows=rows, columns=columns, num_boxes=num_boxes, search_depth=search_depth
        )
        self.board_format: BoardFormat = board_format
        self.render_mode = render_mode

    def expert(self) -> SokobanExpert:
        """Plays shortest solutions."""
        return SokobanExpert(self.game)

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """The board as uint8 [16 · rows, 16 · columns, 3] if ``render_mode`` is set."""
        if self.render_mode is None:
            return None
        return picture(self.game.room, self.game.placement)

    def _start_game(self, task_id: str) -> SokobanGame:
        room, placement = _room_of_seed(self.size, level_seed(task_id))
        return SokobanGame(room, placement, self.board_format)


@lru_cache(maxsize=512)
def _room_of_seed(size: RoomSize, seed: int) -> tuple[Room, Placement]:
    return generate_room(size, seed)
