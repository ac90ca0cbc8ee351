"""One play in a Sokoban room: rewards, texts and the state key."""

from __future__ import annotations

from collections.abc import Hashable

from environments.game_env import Outcome
from environments.sokoban.drawing import BoardFormat, board_text
from environments.sokoban.room import DIRECTIONS, Placement, Room, move

STILL = "still"
_STEP_REWARD = -0.1
_BOX_REWARD = 1.0
_WIN_REWARD = 10.0
_NO_MOVE = "Nothing happens: the actions are up, down, left and right."


class SokobanGame:
    """Pushes boxes onto targets.

    Rewards are the official ones: -0.1 a step, 1 for each box more on a target, -1
    for each less, and 10 when all are there.
    """

    instruction = "push every box onto a target"

    def __init__(
        self, room: Room, placement: Placement, board_format: BoardFormat
    ) -> None:
        self.room = room
        self.placement = placement
        self._board_format = board_format
        self._has_moved = False

    @property
    def won(self) -> bool:
        """Whether all boxes are on targets."""
        return self.placement.boxes == self.room.targets

    def observation(self) -> str:
        """The board in symbols."""
        return board_text(self.room, self.placement, self._board_format)

    def admissible_actions(self) -> tuple[str, ...]:
        """The four directions, whether the way is free or not."""
        return DIRECTIONS

    def state_key(self) -> Hashable:
        """The board, walls included: everything that matters from here on."""
        return board_text(self.room, self.placement, "compact")

    def play(self, action: str) -> Outcome:
        """Step in a direction; ``"still"`` waits, anything else is answered."""
        self._has_moved = False
        if action not in DIRECTIONS:
            remark = "" if action == STILL else _NO_MOVE
            return Outcome(
                reward=_STEP_REWARD, is_rejected=action != STILL, remark=remark
            )
        before = self.placement
        self.placement = move(self.room, before, self.room.offset(action))
        self._has_moved = self.placement != before
        num_gained = self._num_stored(self.placement) - self._num_stored(before)
        reward = _STEP_REWARD + _BOX_REWARD * num_gained
        if self.won:
            reward += _WIN_REWARD
        return Outcome(reward=reward, is_over=self.won)

    def figures(self) -> dict[str, float]:
        """Boxes on targets, and whether the last action moved the player."""
        return {
            "num_boxes_on_targets": float(self._num_stored(self.placement)),
            "action_is_effective": float(self._has_moved),
        }

    def _num_stored(self, placement: Placement) -> int:
        return len(placement.boxes & self.room.targets)
